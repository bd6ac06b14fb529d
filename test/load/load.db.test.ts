import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal, type Journal, type JournalWriter } from '../../src/journal/journal.ts'
import type { JournalRecord, RunFinished } from '../../src/journal/records.ts'
import { eventKey } from '../../src/load/event-row.ts'
import { load } from '../../src/load/load.ts'
import { parseEvent } from '../../src/api/schemas.ts'
import { DAY } from '../../src/support/units.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import {
  START,
  aPage,
  aBatch,
  dumpTables,
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

const ends = (fields: Partial<RunFinished> = {}): RunFinished => ({
  kind: 'run_finished',
  run_id: 'run_1',
  at: START + 9_000,
  outcome: 'done',
  exit_code: 0,
  message: null,
  ...fields,
})

describe('load', () => {
  it('counts what it did: pages, sightings, new events, changed ones, rejects', async () => {
    const warehouse = await memory()
    const journal = await journalOfPages(temporaryFolder(), [
      [
        aPage([wireEvent(), wireEvent(), wireEvent({ person: 'per_2' })]),
        aPage([wireEvent({ person: 'per_3' }), { event_type: 'joined' }], { page: 2 }),
      ],
    ])
    expect(await load({ warehouse, journal })).toEqual({
      pages: 2,
      sightings: 4,
      inserted: 3,
      updated: 0,
      rejected: 1,
      suppressed: 0,
      newUnknownFields: [],
    })
    const [event] = await warehouse.all(
      `select times_seen from job_change_events where profile_id = 'per_1'`,
    )
    expect(event).toEqual({ times_seen: 2 })
  })

  const again = (fields: Parameters<typeof wireEvent>[0], at: number) => [
    [aPage([wireEvent({ name: 'Ada' })], { at: START })],
    [aPage([wireEvent({ name: 'Ada', ...fields })], { at })],
  ]
  it.each([
    { what: 'the same again', fields: {}, at: START + 1, updated: 0, name: 'Ada', seen: START + 1 },
    {
      what: 'a correction detected later',
      fields: { name: 'Bea', detectedAt: START },
      at: START,
      updated: 1,
      name: 'Bea',
      seen: START,
    },
    {
      what: 'a correction received later',
      fields: { name: 'Bea' },
      at: START + 1,
      updated: 1,
      name: 'Bea',
      seen: START + 1,
    },
    {
      what: 'another text of the same times, greater',
      fields: { name: 'Bea' },
      at: START,
      updated: 1,
      name: 'Bea',
      seen: START,
    },
    {
      what: 'another text of the same times, smaller',
      fields: { name: 'Abe' },
      at: START,
      updated: 0,
      name: 'Ada',
      seen: START,
    },
    {
      what: 'an older sighting, received later',
      fields: { name: 'Bea', detectedAt: START - 9 * DAY },
      at: START + 1,
      updated: 0,
      name: 'Ada',
      seen: START,
    },
    {
      what: 'an older sighting, received earlier',
      fields: { name: 'Bea' },
      at: START - 1,
      updated: 0,
      name: 'Ada',
      seen: START,
    },
  ])('$what: $updated updated', async ({ fields, at, updated, name, seen }) => {
    const warehouse = await memory()
    const journal = await journalOfPages(temporaryFolder(), again(fields, at))
    const report = await load({ warehouse, journal })
    expect(report).toMatchObject({ inserted: 1, updated })
    const rows = await warehouse.all(
      'select person_full_name, attributes_seen_at, times_seen from job_change_events',
    )
    expect(rows).toEqual([
      { person_full_name: name, attributes_seen_at: new Date(seen), times_seen: 2 },
    ])
  })

  it('loading again changes nothing and reads nothing', async () => {
    const warehouse = await memory()
    const journal = await journalOfPages(temporaryFolder(), [[aPage([wireEvent()])]])
    await load({ warehouse, journal })
    const before = await dumpTables(warehouse, [])
    expect(await load({ warehouse, journal })).toMatchObject({
      pages: 0,
      sightings: 0,
      inserted: 0,
    })
    expect(await dumpTables(warehouse, [])).toEqual(before)
  })

  it('goes on in a segment that has grown since', async () => {
    const warehouse = await memory()
    const journal = await journalOfRuns(temporaryFolder())
    const writer = journal.writer()
    const write = async (person: string) => {
      const { record, body } = aPage([wireEvent({ person })])
      await writer.append(record, body)
      return load({ warehouse, journal })
    }
    expect(await write('per_1')).toMatchObject({ pages: 1, inserted: 1 })
    expect(await write('per_2')).toMatchObject({ pages: 1, inserted: 1 })
    await writer.close()
    expect(await load({ warehouse, journal })).toMatchObject({ pages: 0 })
    expect(await warehouse.all('select count(*)::int as n from job_change_events')).toEqual([
      { n: 2 },
    ])
  })

  it('tells its progress up to the last byte', async () => {
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

  it('keeps instants to the millisecond, from the year 1 to 9999', async () => {
    const warehouse = await memory()
    const instants = [
      '0001-01-01T00:00:00.001Z',
      '2026-01-01T00:00:00.999Z',
      '9999-12-31T23:59:59.999Z',
    ]
    const events = instants.map((text) => wireEvent({ changedAt: Date.parse(text) }))
    const journal = await journalOfPages(temporaryFolder(), [[aPage(events)]])
    await load({ warehouse, journal })
    const rows = await warehouse.all<{ changed_at: Date }>(
      'select changed_at from job_change_events order by 1',
    )
    expect(rows.map(({ changed_at }) => changed_at.toISOString())).toEqual(instants)
  })
})

describe('position and rows move together', () => {
  // Every place where a load can break off: the engine refuses the n-th call inside a transaction.
  it('a failure at any statement moves nothing of its transaction, and the next load does all', async () => {
    const journal = await aJournal((writer) => {
      startRun(writer, [aBatch()])
      for (const person of ['per_1', 'per_2']) {
        const { record, body } = aPage([wireEvent({ person }), { bad: true }])
        writer.write(record, body)
      }
    })
    const clean = await memory()
    await load({ warehouse: clean, journal })
    const expected = await dumpTables(clean, [])
    let failures = 0
    for (let statement = 1; ; statement += 1) {
      const warehouse = await memoryWarehouse({ threads: 1 })
      const before = await dumpTables(warehouse, [])
      let calls = 0
      let transactions = 0
      const fail = () => {
        calls += 1
        if (calls === statement) throw new Error('the power is out')
      }
      const fragile: Warehouse = {
        path: warehouse.path,
        all: (sql, parameters) => warehouse.all(sql, parameters),
        columns: (sql, parameters) => warehouse.columns(sql, parameters),
        table: (sql, parameters) => warehouse.table(sql, parameters),
        stream: (sql) => warehouse.stream(sql),
        interrupt: () => warehouse.interrupt(),
        close: () => warehouse.close(),
        makeRoomForModels: () => warehouse.makeRoomForModels(),
        transaction: (work) =>
          warehouse.transaction(async () => {
            const result = await work()
            // The last place: everything is merged, nothing is committed.
            fail()
            transactions += 1
            return result
          }),
        async run(sql, parameters) {
          fail()
          await warehouse.run(sql, parameters)
        },
        async append(table, columns) {
          fail()
          await warehouse.append(table, columns)
        },
      }
      const error: unknown = await load({ warehouse: fragile, journal }).catch(
        (thrown: unknown) => thrown,
      )
      if (transactions === 2) {
        warehouse.close()
        break
      }
      failures += 1
      expect(error).toMatchObject({ message: 'the power is out' })
      const { 'ops.runs': runs, ...events } = await dumpTables(warehouse, [])
      const { 'ops.runs': noRuns, ...noEvents } = before
      // The facts come last, in a transaction of their own.
      expect(runs).toEqual(noRuns)
      if (transactions === 0) expect(events).toEqual(noEvents)
      await load({ warehouse, journal })
      expect(await dumpTables(warehouse, [])).toEqual(expected)
      warehouse.close()
    }
    expect(failures).toBeGreaterThan(10)
  })

  it('a failure in the 4th chunk keeps the first three, and the next load adds the rest', async () => {
    const warehouse = await memory()
    const pages = Array.from({ length: 6 }, (_, i) => aPage([wireEvent({ person: `per_${i}` })]))
    const journal = await journalOfPages(temporaryFolder(), [pages])
    let transactions = 0
    const fragile: Warehouse = Object.create(warehouse, {
      transaction: {
        value: (work: () => Promise<unknown>) => {
          transactions += 1
          if (transactions === 4) throw new Error('the power is out')
          return warehouse.transaction(work)
        },
      },
      run: { value: warehouse.run.bind(warehouse) },
      columns: { value: warehouse.columns.bind(warehouse) },
      all: { value: warehouse.all.bind(warehouse) },
      append: { value: warehouse.append.bind(warehouse) },
    }) as Warehouse
    const options = { journal, chunkEvents: 4 }
    await expect(load({ warehouse: fragile, ...options })).rejects.toThrow('the power is out')
    const count = () => warehouse.all('select count(*)::int as n from job_change_events')
    expect(await count()).toEqual([{ n: 4 }])
    expect(await load({ warehouse, ...options })).toMatchObject({ pages: 2, inserted: 2 })
    expect(await count()).toEqual([{ n: 6 }])
  })
})

describe('what does not fit', () => {
  it('is kept with the reason and its place; the rest of the page is loaded', async () => {
    const warehouse = await memory()
    const bad = { ...wireEvent({ person: 'per_2' }), detected_at: 'soon' }
    const worse = { ...wireEvent(), person: null }
    const page = aPage([wireEvent(), bad, wireEvent({ person: 'per_3' }), worse, 'text'], {
      page: 7,
      requestId: 'request_x',
    })
    const journal = await journalOfPages(temporaryFolder(), [[page]])
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 2, rejected: 3 })
    const rejects = await warehouse.all('select * from ops.rejects order by position')
    expect(rejects).toMatchObject([
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
    const warehouse = await memory()
    const odd = [
      { ...wireEvent(), detection_lag_days: 2 ** 31 },
      { ...wireEvent(), changed_at: '0001-01-01T00:00:00+01:00' },
      { ...wireEvent(), detected_at: '9999-12-31T23:59:59-01:00' },
      { ...wireEvent(), changed_at: '0000-06-01' },
    ]
    const journal = await journalOfPages(temporaryFolder(), [[aPage([...odd, wireEvent()])]])
    expect(await load({ warehouse, journal })).toMatchObject({ inserted: 1, rejected: 4 })
    const rejects = await warehouse.all('select reason from ops.rejects order by position')
    const outOfYears = expect.stringContaining('expected a year from 1 to 9999 in UTC') as unknown
    expect(rejects).toEqual([
      { reason: expect.stringMatching(/^detection_lag_days: /) as unknown },
      { reason: outOfYears },
      { reason: outOfYears },
      { reason: outOfYears },
    ])
  })

  it('an event nested 50,000 deep is a reject without its text, wherever the depth is', async () => {
    const warehouse = await memory()
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const wire = JSON.stringify(wireEvent())
    const page = aPage(['DEEP', { ...wireEvent(), title: 'DEEP' }, wireEvent()])
    // An unknown field of any depth is no fault.
    const body = page.body
      .replaceAll('"DEEP"', deep)
      .replace(`,${wire}]`, `,{"extra":${deep},${wire.slice(1)}]`)
    const journal = await journalOfPages(temporaryFolder(), [[{ ...page, body }]])
    expect(await load({ warehouse, journal })).toMatchObject({
      inserted: 1,
      rejected: 2,
      newUnknownFields: ['extra'],
    })
    const rejects = await warehouse.all('select reason, event from ops.rejects order by position')
    const event = 'nested too deeply to be written'
    expect(rejects).toEqual([
      { reason: expect.stringMatching(/^it: /) as unknown, event },
      { reason: expect.stringMatching(/^title: /) as unknown, event },
    ])
  })

  it('an event with 200,000 unknown fields is loaded, and each of them reported', async () => {
    const warehouse = await memory()
    const fields = Array.from({ length: 200_000 }, (_, i) => [`field_${i}`, 1] as const)
    const strange = { ...wireEvent(), ...Object.fromEntries(fields) }
    const journal = await journalOfPages(temporaryFolder(), [[aPage([strange])]])
    const report = await load({ warehouse, journal })
    expect([report.inserted, report.newUnknownFields.length]).toEqual([1, 200_000])
  })

  it('unknown fields are reported once, by the first load that meets them', async () => {
    const warehouse = await memory()
    const strange = { ...wireEvent(), mood: 1, person: { ...wireEvent().person, pronouns: 'x' } }
    const journal = await journalOfPages(temporaryFolder(), [[aPage([strange, strange])]])
    expect((await load({ warehouse, journal })).newUnknownFields.toSorted()).toEqual([
      'mood',
      'person.pronouns',
    ])
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

describe('corrected events, job_change_event_versions', () => {
  const titled = (title: string, detectedAt = START - DAY) => wireEvent({ title, detectedAt })
  const versionsOf = (warehouse: Warehouse) =>
    warehouse.all(
      `select title_current as title, first_seen_at, last_seen_at
       from job_change_event_versions order by first_seen_at, title_current`,
    )

  it('keeps nothing of an event that was received 3 times with the same content', async () => {
    const warehouse = await memory()
    const pages = [0, 1, 2].map((day) => aPage([titled('Engineer')], { at: START + day * DAY }))
    await load({ warehouse, journal: await journalOfPages(temporaryFolder(), [pages]) })
    expect(await versionsOf(warehouse)).toEqual([])
  })

  it('keeps both versions of an event whose title was corrected, with when each was received', async () => {
    const pages = [
      aPage([titled('Enginer')], { at: START }),
      aPage([titled('Enginer')], { at: START + DAY }),
      aPage([titled('Engineer')], { at: START + 2 * DAY }),
    ]
    for (const chunkEvents of [1, 10]) {
      const warehouse = await memory()
      const journal = await journalOfPages(temporaryFolder(), [pages])
      await load({ warehouse, journal, chunkEvents })
      expect(await versionsOf(warehouse)).toEqual([
        { title: 'Enginer', first_seen_at: new Date(START), last_seen_at: new Date(START + DAY) },
        {
          title: 'Engineer',
          first_seen_at: new Date(START + 2 * DAY),
          last_seen_at: new Date(START + 2 * DAY),
        },
      ])
    }
  })
})

describe('ops.changed_people, whom the next build looks at', () => {
  const changedPeople = async (warehouse: Warehouse) =>
    (
      await warehouse.all<{ person: string }>(
        'select distinct profile_id as person from ops.changed_people order by 1',
      )
    ).map(({ person }) => person)

  it('names who has a new event or a corrected one, and nobody whose event was received again as it is', async () => {
    const warehouse = await memory()
    const known = wireEvent({ person: 'per_1' })
    const other = wireEvent({ person: 'per_2' })
    const folder = temporaryFolder()
    await load({ warehouse, journal: await journalOfPages(folder, [[aPage([known, other])]]) })
    expect(await changedPeople(warehouse)).toEqual(['per_1', 'per_2'])

    await warehouse.run('delete from ops.changed_people')
    const corrected = wireEvent({ person: 'per_2', title: 'Chief', detectedAt: START })
    const later = aPage([known, corrected, wireEvent({ person: 'per_3' })], { at: START + DAY })
    await load({ warehouse, journal: await journalOfPages(temporaryFolder(), [[later]]) })
    expect(await changedPeople(warehouse)).toEqual(['per_2', 'per_3'])
  })
})

describe('the ledger, ops.pages', () => {
  const named = (page: number, request: string) => ({
    run_id: 'run_1',
    batch_id: '0001',
    page,
    request_id: request,
  })
  const failed = (
    page: number,
    request: string,
    status: number | null,
    in_doubt: boolean,
  ): JournalRecord => ({
    kind: 'request_failed',
    ...named(page, request),
    requested_at: START,
    at: START + 50,
    status,
    error: 'what went wrong',
    in_doubt,
  })

  it('has one row for each request, in doubt until its answer is known', async () => {
    const warehouse = await memory()
    const journal = openJournal(temporaryFolder(), handClock())
    const writer = journal.writer()
    startRun(writer, [aBatch()])
    for (const request of ['a', 'b', 'c', 'd', 'e']) {
      writer.write({ kind: 'request_sent', ...named(1, request), at: START })
    }
    await writer.append(failed(1, 'b', 503, false))
    await load({ warehouse, journal })
    const ledger = () =>
      warehouse.all(
        'select request_id, outcome, status, credits_used, error from ops.pages order by request_id',
      )
    const unanswered = {
      outcome: 'in_doubt',
      status: null,
      credits_used: 10,
      error: 'no answer was recorded',
    }
    const refused = {
      request_id: 'b',
      outcome: 'failed',
      status: 503,
      credits_used: 0,
      error: 'what went wrong',
    }
    expect(await ledger()).toEqual([
      { request_id: 'a', ...unanswered },
      refused,
      { request_id: 'c', ...unanswered },
      { request_id: 'd', ...unanswered },
      { request_id: 'e', ...unanswered },
    ])

    const page = aPage([wireEvent()], { requestId: 'a', hasMore: true })
    writer.write(page.record, page.body)
    writer.write(failed(1, 'c', null, true))
    const empty = aPage([], { requestId: 'd', page: 2 })
    writer.write(empty.record, empty.body)
    await writer.close()
    await load({ warehouse, journal })
    expect(await ledger()).toEqual([
      { request_id: 'a', outcome: 'received', status: 200, credits_used: 10, error: null },
      refused,
      {
        request_id: 'c',
        outcome: 'in_doubt',
        status: null,
        credits_used: 10,
        error: 'what went wrong',
      },
      { request_id: 'd', outcome: 'received', status: 200, credits_used: 0, error: null },
      { request_id: 'e', ...unanswered },
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
        credits_sent: null,
      },
    ])
  })
})

describe('runs and batches', () => {
  const two = [aBatch(), aBatch({ batch_id: '0002', days_ago: 30, event_types: ['joined'] })]
  const finish = (writer: JournalWriter, batch = aBatch(), at = START + 5_000) =>
    writer.write(
      {
        kind: 'batch_finished',
        run_id: 'run_1',
        batch_id: batch.batch_id,
        at,
        // Only pages that the journal holds can be named here.
        pages: 0,
        events: 120,
        covered_from: batch.days_ago === null ? null : START - batch.days_ago * DAY,
        covered_to: START,
      },
      JSON.stringify(batch),
    )
  const runs = (warehouse: Warehouse) =>
    warehouse.all<Record<string, unknown>>('select * from ops.runs')
  const batches = (warehouse: Warehouse) =>
    warehouse.all<Record<string, unknown>>('select * from ops.batches order by batch_id')

  it('are shown from planned to finished, whether loaded at once or record by record', async () => {
    const steps: ((writer: JournalWriter) => void)[] = [
      (writer) => startRun(writer, two),
      (writer) => finish(writer),
      (writer) => writer.write(ends({ outcome: 'interrupted', exit_code: 130, message: 'stop' })),
      (writer) => writer.write({ kind: 'run_resumed', run_id: 'run_1', at: START + 10_000 }),
      (writer) => finish(writer, two[1]),
      (writer) => writer.write(ends({ at: START + 20_000 })),
    ]
    const stepwise = await memory()
    const journal = openJournal(temporaryFolder(), handClock())
    const writer = journal.writer()
    const outcomes: unknown[] = []
    for (const step of steps) {
      step(writer)
      await load({ warehouse: stepwise, journal })
      const [run] = await runs(stepwise)
      outcomes.push([run?.['outcome'], run?.['exit_code'], run?.['resumed']])
    }
    await writer.close()
    expect(outcomes).toEqual([
      ['unfinished', null, 0],
      ['unfinished', null, 0],
      ['interrupted', 130, 0],
      ['unfinished', null, 1],
      ['unfinished', null, 1],
      ['done', 0, 1],
    ])
    expect(await runs(stepwise)).toMatchObject([
      { run_id: 'run_1', kind: 'run', organizations: 2, batches: 2, message: null },
    ])
    expect(await batches(stepwise)).toMatchObject([
      {
        batch_id: '0001',
        state: 'finished',
        pages: 0,
        events: 120,
        days_ago: null,
        covered_from: null,
      },
      { batch_id: '0002', state: 'finished', days_ago: 30, event_types: 'joined' },
    ])
    expect(await stepwise.all('select * from ops.coverage order by event_types')).toEqual([
      {
        organization_id: 'org_1',
        event_types: 'joined',
        covered_from: new Date(START - 30 * DAY),
        covered_to: new Date(START),
      },
      {
        organization_id: 'org_1',
        event_types: 'joined,left,title_change',
        covered_from: null,
        covered_to: new Date(START),
      },
    ])
    const atOnce = await memory()
    await load({ warehouse: atOnce, journal })
    expect(await dumpTables(atOnce)).toEqual(await dumpTables(stepwise))
  })

  it('a split batch stays as split, its parts are planned; companies quarantined are named', async () => {
    const warehouse = await memory()
    const whole = aBatch({ organizations: ['a', 'b', 'c'].map((value) => ({ by: 'url', value })) })
    const part = (number: number, values: string[]) =>
      aBatch({
        batch_id: `0001.${number}`,
        organizations: values.map((value) => ({ by: 'url', value })),
      })
    const refuse = (at: number, reason: string): JournalRecord => ({
      kind: 'organization_quarantined',
      run_id: 'run_1',
      at,
      organization: { by: 'url', value: 'c' },
      reason,
    })
    const journal = await aJournal((writer) => {
      startRun(writer, [whole])
      writer.write(refuse(START, 'not tracked'))
      writer.write(
        { kind: 'batch_split', run_id: 'run_1', batch_id: '0001', at: START + 1, reason: 'x' },
        JSON.stringify({ batch: whole, instead: [part(1, ['a']), part(2, ['b'])] }),
      )
      finish(writer, part(1, ['a']))
    })
    await load({ warehouse, journal })
    const states = (await batches(warehouse)).map((row) => [
      row['batch_id'],
      row['state'],
      row['organizations'],
    ])
    expect(states).toEqual([
      ['0001', 'split', 3],
      ['0001.1', 'finished', 1],
      ['0001.2', 'planned', 1],
    ])
    expect(await warehouse.all('select organization_id from ops.coverage')).toEqual([
      { organization_id: 'a' },
    ])
    const aside = 'from ops.organizations_quarantined'
    expect(await warehouse.all(aside)).toEqual([
      { organization_id: 'c', reason: 'not tracked', quarantined_at: new Date(START) },
    ])
    await segment(journal, (writer) => writer.write(refuse(START + DAY, 'still not tracked')))
    await load({ warehouse, journal })
    expect(await warehouse.all(aside)).toEqual([
      { organization_id: 'c', reason: 'still not tracked', quarantined_at: new Date(START + DAY) },
    ])
  })

  it('shows the end of a run that is about to be closed, and the same once it is', async () => {
    const warehouse = await memory()
    const journal = await aJournal((writer) => startRun(writer, two))
    await load({ warehouse, journal, closing: ends({ outcome: 'budget', exit_code: 4 }) })
    const before = await dumpTables(warehouse)
    expect(await runs(warehouse)).toMatchObject([{ outcome: 'budget', exit_code: 4 }])
    await segment(journal, (writer) => writer.write(ends({ outcome: 'budget', exit_code: 4 })))
    await load({ warehouse, journal })
    expect(await dumpTables(warehouse)).toEqual(before)
  })

  it('snapshots are projected, counts over 2^53 included', async () => {
    const warehouse = await memory()
    const journal = await aJournal((writer) =>
      writer.write({
        kind: 'snapshot_published',
        run_id: null,
        at: START,
        snapshot_id: 'snapshot_1',
        destination: 's3://bucket/prefix',
        tables: 9,
        files: 12,
        new_files: 3,
        rows: 2 ** 40,
        bytes: 2 ** 52,
        new_bytes: 0,
      }),
    )
    await load({ warehouse, journal })
    await load({ warehouse, journal })
    expect(await warehouse.all('select * from ops.snapshots')).toEqual([
      {
        snapshot_id: 'snapshot_1',
        run_id: null,
        destination: 's3://bucket/prefix',
        published_at: new Date(START),
        tables: 9,
        files: 12,
        new_files: 3,
        row_count: 2n ** 40n,
        bytes: 2n ** 52n,
        new_bytes: 0n,
      },
    ])
  })

  it('a journal written by a newer version is refused, and nothing moves', async () => {
    const warehouse = await memory()
    const journal = await aJournal((writer) => {
      startRun(writer, two)
      writer.write({ kind: 'something_new' } as unknown as JournalRecord)
    })
    await expect(load({ warehouse, journal })).rejects.toThrow('unknown kind "something_new"')
    expect(await warehouse.all('select * from ops.journal_positions')).toEqual([])
  })
})

describe('replay', () => {
  it('gives the warehouse that was loaded night by night, in any chunk size, in a file', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'journal'))
    const clock = handClock()
    const journal = openJournal(join(folder, 'journal'), clock)
    const path = join(folder, 'jobtide.duckdb')
    for (let night = 0; night < 5; night += 1) {
      clock.nowMs = START + night * DAY
      const runId = `run_${night}`
      const batches = [aBatch({ days_ago: night === 0 ? null : 2 })]
      await segment(journal, (writer) => {
        startRun(writer, batches, runId, clock.nowMs)
        const people = Array.from({ length: 30 }, (_, i) => `per_${(i * 7 + night * 11) % 60}`)
        const events = people.map((person, i) =>
          wireEvent({
            person,
            type: (['joined', 'left', 'title_change'] as const)[(i + night) % 3]!,
            changedAt: START - (i % 10) * DAY,
            detectedAt: clock.nowMs - ((i * night) % 5) * DAY,
            name: `Name ${(i * night) % 4}`,
          }),
        )
        const odd = night === 3 ? [{ ...wireEvent(), mood: 1 }, { bad: true }] : []
        const { record, body } = aPage([...events, ...odd], { runId, at: clock.nowMs })
        writer.write(record, body)
        writer.write(
          {
            kind: 'batch_finished',
            run_id: runId,
            batch_id: '0001',
            at: clock.nowMs,
            pages: 1,
            events: 30,
            covered_from: night === 0 ? null : clock.nowMs - 2 * DAY,
            covered_to: clock.nowMs,
          },
          JSON.stringify(batches[0]),
        )
        writer.write(ends({ run_id: runId, at: clock.nowMs }))
      })
      const warehouse = await openWarehouse({ path, mode: 'write' })
      await load({ warehouse, journal, chunkEvents: 1 + night * 20 })
      warehouse.close()
    }
    const nightly = await openWarehouse({ path, mode: 'write' })
    const expected = await dumpTables(nightly, ['ops.checks'])
    nightly.close()
    renameSync(path, `${path}.old`)
    for (const chunkEvents of [1, 45, 100_000]) {
      const replayed = await memory()
      await load({ warehouse: replayed, journal, chunkEvents })
      expect(await dumpTables(replayed, ['ops.checks'])).toEqual(expected)
    }
  })
})

describe('eventKey', () => {
  const keyOf = (fields: Parameters<typeof wireEvent>[0], change: Record<string, unknown> = {}) => {
    const event = parseEvent({ ...wireEvent(fields), ...change })
    if (typeof event === 'string') throw new Error(event)
    return eventKey(event)
  }

  it('is 32 hexadecimal digits and never changes between versions', () => {
    expect(keyOf({})).toMatch(/^[0-9a-f]{32}$/)
    expect(keyOf({ changedAt: 0 })).toBe('e4e0eb7b73664782933058a5e67c8bc0')
  })

  it('is the same for one instant written in four ways, and for other attributes', () => {
    const at = Date.parse('2026-01-01T00:00:00Z')
    const spellings = [
      '2026-01-01T00:00:00Z',
      '2026-01-01',
      '2026-01-01T01:00:00+01:00',
      '2026-01-01 00:00:00.000',
    ]
    const keys = spellings.map((changed_at) => keyOf({ changedAt: at }, { changed_at }))
    expect(new Set([...keys, keyOf({ changedAt: at, name: 'B', title: 'C' })]).size).toBe(1)
  })

  it('tells person, organisation, type and time apart, and titles of a title_change only', () => {
    const other = [
      keyOf({}),
      keyOf({ person: 'per_2' }),
      keyOf({ organization: 'org_2' }),
      keyOf({ type: 'left' }),
      keyOf({ changedAt: 1 }),
      keyOf({ type: 'title_change', title: 'A' }),
      keyOf({ type: 'title_change', title: 'B' }),
      keyOf({ person: 'per_1","org_1', organization: 'x' }),
      keyOf({ person: 'per_1', organization: '"org_1","x' }),
    ]
    expect(new Set(other).size).toBe(other.length)
    expect(keyOf({ title: 'A' })).toBe(keyOf({ title: 'B' }))
    const untitled = keyOf({ type: 'title_change', title: null })
    expect(keyOf({ type: 'title_change', title: '' })).toBe(untitled)
  })
})
