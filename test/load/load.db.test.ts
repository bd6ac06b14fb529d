import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../src/api/schemas.ts'
import { openJournal, type Journal, type JournalWriter } from '../../src/journal/journal.ts'
import type { JournalRecord, OrganizationRef, RunFinished } from '../../src/journal/records.ts'
import { eventKey } from '../../src/load/read-events.ts'
import { load } from '../../src/load/load.ts'
import { buildModels } from '../../src/model/build.ts'
import { DAY } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  START,
  aBatch,
  aPage,
  dumpTables,
  finishBatch,
  handClock,
  journalOfPages,
  journalOfRuns,
  memory,
  segment,
  startRun,
  wireEvent,
} from './load-fixture.ts'

/** A journal with one segment, written by `write`. */
async function aJournal(write: (writer: JournalWriter) => void): Promise<Journal> {
  const journal = openJournal(temporaryFolder(), handClock())
  await segment(journal, write)
  return journal
}

type Page = ReturnType<typeof aPage>

describe('a page of 5 MB', () => {
  it('with five titles of a million letters among 60 events is loaded into an empty warehouse, and built', async () => {
    const events = Array.from({ length: 60 }, (_, nth) =>
      wireEvent({ person: `per_${nth}`, title: nth < 5 ? 'x'.repeat(1_000_000) : 'Engineer' }),
    )
    const journal = await journalOfPages(temporaryFolder(), [[aPage(events)]])
    const path = join(temporaryFolder(), 'warehouse.duckdb')
    const warehouse = await openWarehouse({ path, mode: 'write' })
    const report = await load({ warehouse, journal })
    expect(report).toMatchObject({ inserted: 60, rejected: 0 })
    await buildModels(warehouse, { buildId: 'large', builtAt: new Date(START) })
    expect(await warehouse.number('select sum(length(title)) from joiners')).toBe(5_000_440)
    warehouse.close()
  }, 60_000)
})

/** Loads a journal with these segments into a warehouse, page by page, and returns both with the report of the load. */
async function loaded(...segments: readonly (readonly Page[])[]) {
  const warehouse = await memory()
  const journal = await journalOfPages(temporaryFolder(), segments)
  return { warehouse, journal, report: await load({ warehouse, journal, chunkEvents: 1 }) }
}

const ends = (fields: Partial<RunFinished> = {}): RunFinished => ({
  kind: 'run_finished',
  run_id: 'run_1',
  at: START + 9_000,
  outcome: 'done',
  exit_code: 0,
  message: null,
  ...fields,
})
const byUrl = (value: string): OrganizationRef => ({ by: 'url', value })
const byId = (value: string): OrganizationRef => ({ by: 'id', value })
const refused = (organization: OrganizationRef, at: number, reason: string): JournalRecord => ({
  kind: 'organization_quarantined',
  run_id: 'run_1',
  at,
  organization,
  reason,
})

const YEAR_9999 = Date.UTC(9999, 0, 1)

describe('load', () => {
  it('lets no sighting dated in the year 9999 win over a later receipt', async () => {
    const far = aPage([wireEvent({ name: 'Ada', detectedAt: YEAR_9999 })], { at: START })
    const later = { name: 'Bea', detectedAt: START + DAY }
    const { report } = await loaded([far], [aPage([wireEvent(later)], { at: START + 2 * DAY })])
    expect(report).toMatchObject({ inserted: 1, updated: 1 })
  })

  it('names an organisation by its newest event instead of one dated in the year 9999', async () => {
    const far = wireEvent({ organizationName: 'Far', detectedAt: YEAR_9999 })
    const near = wireEvent({ person: 'per_2', organizationName: 'Near', detectedAt: START + DAY })
    const pages = [aPage([far], { at: START }), aPage([near], { at: START + 2 * DAY })]
    const { warehouse } = await loaded(pages)
    const sql = 'select name, epoch_ms(last_event_at) as last from ops.organizations'
    expect(await warehouse.all(sql)).toEqual([{ name: 'Near', last: BigInt(START + DAY) }])
  })

  it('counts pages, sightings, new events, changed events and rejects', async () => {
    const { report } = await loaded([
      aPage([wireEvent(), wireEvent(), wireEvent({ person: 'per_2' })]),
      aPage([wireEvent({ person: 'per_3' }), { event_type: 'joined' }], { page: 2 }),
    ])
    expect(report).toEqual({
      pages: 2,
      answers: 0,
      sightings: 4,
      inserted: 3,
      updated: 0,
      rejected: 1,
      suppressed: 0,
      newUnknownFields: [],
    })
  })

  it.each([
    ['the same again', {}, START + 1, 0],
    ['a correction detected later', { name: 'Bea', detectedAt: START }, START, 1],
    ['a correction received later', { name: 'Bea' }, START + 1, 1],
    ['another text of the same times, greater', { name: 'Bea' }, START, 1],
    ['another text of the same times, smaller', { name: 'Abe' }, START, 0],
    ['an older sighting, later', { name: 'Bea', detectedAt: START - 9 * DAY }, START + 1, 0],
    ['an older sighting, received earlier', { name: 'Bea' }, START - 1, 0],
  ])('%s is counted as it should be', async (_, fields, at, updated) => {
    const first = aPage([wireEvent({ name: 'Ada' })], { at: START })
    const again = aPage([wireEvent({ name: 'Ada', ...fields })], { at })
    const { report } = await loaded([first], [again])
    expect(report).toMatchObject({ inserted: 1, updated })
  })

  it('reports progress up to the last byte', async () => {
    const warehouse = await memory()
    const pages = Array.from({ length: 5 }, (_, i) => aPage([wireEvent({ person: `per_${i}` })]))
    const journal = await journalOfPages(temporaryFolder(), [pages])
    const seen: number[] = []
    await load({
      warehouse,
      journal,
      chunkEvents: 2,
      onProgress: ({ bytesDone, bytes }) => seen.push(bytesDone / bytes),
    })
    expect(seen.length).toBeGreaterThan(3)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen.at(-1)).toBe(1)
  })
})

/** The same warehouse, which calls `before` before each statement, and `commit` before each commit. */
function guarded(warehouse: Warehouse, before: () => void, commit: () => void): Warehouse {
  return new Proxy(warehouse, {
    get(target, name: keyof Warehouse) {
      const of = target[name]
      if (typeof of !== 'function') return of
      if (name === 'transaction') {
        return (work: () => Promise<unknown>) =>
          target.transaction(async () => {
            const result = await work()
            commit()
            return result
          })
      }
      return (...args: never[]) => {
        if (name === 'run' || name === 'append') before()
        return (of as (...all: never[]) => unknown).apply(target, args)
      }
    },
  })
}

describe('position and rows change together', () => {
  // Every point at which a load can fail: the engine refuses the n-th call inside a transaction.
  it('a failure at any statement changes nothing, and the next load does everything', async () => {
    const journal = await aJournal((writer) => {
      startRun(writer, [aBatch()])
      for (const person of ['per_1', 'per_2']) {
        const { record, body } = aPage([wireEvent({ person }), { bad: true }])
        writer.write(record, body)
      }
    })
    const clean = await memory()
    const empty = await dumpTables(clean, [])
    await load({ warehouse: clean, journal })
    const { 'ops.runs': runs, ...events } = await dumpTables(clean, [])
    const warehouse = await memory()
    let failures = 0
    // The facts come last, in their own transaction.
    for (const [commitsBefore, before] of [empty, { ...events, 'ops.runs': [] }].entries()) {
      for (let allowed = 0, commits = commitsBefore; commits === commitsBefore; allowed += 1) {
        let calls = 0
        const fail = () => {
          calls += 1
          if (calls > allowed) throw new Error('the power is out')
        }
        const fragile = guarded(warehouse, fail, () => {
          fail()
          commits += 1
        })
        const error: unknown = await load({ warehouse: fragile, journal }).catch((e: unknown) => e)
        if (commits !== commitsBefore) break
        expect(error).toMatchObject({ message: 'the power is out' })
        expect(await dumpTables(warehouse, [])).toEqual(before)
        failures += 1
      }
    }
    expect(await dumpTables(warehouse, [])).toEqual({ ...events, 'ops.runs': runs })
    expect(failures).toBeGreaterThan(10)
  })
})

describe('an event that does not fit', () => {
  it('is kept as a reject with its reason and position; the rest of the page is loaded', async () => {
    const bad = { ...wireEvent({ person: 'per_2' }), detected_at: 'soon' }
    const worse = { ...wireEvent(), person: null }
    const place = { page: 7, requestId: 'request_x' }
    const page = aPage([wireEvent(), bad, wireEvent({ person: 'per_3' }), worse, 'text'], place)
    const { warehouse, journal, report } = await loaded([page])
    expect(report).toMatchObject({ inserted: 2, rejected: 3 })
    expect(await warehouse.all('select * from ops.rejects order by position')).toMatchObject([
      {
        run_id: 'run_1',
        batch_id: '0001',
        page: 7,
        request_id: 'request_x',
        position: 2,
        reason: 'detected_at: expected an ISO 8601 instant, got "soon"',
        event: JSON.stringify(bad),
        received_at: new Date(START),
      },
      { position: 4, event: JSON.stringify(worse) },
      { position: 5, event: '"text"' },
    ])
    await load({ warehouse, journal })
    expect(await warehouse.all('select * from ops.rejects')).toHaveLength(3)
  })

  it('4 events that no table can hold are 4 rejects, and the 5th is loaded', async () => {
    const odd = [
      { detection_lag_days: 2 ** 31 },
      { changed_at: '0001-01-01T00:00:00+01:00' },
      { detected_at: '9999-12-31T23:59:59-01:00' },
      { changed_at: '0000-06-01' },
      {},
    ]
    const events = odd.map((fields) => ({ ...wireEvent(), ...fields }))
    const { warehouse, report } = await loaded([aPage(events)])
    expect(report).toMatchObject({ inserted: 1, rejected: 4 })
    const rejects = await warehouse.all<{ reason: string }>(
      'select reason from ops.rejects order by position',
    )
    expect(rejects[0]?.reason).toMatch(/^detection_lag_days: /)
    for (const { reason } of rejects.slice(1)) {
      expect(reason).toContain('expected a year from 1 to 9999 in UTC')
    }
  })

  it('an event nested 50,000 deep is a reject without its text, wherever the depth is', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const wire = JSON.stringify(wireEvent())
    const page = aPage(['DEEP', { ...wireEvent(), title: 'DEEP' }, wireEvent()])
    // An unknown field may have any depth.
    const body = page.body
      .replaceAll('"DEEP"', deep)
      .replace(`,${wire}]`, `,{"extra":${deep},${wire.slice(1)}]`)
    const { warehouse, report } = await loaded([{ ...page, body }])
    expect(report).toMatchObject({ inserted: 1, rejected: 2, newUnknownFields: ['extra'] })
    const rejects = await warehouse.all('select reason, event from ops.rejects order by position')
    const event = 'nested too deeply to be written'
    expect(rejects).toEqual([
      { reason: expect.stringMatching(/^it: /) as unknown, event },
      { reason: expect.stringMatching(/^title: /) as unknown, event },
    ])
  })

  it('an event with 200,000 unknown fields is loaded, and each of them reported', async () => {
    const fields = Array.from({ length: 200_000 }, (_, i) => [`field_${i}`, 1] as const)
    const { report } = await loaded([aPage([{ ...wireEvent(), ...Object.fromEntries(fields) }])])
    expect([report.inserted, report.newUnknownFields.length]).toEqual([1, 200_000])
  })

  it('unknown fields are reported once, by the first load that meets them', async () => {
    const strange = { ...wireEvent(), mood: 1, person: { ...wireEvent().person, pronouns: 'x' } }
    const { warehouse, journal, report } = await loaded([aPage([strange, strange])])
    expect(report.newUnknownFields.toSorted()).toEqual(['mood', 'person.pronouns'])
    await segment(journal, (writer) => {
      const { record, body } = aPage([{ ...strange, weather: 2 }], { at: START + DAY })
      writer.write(record, body)
    })
    expect((await load({ warehouse, journal })).newUnknownFields).toEqual(['weather'])
    expect(await warehouse.all('select * from ops.unknown_fields order by 1')).toEqual([
      { field: 'mood', first_seen_at: new Date(START) },
      { field: 'person.pronouns', first_seen_at: new Date(START) },
      { field: 'weather', first_seen_at: new Date(START + DAY) },
    ])
  })
})

describe('ops.changed_people, the input of the next build', () => {
  it('contains the people with a new or corrected event, but not those whose event was received again unchanged', async () => {
    const known = wireEvent({ person: 'per_1' })
    const { warehouse } = await loaded([aPage([known, wireEvent({ person: 'per_2' })])])
    const changedPeople = () =>
      warehouse.all('select distinct profile_id as person from ops.changed_people order by 1')
    expect(await changedPeople()).toEqual([{ person: 'per_1' }, { person: 'per_2' }])

    await warehouse.run('delete from ops.changed_people')
    const corrected = wireEvent({ person: 'per_2', title: 'Chief', detectedAt: START })
    const later = aPage([known, corrected, wireEvent({ person: 'per_3' })], { at: START + DAY })
    await load({ warehouse, journal: await journalOfPages(temporaryFolder(), [[later]]) })
    expect(await changedPeople()).toEqual([{ person: 'per_2' }, { person: 'per_3' }])
  })
})

describe('the ledger, ops.pages', () => {
  const named = (page: number, request_id: string) => ({
    run_id: 'run_1',
    batch_id: '0001',
    page,
    request_id,
  })
  const sent = (request: string): JournalRecord => ({
    kind: 'request_sent',
    ...named(1, request),
    at: START,
  })
  const failed = (request: string, status: number | null, in_doubt: boolean): JournalRecord => ({
    kind: 'request_failed',
    ...named(1, request),
    requested_at: START,
    at: START + 50,
    status,
    error: 'what went wrong',
    in_doubt,
  })

  it('has one row for each request, in doubt until its answer is known', async () => {
    const warehouse = await memory()
    const journal = await journalOfRuns(temporaryFolder())
    const writer = journal.writer()
    for (const request of ['a', 'b', 'c', 'd', 'e']) writer.write(sent(request))
    await writer.append(failed('b', 503, false))
    await load({ warehouse, journal })
    const ledger = async () =>
      (
        await warehouse.all(
          'select request_id, outcome, status, credits_used, error from ops.pages order by 1',
        )
      ).map((row) => Object.values(row).join(' '))
    const unanswered = 'in_doubt  10 no answer was recorded'
    const refusal = 'b failed 503 0 what went wrong'
    const all = [`a ${unanswered}`, refusal, ...['c', 'd', 'e'].map((id) => `${id} ${unanswered}`)]
    expect(await ledger()).toEqual(all)

    const page = aPage([wireEvent()], { requestId: 'a', hasMore: true })
    const empty = aPage([], { requestId: 'd', page: 2 })
    for (const { record, body } of [page, empty]) writer.write(record, body)
    await writer.append(failed('c', null, true))
    await writer.close()
    await load({ warehouse, journal })
    expect(await ledger()).toEqual([
      'a received 200 10 ',
      refusal,
      'c in_doubt  10 what went wrong',
      'd received 200 0 ',
      `e ${unanswered}`,
    ])
    expect(await warehouse.all(`select * from ops.pages where request_id = 'a'`)).toEqual([
      {
        ...named(1, 'a'),
        requested_at: new Date(START - 200),
        received_at: new Date(START),
        status: 200,
        outcome: 'received',
        events: 1,
        credits_used: 10,
        has_more: true,
        body_sha256: page.record.body_sha256,
        error: null,
        is_unexpected: false,
        credits_sent: null,
      },
    ])
  })

  it('keeps an answer that was loaded before its request, whether in one load or in two', async () => {
    const { record, body } = aPage([wireEvent()], { requestId: 'a' })
    for (const loads of [1, 2]) {
      const warehouse = await memory()
      const journal = await journalOfRuns(temporaryFolder())
      const writer = journal.writer()
      await writer.append(record, body)
      if (loads === 2) await load({ warehouse, journal })
      await writer.append(sent('a'))
      await writer.close()
      await load({ warehouse, journal })
      const rows = await warehouse.all('select request_id, outcome, credits_used from ops.pages')
      expect(rows).toEqual([{ request_id: 'a', outcome: 'received', credits_used: 10 }])
    }
  })
})

describe('runs and batches', () => {
  const two = [aBatch(), aBatch({ batch_id: '0002', days_ago: 30, event_types: ['joined'] })]
  const finish = (writer: JournalWriter, batch = aBatch()) => {
    const from = batch.days_ago === null ? null : START - batch.days_ago * DAY
    finishBatch(writer, batch, { from, to: START }, 'run_1', START + 5_000)
  }
  const runs = (warehouse: Warehouse) =>
    warehouse.all<Record<string, unknown>>('select * from ops.runs')
  const batches = (warehouse: Warehouse) =>
    warehouse.all<Record<string, unknown>>('select * from ops.batches order by batch_id')

  it('are shown from planned to finished, whether loaded at once or record by record', async () => {
    const stop = ends({ outcome: 'interrupted', exit_code: 130, message: 'stop' })
    const resumed: JournalRecord = { kind: 'run_resumed', run_id: 'run_1', at: START + 10_000 }
    const steps: [(writer: JournalWriter) => void, unknown[]][] = [
      [(writer) => startRun(writer, two), ['unfinished', null, 0]],
      [(writer) => finish(writer), ['unfinished', null, 0]],
      [(writer) => writer.write(stop), ['interrupted', 130, 0]],
      [(writer) => writer.write(resumed), ['unfinished', null, 1]],
      [(writer) => finish(writer, two[1]), ['unfinished', null, 1]],
      [(writer) => writer.write(ends({ at: START + 20_000 })), ['done', 0, 1]],
    ]
    const stepwise = await memory()
    const journal = openJournal(temporaryFolder(), handClock())
    const writer = journal.writer()
    for (const [step, expected] of steps) {
      step(writer)
      await load({ warehouse: stepwise, journal })
      const [run] = await runs(stepwise)
      expect([run?.['outcome'], run?.['exit_code'], run?.['resumed']]).toEqual(expected)
    }
    await writer.close()
    expect(await runs(stepwise)).toMatchObject([
      { run_id: 'run_1', kind: 'run', organizations: 2, batches: 2, message: null },
    ])
    expect(await batches(stepwise)).toMatchObject([
      { batch_id: '0001', state: 'finished', pages: 0, days_ago: null, covered_from: null },
      { batch_id: '0002', state: 'finished', days_ago: 30, event_types: 'joined' },
    ])
    const covered = { organization_id: 'org_1', covered_to: new Date(START) }
    const from = new Date(START - 30 * DAY)
    expect(await stepwise.all('select * from ops.coverage order by event_types')).toEqual([
      { ...covered, event_types: 'joined', covered_from: from },
      { ...covered, event_types: 'joined,left,title_change', covered_from: null },
    ])
    const atOnce = await memory()
    await load({ warehouse: atOnce, journal })
    expect(await dumpTables(atOnce)).toEqual(await dumpTables(stepwise))
  })

  it('a split batch stays as split, its parts are planned, and quarantined companies are named', async () => {
    const warehouse = await memory()
    const whole = aBatch({ organizations: ['a', 'b', 'c'].map(byUrl) })
    const parts = ['a', 'b'].map((value, i) =>
      aBatch({ batch_id: `0001.${i + 1}`, organizations: [byUrl(value)] }),
    )
    const journal = await aJournal((writer) => {
      startRun(writer, [whole])
      writer.write(refused(byUrl('c'), START, 'not tracked'))
      writer.write(
        { kind: 'batch_split', run_id: 'run_1', batch_id: '0001', at: START + 1, reason: 'x' },
        JSON.stringify({ batch: whole, instead: parts }),
      )
      finish(writer, parts[0])
    })
    await load({ warehouse, journal })
    expect(await batches(warehouse)).toMatchObject([
      { batch_id: '0001', state: 'split', organizations: 3 },
      { batch_id: '0001.1', state: 'finished', organizations: 1 },
      { batch_id: '0001.2', state: 'planned', organizations: 1 },
    ])
    const covered = await warehouse.all('select organization_id from ops.coverage')
    expect(covered).toEqual([{ organization_id: 'a' }])
    const quarantined = (at: number, reason: string) => [
      { organization_id: 'c', reason, quarantined_at: new Date(at) },
    ]
    const aside = 'from ops.organizations_quarantined'
    expect(await warehouse.all(aside)).toEqual(quarantined(START, 'not tracked'))
    const again = refused(byUrl('c'), START + DAY, 'still not tracked')
    await segment(journal, (writer) => writer.write(again))
    await load({ warehouse, journal })
    expect(await warehouse.all(aside)).toEqual(quarantined(START + DAY, 'still not tracked'))
  })

  it('shows the end of a run that is about to be closed, and the same once it is closed', async () => {
    const warehouse = await memory()
    const closing = ends({ outcome: 'budget', exit_code: 4 })
    const journal = await aJournal((writer) => startRun(writer, two))
    await load({ warehouse, journal, closing })
    const before = await dumpTables(warehouse)
    expect(await runs(warehouse)).toMatchObject([{ outcome: 'budget', exit_code: 4 }])
    await segment(journal, (writer) => writer.write(closing))
    await load({ warehouse, journal })
    expect(await dumpTables(warehouse)).toEqual(before)
  })

  it('snapshots are projected, counts over 2^53 included', async () => {
    const warehouse = await memory()
    const same = {
      run_id: null,
      snapshot_id: 'snapshot_1',
      destination: 's3://bucket/prefix',
      tables: 9,
      files: 12,
      new_files: 3,
    }
    const counts = { rows: 2 ** 40, bytes: 2 ** 52, new_bytes: 0 }
    const journal = await aJournal((writer) =>
      writer.write({ kind: 'snapshot_published', at: START, ...same, ...counts }),
    )
    await load({ warehouse, journal })
    await load({ warehouse, journal })
    const shown = { row_count: 2n ** 40n, bytes: 2n ** 52n, new_bytes: 0n }
    expect(await warehouse.all('select * from ops.snapshots')).toEqual([
      { published_at: new Date(START), ...same, ...shown },
    ])
  })

  it('a journal written by a newer version is refused, and nothing moves', async () => {
    const warehouse = await memory()
    const journal = await aJournal((writer) => {
      startRun(writer, two)
      writer.write({ kind: 'something_new' } as unknown as JournalRecord)
    })
    await expect(load({ warehouse, journal })).rejects.toThrow('the kind "something_new"')
    expect(await warehouse.all('select * from ops.journal_positions')).toEqual([])
  })
})

describe('organisations', () => {
  it('have 1 row in ops.page_organizations for each page with their events', async () => {
    const of = (organization: string, person: string) => wireEvent({ organization, person })
    // The last three are refused, but cost the same as the others.
    const refusals = [
      { organization: { organization_id: 'org_3' } },
      { organization: { organization_id: 7 } },
      'text',
    ]
    const events = [of('org_1', 'per_1'), of('org_2', 'per_2'), of('org_1', 'per_3'), ...refusals]
    const full = aPage(events, { requestId: 'full' })
    const { warehouse } = await loaded([full, aPage([], { requestId: 'empty' })])
    expect(await warehouse.all('from ops.page_organizations order by all')).toEqual([
      { request_id: 'full', organization_id: 'org_1', events: 2 },
      { request_id: 'full', organization_id: 'org_2', events: 1 },
      { request_id: 'full', organization_id: 'org_3', events: 1 },
    ])
  })

  it('share the 10 credits of a page by events, and the sum equals the ledger', async () => {
    const pages = Array.from({ length: 7 }, (_, page) =>
      aPage(
        Array.from({ length: page * 3 }, (_unused, i) =>
          wireEvent({ organization: `org_${(i * i) % (page + 1)}`, person: `per_${page}_${i}` }),
        ),
        { page: page + 1 },
      ),
    )
    const { warehouse } = await loaded(pages)
    const [sums] = await warehouse.all<{ ledger: number; shares: number; organizations: number }>(`
      select (select sum(credits_used) from ops.pages) as ledger,
             (select sum(credits) from ops.organization_charges) as shares,
             (select sum(credits) from ops.organizations) as organizations`)
    expect(sums?.ledger).toBe(60)
    expect(sums?.shares).toBeCloseTo(60, 9)
    expect(sums?.organizations).toBeCloseTo(60, 9)
    const [third] = await warehouse.all(
      `select credits from ops.organization_charges
       where organization_id = 'org_0' and events = 2 and credits < 4`,
    )
    // 2 of the 6 events of page 3.
    expect(third).toEqual({ credits: 10 / 3 })
  })

  it('have 1 row in ops.organizations under any name, with the facts that an operator needs', async () => {
    const warehouse = await memory()
    const first = aBatch({ organizations: [byUrl('acme'), byUrl('quiet'), byId('org_3')] })
    const second = aBatch({ batch_id: '0002', organizations: [byId('org_1')] })
    const acme = (person: string, organizationName: string, detectedAt: number) =>
      wireEvent({ organization: 'org_1', person, organizationName, detectedAt })
    const unnamed = wireEvent({ organization: 'org_9', organizationName: null })
    const page = aPage([
      acme('per_1', 'Acme', START - 2 * DAY),
      acme('per_2', 'Acme Inc', START - DAY),
      unnamed,
      unnamed,
    ])
    const journal = await aJournal((writer) => {
      startRun(writer, [first, second])
      writer.write(page.record, page.body)
      writer.write({
        kind: 'organization_learnt',
        run_id: 'run_1',
        at: START + 1,
        organization: byUrl('acme'),
        organization_id: 'org_1',
      })
      writer.write(refused(byId('org_3'), START + 2, 'was unknown once'))
      writer.write(refused(byUrl('nobody'), START + 4, 'not tracked'))
      writer.write(refused(byUrl('nobody'), START + 3, 'an older refusal'))
      finishBatch(writer, first, { from: null, to: START }, 'run_1', START + 5)
      finishBatch(writer, second, { from: null, to: START + DAY })
    })
    await load({ warehouse, journal })
    const row = (organization_id: string, fields: object) => ({
      organization_id,
      asked_as: organization_id,
      name: null,
      learnt_at: null,
      first_asked_at: null,
      last_asked_at: null,
      events: 0n,
      last_event_at: null,
      credits: 0,
      quarantined_at: null,
      quarantined_reason: null,
      ...fields,
    })
    const asked = { first_asked_at: new Date(START + 5), last_asked_at: new Date(START + 5) }
    const cost = { last_event_at: new Date(START - DAY), credits: 5 }
    const untracked = { quarantined_at: new Date(START + 4), quarantined_reason: 'not tracked' }
    const known = {
      asked_as: 'acme',
      name: 'Acme Inc',
      learnt_at: new Date(START + 1),
      first_asked_at: new Date(START + 5),
      last_asked_at: new Date(START + DAY),
    }
    expect(await warehouse.all('select * from ops.organizations order by organization_id')).toEqual(
      [
        row('nobody', untracked),
        row('org_1', { ...known, ...cost, events: 2n }),
        row('org_3', asked),
        row('org_9', { ...cost, events: 1n }),
        row('quiet', asked),
      ],
    )
  })
})

describe('eventKey', () => {
  const keyOf = (fields: Parameters<typeof wireEvent>[0]) => {
    const event = parseEvent(wireEvent(fields))
    if (typeof event === 'string') throw new Error(event)
    return eventKey(event)
  }

  it('is 32 hexadecimal digits and never changes between versions', () => {
    expect(keyOf({})).toMatch(/^[0-9a-f]{32}$/)
    expect(keyOf({ changedAt: 0 })).toBe('e4e0eb7b73664782933058a5e67c8bc0')
  })

  // The property of load shows what else it distinguishes.
  it('distinguishes ids that contain its separators, and treats an empty title as none', () => {
    const left = keyOf({ person: 'per_1","org_1', organization: 'x' })
    expect(keyOf({ person: 'per_1', organization: '"org_1","x' })).not.toBe(left)
    const untitled = keyOf({ type: 'title_change', title: null })
    expect(keyOf({ type: 'title_change', title: '' })).toBe(untitled)
  })
})
