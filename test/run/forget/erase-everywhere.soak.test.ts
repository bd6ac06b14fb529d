import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { load } from '../../../src/load/load.ts'
import { suppress } from '../../../src/load/suppression.ts'
import { readChecks } from '../../../src/publish/publish.ts'
import { listSnapshots, readCurrent } from '../../../src/publish/manifest.ts'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { erase, eraseAfterRun, leaveOutErased } from '../../../src/run/forget/erase.ts'
import { PENDING_FILE } from '../../../src/run/forget/pending.ts'
import { readFreshness } from '../../../src/run/pipelines.ts'
import { acquireLock } from '../../../src/run/lock.ts'
import { buildStage, publishStage } from '../../../src/run/stages.ts'
import { realClock } from '../../../src/support/clock.ts'
import { DAY } from '../../../src/support/units.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { insertEvents } from '../../helpers/warehouse.ts'
import {
  aBatch,
  aPage,
  dumpTables,
  memory,
  segment,
  startRun,
  wireEvent,
} from '../../load/load-fixture.ts'
import {
  ADA,
  LATE,
  MARKERS,
  NOTHING_NEW,
  REQUEST,
  buy,
  erasedNights,
  expectProved,
  filesWith,
  forgetSite,
  matchesIn,
  others,
  removeNights,
  targetAt,
  twoNights,
  type ForgetSite,
} from './forget-fixture.ts'

afterAll(removeNights)

const loadInto = (site: ForgetSite) =>
  site.read((warehouse) => load({ warehouse, journal: site.journal }))

describe('erase', () => {
  it('removes 1 of 200 people from everything, for good, and no one else', async () => {
    const nights = await erasedNights()
    const { site, target, from, before, namedIn, ids, plan, isNoted, certificate } = nights
    const { root } = site.directory
    const store = openFolderStore(target.to, realClock)
    expect(namedIn.length).toBeGreaterThan(20)
    expect(plan.segments.map(({ pages, events }) => [pages, events])).toEqual([
      [2, 3],
      [2, 3],
    ])
    expect(plan.rows).toMatchObject({ 'main.job_change_events': 4, 'ops.rejects': 2 })
    const destination = join(from, 'snapshots')
    expect(plan.stores).toEqual([{ destination, problem: null, snapshots: ids }])
    expect(isNoted).toBe(false)

    expect(certificate).toMatchObject({ is_complete: true, remaining: [], rows: plan.rows })
    expect(certificate.segments.map(({ events }) => events)).toEqual([3, 3])
    expect(certificate.stores).toEqual(plan.stores)
    expect(certificate.proof).toMatchObject({ matches: [], texts: MARKERS.length })
    expect(await matchesIn(root)).toEqual([])
    // The raw bytes, read by another program.
    expect(filesWith(root, MARKERS)).toEqual([])
    expect((statSync(certificate.path).mode & 0o777).toString(8)).toBe('600')
    expect(existsSync(join(root, PENDING_FILE))).toBe(false)

    // Readers see one snapshot, the newest; it and the warehouse equal the journal, as if she had never existed.
    const left = await listSnapshots(store)
    expect(left.map(({ sequence }) => sequence)).toEqual([3])
    expect((await readCurrent(store))?.manifest).toEqual(left[0])
    await expectProved(target.to)
    expect(await site.read(others)).toEqual(before)
    const replayed = await memory()
    await load({ warehouse: replayed, journal: site.journal })
    await buildStage(replayed, site.world)
    const expected = await dumpTables(replayed)
    for (const [name, rows] of Object.entries(await site.read((now) => dumpTables(now)))) {
      expect([name, rows]).toEqual([name, expected[name]])
    }
    // The next load continues from there, and the user's own view still exists.
    expect(await loadInto(site)).toMatchObject({ pages: 0, suppressed: 0 })
    await site.read((now) => now.run('from own_view'))
  }, 240_000)

  it('is incomplete while a file cannot be searched or a folder behind a link names the person; it says so, and later runs work', async () => {
    const { site, target } = await twoNights()
    const junk = ['mine.duckdb', 'mine.parquet'].map((name) => join(site.directory.root, name))
    writeFileSync(junk[0]!, 'no database '.repeat(999))
    writeFileSync(junk[1]!, '')
    // A folder elsewhere, linked from here.
    const linked = join(site.directory.root, 'journal.old')
    const there = temporaryFolder()
    writeFileSync(join(there, 'notes.txt'), `about ${ADA}`)
    symlinkSync(there, linked)
    const expected = {
      is_complete: false,
      remaining: expect.arrayContaining([
        ...junk.map((path) =>
          expect.stringMatching(`^${path} cannot be searched \\(.+\\): remove it, or `),
        ),
        expect.stringMatching(`^${join(linked, 'notes.txt')} still names a person`),
      ]) as unknown,
    }
    const told = async () => {
      const options = { directory: site.directory, clock: realClock, named: [], maxAgeMs: null }
      const { judgements } = await readFreshness(options)
      return judgements.map(({ id }) => id).filter((id) => id === 'erasure_pending')
    }
    expect(await told()).toEqual([])
    expect(await erase(site.erasing([target]), REQUEST)).toMatchObject(expected)
    expect(await told()).toEqual(['erasure_pending'])
    expect(await eraseAfterRun(site.erasing([target]), null)).toMatchObject(expected)
    for (const path of [...junk, linked]) rmSync(path)
    expect(await erase(site.erasing([target]), NOTHING_NEW)).toMatchObject({
      is_complete: true,
      remaining: [],
    })
    expect(await told()).toEqual([])
  }, 240_000)

  it('drops only the snapshots that name them', async () => {
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

  it('stopped while the tables are rebuilt, blocks publishing; then it counts every row, and keeps them out when the service sends them again', async () => {
    const site = forgetSite()
    await buy(site.journal, 1)
    const stop = new AbortController()
    const world = site.erasing()
    const stopped: typeof world = {
      ...world,
      stop: stop.signal,
      onProgress: ({ stage }) => stage === 'build' && stop.abort(new Error('stopped')),
    }
    await expect(erase(stopped, REQUEST)).rejects.toThrow('stopped')
    await expect(site.read(readChecks)).rejects.toMatchObject({
      exitCode: 6,
      hint: expect.stringMatching(/^Nothing was published\. Readers see what they saw\. Fix/),
    })
    expect(await erase(world, NOTHING_NEW)).toMatchObject({
      is_complete: true,
      rows: { 'main.job_change_events': 2, 'ops.rejects': 1 },
    })
    expect(await site.read(readChecks)).toMatchObject({
      passed: expect.any(Number),
    })

    await buy(site.journal, 2)
    expect(await loadInto(site)).toMatchObject({ suppressed: 3 })
    const replayed = await memory()
    expect(await load({ warehouse: replayed, journal: site.journal })).toMatchObject({
      rejected: 0,
      suppressed: 3,
    })
    const found = 'select count(*)::int as rows from job_change_events where profile_id = $1'
    expect(await replayed.all(found, [ADA])).toEqual([{ rows: 0 }])
    // Events sent again are on the disk until the next erasure, which needs no name.
    expect(await matchesIn(site.directory.journal)).toHaveLength(1)
    await erase(world, NOTHING_NEW)
    expect(await matchesIn(site.directory.root)).toEqual([])
  }, 120_000)

  it('removes leftovers of killed processes, and reports files with the person that are not ours to erase', async () => {
    const site = forgetSite()
    const { root } = site.directory
    await buy(site.journal, 1)
    await site.read((now) =>
      now.run(`create table own (note varchar); insert into own values ('${ADA}')`),
    )
    for (const ending of ['restore', 'restore.wal', 'restore.erased', 'replay.new']) {
      writeFileSync(join(root, `jobtide.duckdb.${ending}`), ADA)
    }
    writeFileSync(join(root, 'analyst.duckdb.new'), ADA)
    const spilled = join(root, 'analyst.duckdb.tmp.0d1b1f0e-6d1c-4c39-9a53-2f1ad9e0c001')
    mkdirSync(spilled)
    writeFileSync(join(spilled, 'duckdb_temp_storage_DEFAULT-0.tmp'), ADA)
    mkdirSync(join(root, 'journal.salvage'))
    writeFileSync(join(root, 'journal.salvage', '01.journal'), ADA)
    const stranger = join(root, 'export.csv')
    writeFileSync(stranger, `profile_id\n${ADA}\n`)
    const other = join(root, 'demo')
    mkdirSync(join(other, 'journal'), { recursive: true })
    for (const name of ['one.csv', 'two.csv']) writeFileSync(join(other, name), ADA)
    const away = join(root, 'not-mounted')
    const certificate = await erase(site.erasing([targetAt(away)]), REQUEST)
    expect(certificate?.is_complete).toBe(false)
    expect(certificate?.remaining).toEqual([
      `${away}: there is no such folder: mount it. If it is gone for good, as after a move to another machine, add --gone ${away}`,
      `${other} still names a person to be erased. It is another data directory: run forget there as well, with --data-dir`,
      `${stranger} still names a person to be erased`,
      `${site.directory.warehouse}, table main.own, still names a person to be erased`,
    ])
  }, 120_000)

  it('changes nothing while a pipeline runs, and records no failed erasure', async () => {
    const site = forgetSite()
    const { root } = site.directory
    await buy(site.journal, 1)
    const running = await acquireLock(root, { command: 'run', clock: realClock })
    await expect(erase(site.erasing(), REQUEST)).rejects.toMatchObject({ exitCode: 8 })
    await running.release()
    for (const name of ['suppressed.json', PENDING_FILE]) {
      expect(existsSync(join(root, name))).toBe(false)
    }
  })

  it('of an unknown person keeps them out from now on, even before the first run', async () => {
    const site = forgetSite()
    mkdirSync(site.directory.root)
    const certificate = await erase(site.erasing(), REQUEST)
    expect(certificate).toMatchObject({ is_complete: true, segments: [], rows: {} })
    const { people, list } = JSON.parse(readFileSync(certificate!.path, 'utf8'))
    expect([people, list.generation]).toEqual([certificate!.people, 1])
    const { mac } = JSON.parse(readFileSync(join(site.directory.root, 'suppressed.json'), 'utf8'))
    expect(list.mac).toBe(mac)
    await buy(site.journal, 1)
    expect(await loadInto(site)).toMatchObject({ suppressed: 3 })
  })
})

const now = realClock.now()

const suppressPeople = (site: ForgetSite, profileIds: readonly string[]) =>
  suppress(site.journal, { profileIds, eventsBefore: null }, now)

async function buyEvents(site: ForgetSite, events: readonly unknown[]): Promise<void> {
  const runId = `run_${site.journal.segments().length}`
  await segment(site.journal, (writer) => {
    startRun(writer, [aBatch()], runId)
    const { record, body } = aPage(events, { runId })
    writer.write(record, body)
  })
}

/** The people with events in the journal. */
function peopleIn({ journal }: ForgetSite): string[] {
  const frames = journal.segments().flatMap((name) => [...journal.read(name)])
  const pages = frames
    .filter(({ record }) => record.kind === 'page_received')
    .map((page) => JSON.parse(page.payload().toString()))
  return (pages as { data: { person: { profile_id: string } }[] }[]).flatMap(({ data }) =>
    data.map(({ person }) => person.profile_id),
  )
}

describe('eraseAfterRun', () => {
  it('removes the 2 events of an erased person from their segment, and no other byte', async () => {
    const site = forgetSite()
    await buyEvents(site, [wireEvent({ person: 'per_2' })])
    await suppressPeople(site, ['per_1'])
    await buyEvents(site, [
      wireEvent(),
      wireEvent({ person: 'per_3' }),
      wireEvent({ type: 'left' }),
    ])
    expect(await loadInto(site)).toMatchObject({ inserted: 2, suppressed: 2 })
    const [first] = site.journal.segments()
    const untouched = readFileSync(join(site.directory.journal, first!))
    const running = await acquireLock(site.directory.root, { command: 'run', clock: realClock })
    expect(await eraseAfterRun(site.erasing(), null)).toBeNull()
    // While a pipeline runs, the erasure is left to the next run.
    expect(peopleIn(site)).toContain('per_1')
    await running.release()
    expect(await eraseAfterRun(site.erasing(), null)).toBeNull()
    expect(peopleIn(site)).toEqual(['per_2', 'per_3'])
    expect(readFileSync(join(site.directory.journal, first!))).toEqual(untouched)
    // The warehouse continues where it was, and a replay gives the same one.
    expect(await loadInto(site)).toMatchObject({ pages: 0 })
    expect(await load({ warehouse: await memory(), journal: site.journal })).toMatchObject({
      inserted: 2,
      suppressed: 0,
    })
  })

  it('erases the 1 of 3 events that will be over 365 days old this month, once a month', async () => {
    const site = forgetSite()
    const today = new Date(now)
    const cutoff = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1) - 365 * DAY
    const events = [
      wireEvent({ person: 'old', changedAt: cutoff - DAY, detectedAt: cutoff - 1 }),
      wireEvent({ person: 'seen_late', changedAt: cutoff - DAY, detectedAt: cutoff }),
      wireEvent({ person: 'new', changedAt: cutoff, detectedAt: cutoff + DAY }),
    ]
    await buyEvents(site, events)
    const running = await acquireLock(site.directory.root, { command: 'run', clock: realClock })
    expect(await eraseAfterRun(site.erasing(), 365)).toBeNull()
    await running.release()
    expect(await eraseAfterRun(site.erasing(), 365)).toMatchObject({
      is_complete: true,
      people: [],
      events_before: new Date(cutoff).toISOString(),
      rows: { 'main.job_change_events': 1 },
    })
    expect(peopleIn(site)).toEqual(['seen_late', 'new'])
    expect(await eraseAfterRun(site.erasing(), 365)).toBeNull()
    // A longer retention does not restore erased events; neither does a full read.
    expect(await eraseAfterRun(site.erasing(), 9_999)).toBeNull()
    await buyEvents(site, events)
    expect(await loadInto(site)).toMatchObject({ inserted: 0, suppressed: 1 })
    await eraseAfterRun(site.erasing(), 365)
    expect(peopleIn(site)).not.toContain('old')
  })
})

describe('a warehouse from before an erasure', () => {
  it('is not published, loses her 6 rows with the next load, and her bytes at the end of the next run', async () => {
    const { site, target, backup } = await erasedNights()
    const { warehouse, root } = site.directory
    cpSync(backup, warehouse)
    const publish = async () => {
      const writer = site.journal.writer()
      const by = { runId: null, writer }
      try {
        await site.read((open) => publishStage(open, target, by, site.world))
      } finally {
        await writer.close()
      }
    }
    await expect(publish()).rejects.toMatchObject({
      exitCode: 9,
      message: expect.stringContaining('follows another suppression list'),
    })
    await loadInto(site)
    const hers = `select (select count(*) from job_change_events where profile_id = '${ADA}')
      + (select count(*) from ops.rejects where contains(event, '${ADA}')) as rows`
    expect(await site.read((open) => open.number(hers))).toBe(0)
    // The models still name her.
    await expect(publish()).rejects.toMatchObject({ exitCode: 6 })
    await site.read((open) => buildStage(open, site.world))
    await publish()
    expect(filesWith(root, MARKERS)).toEqual([warehouse])
    await erase(site.erasing([target]), NOTHING_NEW)
    expect(filesWith(root, MARKERS)).toEqual([])
    await expectProved(target.to)
  }, 120_000)

  it.each([-40, 200_000])(
    'continues after the loaded pages of a rewritten segment: %i bytes off',
    async (off) => {
      const { site, backup } = await erasedNights()
      cpSync(backup, site.directory.warehouse)
      const seen = () =>
        site.read((open) =>
          open.number(`select sum(times_seen) from job_change_events where profile_id <> '${ADA}'`),
        )
      const before = await seen()
      await site.read((open) =>
        open.run('update ops.journal_positions set bytes = bytes + $1', [off]),
      )
      expect(await loadInto(site)).toMatchObject({ pages: 0 })
      expect(await seen()).toBe(before)
      await buy(site.journal, 3)
      expect(await loadInto(site)).toMatchObject({ pages: 5 })
      expect(await seen()).toBeGreaterThan(before)
    },
    120_000,
  )
})

describe('leaveOutErased', () => {
  it('removes 1 of 2 restored people who was erased meanwhile; without an erasure the file stays unchanged', async () => {
    const site = forgetSite()
    const path = site.directory.warehouse
    await site.read((warehouse) =>
      insertEvents(warehouse, [{ profile_id: 'per_1' }, { profile_id: 'per_2' }]),
    )
    const { ino } = statSync(path)
    await suppressPeople(site, ['per_7'])
    expect(await leaveOutErased(site.world, path)).toBe(0)
    expect(statSync(path).ino).toBe(ino)
    await suppressPeople(site, ['per_1'])
    expect(await leaveOutErased(site.world, path)).toBe(1)
    const people = () => site.read((warehouse) => warehouse.all('select profile_id from people'))
    expect(await people()).toEqual([{ profile_id: 'per_2' }])
    await suppress(site.journal, { profileIds: [], eventsBefore: Date.UTC(2100, 0, 1) }, now)
    expect(await leaveOutErased(site.world, path)).toBe(0)
    expect(await people()).toEqual([])
  })
})
