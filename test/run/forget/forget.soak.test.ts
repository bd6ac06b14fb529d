import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PutBucketVersioningCommand } from '@aws-sdk/client-s3'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { load } from '../../../src/load/load.ts'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { listSnapshots } from '../../../src/publish/read-snapshot.ts'
import { verifySnapshot } from '../../../src/publish/verify/verify.ts'
import { exportPerson } from '../../../src/run/forget/export-person.ts'
import { forget } from '../../../src/run/forget/forget.ts'
import { planForgetting } from '../../../src/run/forget/forget-plan.ts'
import { PENDING_FILE } from '../../../src/run/forget/forget-pending.ts'
import { searchFolder } from '../../../src/run/forget/forget-proof.ts'
import { acquireRunLock } from '../../../src/run/lock.ts'
import { buildStage, publishStage } from '../../../src/run/stages.ts'
import { realClock } from '../../../src/support/clock.ts'
import { withWarehouse, type Warehouse } from '../../../src/warehouse/warehouse.ts'
import { s3ClientOf } from '../../helpers/s3-client.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { aPage, dumpTables, memory, wireEvent, writePages } from '../../load/load-fixture.ts'
import {
  ADA,
  MARKERS,
  eventsOf,
  filesWith,
  forgetSite,
  removeNights,
  threeNights,
} from './forget-fixture.ts'

const REQUEST = { profileIds: [ADA], eventsBefore: null }
const others = (warehouse: Warehouse) =>
  warehouse.all(
    `select * exclude (times_seen) from job_change_events where profile_id <> $1 order by event_key`,
    [ADA],
  )

/** Where they are found below a folder, in any kind of file. */
async function matchesIn(folder: string): Promise<string[]> {
  const markers = MARKERS.map((text) => ({ text, isUnique: true }))
  const scratchFolder = join(temporaryFolder(), 'scratch')
  const { matches } = await searchFolder(folder, { markers, scratchFolder, clock: realClock })
  return matches.map(({ where }) => where)
}

async function expectProved(folder: string): Promise<void> {
  const store = openFolderStore(folder, realClock)
  const scratchFolder = join(temporaryFolder(), 'scratch')
  for (const { snapshot_id: snapshotId } of await listSnapshots(store)) {
    const report = await verifySnapshot({ store, snapshotId, scratchFolder, clock: realClock })
    expect(report.findings).toEqual([])
  }
}

afterAll(removeNights)

describe('forget', () => {
  it('takes 1 of 200 people out of everything, for good, and nobody else', async () => {
    const { site, target } = await threeNights()
    const { root, warehouse } = site.directory
    const before = await site.read(others)
    expect((await matchesIn(root)).length).toBeGreaterThan(20)

    const plan = await planForgetting(site.forgetting([target]), REQUEST)
    expect(plan.segments.map(({ pages, events }) => [pages, events])).toEqual([
      [2, 3],
      [2, 3],
      [2, 3],
    ])
    expect(plan.rows).toMatchObject({ job_change_events: 6, people: 1, 'ops.rejects': 3 })
    expect(plan.stores[0]?.findings?.snapshots).toHaveLength(3)
    expect(plan.hasAnalystCopy).toBe(true)

    const certificate = await forget(site.forgetting([target]), REQUEST)
    expect(certificate).toMatchObject({ is_complete: true, remaining: [], rows: plan.rows })
    expect(certificate.segments.map(({ events }) => events)).toEqual([3, 3, 3])
    expect(certificate.proof.matches).toEqual([])
    expect(certificate.proof.texts).toBe(MARKERS.length)
    expect(await matchesIn(root)).toEqual([])
    // The raw bytes, by another program than ours.
    expect(filesWith(root, MARKERS)).toEqual([])
    expect(readFileSync(certificate.path, 'utf8')).toContain('"sha256_before"')
    expect((statSync(certificate.path).mode & 0o777).toString(8)).toBe('600')
    expect(existsSync(join(root, PENDING_FILE))).toBe(false)

    expect(await site.read(others)).toEqual(before)
    await expectProved(target.to)
    // What is there is what the journal says, as if she had never been.
    const replayed = await memory()
    await load({ warehouse: replayed, journal: site.journal })
    await buildStage(replayed, site.world)
    const left = ['ops.checks', 'ops.journal_positions', 'ops.schema_files', 'ops.rejects']
    const expected = await dumpTables(replayed, left)
    for (const [name, rows] of Object.entries(await site.read((now) => dumpTables(now, left)))) {
      expect([name, rows]).toEqual([name, expected[name]])
    }
    expect(await replayed.all('select * from ops.rejects')).toEqual([])
    // The next night goes on: nothing to load, the counts of organisations are published.
    expect(await site.read((now) => load({ warehouse: now, journal: site.journal }))).toMatchObject(
      {
        pages: 0,
        suppressed: 0,
      },
    )
    await withWarehouse({ path: warehouse, mode: 'write' }, async (now) => {
      const writer = site.journal.writer()
      const keep = { last: 30, daily: 0, weekly: 0, monthly: 0 }
      await publishStage(now, { ...target, keep }, { runId: null, writer }, site.world)
      await writer.close()
    })
    await expectProved(target.to)
    await expect(exportPerson(site.world, ADA)).rejects.toThrow(/was forgotten/)
  }, 240_000)

  it('killed at each of its steps in turn, it ends at last, with nothing left', async () => {
    const { site, target } = await threeNights()
    const before = await site.read(others)
    const steps = ['journal 2', 'warehouse', 'build 5', 'rewrite', 'copies', 'store 9', 'proof']
    for (const [index, killAt] of steps.entries()) {
      const world = site.forgetting([target], ({ step, done }) => {
        const at = done === undefined ? step : `${step} ${done}`
        if (at === killAt) throw new Error(`killed at ${at}`)
      })
      // Whom it was about, the second call knows by itself.
      const request = index === 0 ? REQUEST : { profileIds: [], eventsBefore: null }
      await expect(forget(world, request)).rejects.toThrow(`killed at ${killAt}`)
      expect(existsSync(join(site.directory.root, PENDING_FILE))).toBe(true)
    }
    const certificate = await forget(site.forgetting([target]), {
      profileIds: [],
      eventsBefore: null,
    })
    expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
    expect(certificate.people).toHaveLength(1)
    expect(certificate.proof.texts).toBe(MARKERS.length)
    expect(await matchesIn(site.directory.root)).toEqual([])
    expect(await site.read(others)).toEqual(before)
    await expectProved(target.to)
  }, 240_000)

  it('leaves no version of an object in a bucket that keeps versions', async () => {
    const server = await startS3Server()
    signInTo(server)
    const client = s3ClientOf(server)
    onTestFinished(async () => {
      vi.unstubAllEnvs()
      client.destroy()
      await server.close()
    })
    await client.send(
      new PutBucketVersioningCommand({
        Bucket: server.bucket,
        VersioningConfiguration: { Status: 'Enabled' },
      }),
    )
    const site = forgetSite({ s3Endpoint: server.endpoint })
    const target = { to: `s3://${server.bucket}/lake`, s3: {} }
    for (const night of [1, 2]) await site.night(target, night)
    const certificate = await forget(site.forgetting([target]), REQUEST)
    expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
    expect(certificate.stores[0]?.report?.purged).toBeGreaterThan(20)
    for (const [key, object] of server.objects()) {
      expect(server.versionsOf(key)).toHaveLength(1)
      expect(MARKERS.filter((text) => object.body.includes(text))).toEqual([])
    }
    expect(server.uploads()).toEqual([])
    expect(await matchesIn(site.directory.root)).toEqual([])
    expect(existsSync(site.directory.published)).toBe(false)
  }, 240_000)

  it('keeps them out when the service sends them again, and when everything is read anew', async () => {
    const { site, target } = await threeNights()
    await forget(site.forgetting([target]), REQUEST)
    await writePages(site.journal, [aPage(eventsOf(2), { requestId: 'again' })])
    const report = await site.read((now) => load({ warehouse: now, journal: site.journal }))
    expect(report).toMatchObject({ inserted: 0, rejected: 0, suppressed: 3 })
    const replayed = await memory()
    const whole = await load({ warehouse: replayed, journal: site.journal })
    expect(whole).toMatchObject({ rejected: 0, suppressed: 3 })
    const found = 'select count(*)::int as rows from job_change_events where profile_id = $1'
    expect(await replayed.all(found, [ADA])).toEqual([{ rows: 0 }])
    // What was sent again is on the disk until the next forgetting, which needs no name for it.
    expect(await matchesIn(site.directory.journal)).toHaveLength(1)
    await forget(site.forgetting([target]), { profileIds: ['per_8'], eventsBefore: null })
    expect(await matchesIn(site.directory.root)).toEqual([])
  }, 240_000)

  it('one store that cannot be reached: the rest is done, and it says what is left until that is, too', async () => {
    const site = forgetSite()
    const target = { to: join(temporaryFolder(), 'lake'), s3: {} }
    await site.night(target, 1)
    const away = { to: 's3://nowhere/lake', s3: { endpoint: 'http://127.0.0.1:9', region: 'eu' } }
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'a')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b')
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
    const certificate = await forget(site.forgetting([away, target]), REQUEST)
    expect(certificate.is_complete).toBe(false)
    expect(certificate.remaining).toHaveLength(1)
    expect(certificate.remaining[0]).toContain('s3://nowhere/lake')
    expect(await matchesIn(target.to)).toEqual([])
    expect(filesWith(site.directory.root, MARKERS)).toEqual([
      join(site.directory.root, PENDING_FILE),
    ])
    const again = await forget(site.forgetting([target]), { profileIds: [], eventsBefore: null })
    expect(again).toMatchObject({ is_complete: true, remaining: [] })
    expect(filesWith(site.directory.root, MARKERS)).toEqual([])
  }, 120_000)

  it('removes what a killed restore, replay or copy left', async () => {
    const site = forgetSite()
    const { root } = site.directory
    await writePages(site.journal, [aPage(eventsOf(1))])
    const leftOver = ['restore', 'restore.wal', 'restore.rewritten', 'replay.new'].map(
      (ending) => `jobtide.duckdb.${ending}`,
    )
    for (const name of [...leftOver, 'analyst.duckdb.new']) writeFileSync(join(root, name), ADA)
    const certificate = await forget(site.forgetting([]), REQUEST)
    expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
    expect(readdirSync(root).filter((name) => name.includes('.duckdb'))).toEqual(['jobtide.duckdb'])
  }, 120_000)

  it('says where something is left that is not ours to erase', async () => {
    const site = forgetSite()
    await writePages(site.journal, [aPage(eventsOf(1))])
    const stranger = join(site.directory.root, 'export.csv')
    writeFileSync(stranger, `profile_id\n${ADA}\n`)
    const certificate = await forget(site.forgetting([]), REQUEST)
    expect(certificate.remaining).toEqual([`${stranger} still names somebody`])
    expect(certificate.is_complete).toBe(false)
  }, 120_000)

  it('says of another data directory below this one that it is to be forgotten in, too', async () => {
    const site = forgetSite()
    const other = join(site.directory.root, 'demo')
    await writePages(site.journal, [aPage(eventsOf(1))])
    mkdirSync(join(other, 'journal'), { recursive: true })
    for (const name of ['one.csv', 'two.csv']) writeFileSync(join(other, name), ADA)
    const { remaining } = await forget(site.forgetting([]), REQUEST)
    expect(remaining).toEqual([
      `${other} still names somebody: it is a data directory of its own; forget there, too, with --data-dir`,
    ])
  }, 120_000)

  it('does nothing while a pipeline runs, and lets none begin while it works', async () => {
    const site = forgetSite()
    const { root } = site.directory
    await writePages(site.journal, [aPage([wireEvent()])])
    const running = acquireRunLock(root, 'nightly', 'run', realClock)
    await expect(forget(site.forgetting([]), REQUEST)).rejects.toMatchObject({ exitCode: 8 })
    running.release()
    expect(existsSync(join(root, 'suppressed.json'))).toBe(false)
    const locks: boolean[] = []
    await forget(
      site.forgetting([], ({ step }) => {
        if (step === 'journal') locks.push(existsSync(join(root, 'lock.recovery')))
      }),
      REQUEST,
    )
    expect(locks).toContain(true)
    expect(existsSync(join(root, 'lock.recovery'))).toBe(false)
  }, 120_000)
})
