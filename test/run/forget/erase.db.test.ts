import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { load } from '../../../src/load/load.ts'
import { listSnapshots, readCurrent } from '../../../src/publish/read-snapshot.ts'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { erase } from '../../../src/run/forget/erase.ts'
import { exportPerson } from '../../../src/run/forget/export-person.ts'
import { PENDING_FILE } from '../../../src/run/forget/pending.ts'
import { planErasure } from '../../../src/run/forget/plan.ts'
import { acquireLock } from '../../../src/run/lock.ts'
import { buildStage } from '../../../src/run/stages.ts'
import { realClock } from '../../../src/support/clock.ts'
import { dumpTables, memory } from '../../load/load-fixture.ts'
import {
  ADA,
  LATE,
  MARKERS,
  NOTHING_NEW,
  REQUEST,
  buy,
  expectProved,
  filesWith,
  forgetSite,
  matchesIn,
  others,
  removeNights,
  twoNights,
} from './forget-fixture.ts'

afterAll(removeNights)

describe('erase', () => {
  it('takes 1 of 200 people out of everything, for good, and nobody else', async () => {
    const { site, target } = await twoNights()
    const { root } = site.directory
    const before = await site.read(others)
    const store = openFolderStore(target.to, realClock)
    const ids = (await listSnapshots(store)).map(({ snapshot_id: id }) => id)
    expect((await matchesIn(root)).length).toBeGreaterThan(20)

    const plan = await planErasure(site.erasing([target]), REQUEST)
    expect(plan.segments.map(({ pages, events }) => [pages, events])).toEqual([
      [2, 3],
      [2, 3],
    ])
    expect(plan.rows).toMatchObject({ 'main.job_change_events': 4, 'ops.rejects': 2 })
    expect(plan.stores).toEqual([{ destination: target.to, problem: null, snapshots: ids }])
    expect(existsSync(join(root, 'suppressed.json'))).toBe(false)

    const certificate = (await erase(site.erasing([target]), REQUEST))!
    expect(certificate).toMatchObject({ is_complete: true, remaining: [], rows: plan.rows })
    expect(certificate.segments.map(({ events }) => events)).toEqual([3, 3])
    expect(certificate.stores).toEqual(plan.stores)
    expect(certificate.proof).toMatchObject({ matches: [], texts: MARKERS.length })
    expect(await matchesIn(root)).toEqual([])
    // The raw bytes, by another program than ours.
    expect(filesWith(root, MARKERS)).toEqual([])
    expect((statSync(certificate.path).mode & 0o777).toString(8)).toBe('600')
    expect(existsSync(join(root, PENDING_FILE))).toBe(false)

    // Readers see one snapshot, the newest; it and the warehouse are what the journal says, as if she had never been.
    const left = await listSnapshots(store)
    expect(left.map(({ sequence }) => sequence)).toEqual([3])
    expect((await readCurrent(store))?.manifest).toEqual(left[0])
    await expectProved(target.to)
    expect(await site.read(others)).toEqual(before)
    const replayed = await memory()
    await load({ warehouse: replayed, journal: site.journal })
    await buildStage(replayed, site.world)
    const leftOut = ['ops.checks', 'ops.journal_positions', 'ops.schema_files']
    const expected = await dumpTables(replayed, leftOut)
    for (const [name, rows] of Object.entries(await site.read((now) => dumpTables(now, leftOut)))) {
      expect([name, rows]).toEqual([name, expected[name]])
    }
    // The next night goes on from there.
    expect(await site.read((now) => load({ warehouse: now, journal: site.journal }))).toMatchObject(
      { pages: 0, suppressed: 0 },
    )
    await site.night(target, 3)
    await expectProved(target.to)
    await expect(exportPerson(site.world, 'per_ada')).rejects.toThrow(/nothing is known of/)
  }, 240_000)

  it('of snapshots drops those that name them, and no other', async () => {
    const { site, target } = await twoNights()
    const store = openFolderStore(target.to, realClock)
    const ids = (await listSnapshots(store)).map(({ snapshot_id: id }) => id)
    const request = { profileIds: [LATE], eventsBefore: null }
    const certificate = await erase(site.erasing([target]), request)
    expect(certificate).toMatchObject({ is_complete: true, remaining: [] })
    expect(certificate?.stores[0]?.snapshots).toEqual(ids.slice(1))
    expect((await listSnapshots(store)).map(({ sequence }) => sequence)).toEqual([1, 3])
    await expectProved(target.to)
  }, 120_000)

  it('keeps them out when the service sends them again, and when everything is read again', async () => {
    const site = forgetSite()
    await buy(site.journal, 1)
    await erase(site.erasing(), REQUEST)
    await buy(site.journal, 2)
    const report = await site.read((now) => load({ warehouse: now, journal: site.journal }))
    expect(report).toMatchObject({ suppressed: 3 })
    const replayed = await memory()
    expect(await load({ warehouse: replayed, journal: site.journal })).toMatchObject({
      rejected: 0,
      suppressed: 3,
    })
    const found = 'select count(*)::int as rows from job_change_events where profile_id = $1'
    expect(await replayed.all(found, [ADA])).toEqual([{ rows: 0 }])
    // What was sent again is on the disk until the next erasure, which needs no name for it.
    expect(await matchesIn(site.directory.journal)).toHaveLength(1)
    await erase(site.erasing(), NOTHING_NEW)
    expect(await matchesIn(site.directory.root)).toEqual([])
    await expect(exportPerson(site.world, ADA)).rejects.toThrow(/was erased/)
  }, 120_000)

  it('removes what killed processes left, and says where something is left that is not ours to erase', async () => {
    const site = forgetSite()
    const { root } = site.directory
    await buy(site.journal, 1)
    for (const ending of ['restore', 'restore.wal', 'restore.erased', 'replay.new']) {
      writeFileSync(join(root, `jobtide.duckdb.${ending}`), ADA)
    }
    writeFileSync(join(root, 'analyst.duckdb.new'), ADA)
    const spilled = join(root, 'analyst.duckdb.tmp.4711')
    mkdirSync(spilled)
    writeFileSync(join(spilled, 'duckdb_temp_storage_DEFAULT-0.tmp'), ADA)
    const stranger = join(root, 'export.csv')
    writeFileSync(stranger, `profile_id\n${ADA}\n`)
    const other = join(root, 'demo')
    mkdirSync(join(other, 'journal'), { recursive: true })
    for (const name of ['one.csv', 'two.csv']) writeFileSync(join(other, name), ADA)
    const certificate = await erase(site.erasing(), REQUEST)
    expect(certificate?.is_complete).toBe(false)
    expect(certificate?.remaining).toEqual([
      `${other} still names a person who was to be erased: it is a data directory of its own; forget there, too, with --data-dir`,
      `${stranger} still names a person who was to be erased`,
    ])
  }, 120_000)

  it('changes nothing while a pipeline runs, and notes nobody who is erased in vain', async () => {
    const site = forgetSite()
    const { root } = site.directory
    await buy(site.journal, 1)
    const running = await acquireLock(root, { command: 'run', clock: realClock })
    await expect(erase(site.erasing(), REQUEST)).rejects.toMatchObject({ exitCode: 8 })
    running.release()
    for (const name of ['suppressed.json', PENDING_FILE]) {
      expect(existsSync(join(root, name))).toBe(false)
    }
  })

  it('of a person who is not known keeps them out from now on, also before the first run', async () => {
    const site = forgetSite()
    mkdirSync(site.directory.root)
    const certificate = await erase(site.erasing(), REQUEST)
    expect(certificate).toMatchObject({ is_complete: true, segments: [], rows: {} })
    expect(JSON.parse(readFileSync(certificate!.path, 'utf8')).people).toEqual(certificate!.people)
    await buy(site.journal, 1)
    expect(await site.read((now) => load({ warehouse: now, journal: site.journal }))).toMatchObject(
      { suppressed: 3 },
    )
  })
})
