import { describe, expect, it } from 'vitest'
import { readHistory } from '../../src/journal/read-history.ts'
import { canonicalName } from '../../src/journal/history.ts'
import type { JournalRecord, RunFinished, BatchRecord } from '../../src/journal/records.ts'
import { newBatchHistory } from '../../src/journal/batch-history.ts'
import { monthlyCredits } from '../../src/journal/spending.ts'
import { RUN, aJournal, aPage, aRequest, aBatch, aStart } from './journal-fixture.ts'

type Entry = JournalRecord | readonly [JournalRecord, unknown]

/** The history of a journal with these records; a payload is given as JSON. */
async function historyOf(...entries: readonly Entry[]) {
  const journal = aJournal()
  const writer = journal.writer()
  for (const entry of entries) {
    const [record, payload] = 'kind' in entry ? [entry] : entry
    writer.write(record, payload === undefined ? undefined : JSON.stringify(payload))
  }
  await writer.close()
  return readHistory(journal)
}

async function runOf(...entries: readonly Entry[]) {
  const run = (await historyOf(started, ...entries)).runs.get(RUN)
  if (run === undefined) throw new Error('no run')
  return run
}

const started = [aStart(), [aBatch()]] as const

function failed(number: number, inDoubt: boolean): JournalRecord {
  return {
    kind: 'request_failed',
    run_id: RUN,
    batch_id: 's1',
    page: number,
    request_id: `r${number}`,
    requested_at: number,
    at: number,
    status: inDoubt ? null : 500,
    error: 'x',
    in_doubt: inDoubt,
  }
}

function finished(fields: Partial<RunFinished> = {}): RunFinished {
  const outcome = 'budget'
  return {
    kind: 'run_finished',
    run_id: RUN,
    at: 9,
    outcome,
    exit_code: 4,
    message: null,
    ...fields,
  }
}

function batchFinished(
  batchId: string,
  from: number | null,
  to: number,
  runId = RUN,
): JournalRecord {
  return {
    kind: 'batch_finished',
    run_id: runId,
    batch_id: batchId,
    at: to,
    // Of the pages that it was read by, losses.test.ts knows.
    pages: 0,
    events: 0,
    covered_from: from,
    covered_to: to,
  }
}

describe('a run', () => {
  it('begins with its batches planned and nothing bought', async () => {
    const batches = [aBatch(), aBatch({ batch_id: 's2' })]
    const history = await historyOf([aStart(), batches])
    const run = history.runs.get(RUN)
    expect([...(run?.batches.keys() ?? [])]).toEqual(['s1', 's2'])
    expect(run).toMatchObject({
      pages: 0,
      events: 0,
      creditsCommitted: 0,
      finished: null,
      resumed: 0,
    })
    expect(run?.batches.get('s1')).toEqual(newBatchHistory(aBatch()))
  })

  it('adds up 3 pages: credits, events, and where its batch goes on', async () => {
    const run = await runOf(aPage(1), aPage(2), aPage(3, { events: 7, has_more: false }))
    expect(run).toMatchObject({ pages: 3, events: 107, creditsCommitted: 30 })
    expect(run.batches.get('s1')).toMatchObject({
      pages: 3,
      events: 107,
      firstPageAt: 1_001,
      hasMore: false,
    })
  })

  it('counts no page and 0 credits for an empty one', async () => {
    const run = await runOf(aPage(1, { events: 0, credits_used: 0, has_more: false }))
    expect(run).toMatchObject({ pages: 0, creditsCommitted: 0 })
  })

  it('pays for a page that came twice, and counts it once in its batch', async () => {
    const run = await runOf(aPage(1), aPage(2), aPage(2, { request_id: 'again', server_at: 9 }))
    expect(run).toMatchObject({ pages: 3, creditsCommitted: 30 })
    expect(run.batches.get('s1')).toMatchObject({ pages: 2, events: 100, firstPageAt: 1_001 })
  })

  it('counts 10 for each request without an answer, and names them', async () => {
    const run = await runOf(aRequest(1), aPage(1), aRequest(2), aRequest(3))
    expect([...run.unanswered]).toEqual([
      ['r2', 2],
      ['r3', 3],
    ])
    expect(run.creditsCommitted).toBe(30)
  })

  it('counts 10 for a failure in doubt and 0 for one that was certainly free', async () => {
    const run = await runOf(aRequest(1), failed(1, true), aRequest(2), failed(2, false))
    expect(run.unanswered.size).toBe(0)
    expect(run.creditsCommitted).toBe(10)
  })

  it('keeps its counts but no batches once it is done, and its batches while it can be resumed', async () => {
    const read = [batchFinished('s1', null, 5)] as const
    const done = await runOf(...read, finished({ outcome: 'done' }))
    expect([done.batchesPlanned, done.batchesDone, done.batches.size]).toEqual([1, 1, 0])
    const stopped = await runOf(...read, finished({ outcome: 'budget' }))
    expect([stopped.batchesPlanned, stopped.batchesDone, stopped.batches.size]).toEqual([1, 1, 1])
  })

  it('tells how far the service is ahead of this machine at its last page', async () => {
    const history = await historyOf(
      started,
      aPage(1, { at: 5_000, server_at: 5_000 }),
      aPage(2, { at: 6_000, server_at: 96_000 }),
    )
    expect(history.serverAheadMs).toBe(90_000)
  })

  it('is open again after it was resumed', async () => {
    const resumed = { kind: 'run_resumed', run_id: RUN, at: 10 } as const
    expect(await runOf(finished())).toMatchObject({ finished: finished(), resumed: 0 })
    expect(await runOf(finished(), resumed)).toMatchObject({ finished: null, resumed: 1 })
  })

  it('begins a new budget at its last clean stop, and not at a kill', async () => {
    const stopped = await runOf(aPage(1), aPage(2), finished(), aPage(3))
    expect(stopped.creditsCommitted - stopped.creditsAtLastStop).toBe(10)
    const killed = await runOf(aPage(1), aPage(2), aPage(3))
    expect(killed.creditsCommitted - killed.creditsAtLastStop).toBe(30)
  })

  it('charges a request that an early kill left unanswered to the budget before the stop, not to the one after', async () => {
    const resumed = { kind: 'run_resumed', run_id: RUN, at: 10 } as const
    const run = await runOf(aRequest(1, { request_id: 'killed' }), resumed, aPage(1), finished())
    expect(run.creditsCommitted).toBe(20)
    expect(run.creditsCommitted - run.creditsAtLastStop).toBe(0)
  })

  it('replaces a split batch by its parts', async () => {
    const instead = [aBatch({ batch_id: 's1a' }), aBatch({ batch_id: 's1b' })]
    const run = await runOf(
      aPage(1),
      [
        { kind: 'batch_split', run_id: RUN, batch_id: 's1', at: 5, reason: 'too wide' },
        { batch: aBatch(), instead },
      ],
      aPage(1, { batch_id: 's1b' }),
    )
    expect([...run.batches].map(([id, { state, pages }]) => [id, state, pages])).toEqual([
      ['s1', 'split', 1],
      ['s1a', 'planned', 0],
      ['s1b', 'planned', 1],
    ])
  })

  it('is kept apart from another one with batches of the same names', async () => {
    const other = '01JD0000000000000000000001'
    const history = await historyOf(started, [aStart({ run_id: other }), [aBatch()]], aPage(1))
    expect(history.runs.get(RUN)?.pages).toBe(1)
    expect(history.runs.get(other)?.pages).toBe(0)
  })
})

describe('what runs leave behind', () => {
  it('is the coverage of each organisation of a finished batch, over all runs', async () => {
    const both: BatchRecord = aBatch({
      organizations: [
        { by: 'id', value: 'org_1' },
        { by: 'url', value: 'acme' },
      ],
    })
    const later = '01JD0000000000000000000001'
    const { coverage, runs } = await historyOf(
      [aStart(), [both]],
      batchFinished('s1', 100, 200),
      [aStart({ run_id: later }), [aBatch()]],
      batchFinished('s1', 150, 300, later),
    )
    const eventTypes = both.event_types
    expect(runs.get(RUN)?.batches.get('s1')?.state).toBe('finished')
    expect(coverage.get('org_1')).toEqual([{ eventTypes, from: 100, to: 300 }])
    expect(coverage.get('acme')).toEqual([{ eventTypes, from: 100, to: 200 }])
  })

  it('is nothing for a batch that was only read in part', async () => {
    const { coverage } = await historyOf(started, aPage(1))
    expect(coverage.size).toBe(0)
  })

  it('is the last reason for a company quarantined, and the latest time the service named', async () => {
    const paused = (notBefore: number) =>
      ({ kind: 'paused', run_id: RUN, at: 1, not_before: notBefore, reason: '503' }) as const
    const aside = (at: number, reason: string) =>
      ({
        kind: 'organization_quarantined',
        run_id: RUN,
        at,
        organization: { by: 'url', value: 'acme' },
        reason,
      }) as const
    const history = await historyOf(started, aside(1, 'a'), aside(2, 'b'), paused(500), paused(400))
    expect(history.quarantined.get('acme')).toEqual({ at: 2, reason: 'b' })
    expect(history.notBefore).toBe(500)
  })

  it('is empty for a journal without records', () => {
    const { runs, coverage, seen, spending, notBefore } = readHistory(aJournal())
    expect([runs.size, coverage.size, seen.size, spending.size, notBefore]).toEqual([0, 0, 0, 0, 0])
  })
})

const learnt = (name: string, id: string): JournalRecord => ({
  kind: 'organization_learnt',
  run_id: RUN,
  at: 3,
  organization: { by: 'url', value: name },
  organization_id: id,
})

describe('an organisation asked for by URL whose id becomes known', () => {
  const bySlug: BatchRecord = aBatch({ organizations: [{ by: 'url', value: 'acme' }] })
  const begin = [aStart(), [bySlug]] as const
  const page = aPage(1, { has_more: false, seen: [['org_9', 50, 40]] })

  it.each([
    ['before the batch ends', [page, learnt('acme', 'org_9'), batchFinished('s1', 100, 200)]],
    ['after the batch ended', [page, batchFinished('s1', 100, 200), learnt('acme', 'org_9')]],
  ])('has coverage and sightings under its id alone, learnt %s', async (_when, records) => {
    const history = await historyOf(begin, ...records)
    expect([...history.coverage]).toEqual([
      ['org_9', [{ eventTypes: bySlug.event_types, from: 100, to: 200 }]],
    ])
    expect([...history.seen.keys()]).toEqual(['org_9'])
    expect(history.seen.get('org_9')).toMatchObject({ total: 50, lastAt: 1 })
    expect(history.seen.get('org_9')?.days).toBeCloseTo(7)
    expect(history.seen.get('org_9')?.events).toBeCloseTo(40)
    expect(canonicalName(history.ids, { by: 'url', value: 'acme' })).toBe('org_9')
    expect(canonicalName(history.ids, { by: 'id', value: 'acme' })).toBe('acme')
  })

  it('joins what is known of the id already', async () => {
    const other = '01JD0000000000000000000001'
    const history = await historyOf(
      begin,
      batchFinished('s1', 100, 200),
      [aStart({ run_id: other }), [aBatch({ organizations: [{ by: 'id', value: 'org_9' }] })]],
      batchFinished('s1', 150, 300, other),
      learnt('acme', 'org_9'),
    )
    expect(history.coverage.get('org_9')).toMatchObject([{ from: 100, to: 300 }])
    expect(history.coverage.size).toBe(1)
  })
})

describe('what was looked for', () => {
  it('counts 7 days for a batch whose page says whose 50 events it holds', async () => {
    const { seen } = await historyOf(
      started,
      aPage(1, { seen: [['org_1', 50, 50]] }),
      batchFinished('s1', 1, 2),
    )
    expect(seen.get('org_1')).toMatchObject({ total: 50 })
    expect(seen.get('org_1')?.days).toBeCloseTo(7)
  })

  it('counts 7 days without an event for a batch whose only page is empty', async () => {
    const empty = aPage(1, { events: 0, credits_used: 0, has_more: false })
    const { seen } = await historyOf(started, empty, batchFinished('s1', 1, 2))
    expect(seen.get('org_1')).toMatchObject({ total: 0, days: 7 })
  })
})

describe('a company that was quarantined', () => {
  const aside: JournalRecord = {
    kind: 'organization_quarantined',
    run_id: RUN,
    at: 50,
    organization: { by: 'id', value: 'org_1' },
    reason: 'not tracked',
  }

  it('is so no longer once a batch with it was read', async () => {
    const { quarantined } = await historyOf(started, aside, batchFinished('s1', 1, 60))
    expect(quarantined.size).toBe(0)
  })

  it('stays so when the batch was read before', async () => {
    const { quarantined } = await historyOf(started, batchFinished('s1', 1, 40), aside)
    expect(quarantined.get('org_1')).toEqual({ at: 50, reason: 'not tracked' })
  })
})

describe('spending', () => {
  const day = (text: string) => Date.parse(`${text}T12:00:00Z`)

  it('is counted on the UTC day of the request, for each pipeline: charged, in doubt, unexpected', async () => {
    const first = day('2026-11-30')
    const second = day('2026-12-01')
    const { spending } = await historyOf(
      [aStart({ at: first }), [aBatch()]],
      aRequest(1, { at: first }),
      aPage(1, { requested_at: first, at: second, seen: [] }),
      aRequest(2, { at: second }),
      aPage(2, { requested_at: second, at: second, credits_used: 20 }),
      aRequest(3, { at: second }),
      { ...failed(3, true), requested_at: second, at: second } as JournalRecord,
      aRequest(4, { at: second }),
    )
    expect([...spending.values()]).toEqual([
      {
        day: '2026-11-30',
        pipeline: 'nightly',
        requests: 1,
        pages: 1,
        events: 50,
        charged: 10,
        inDoubt: 0,
        unexpected: 0,
      },
      {
        day: '2026-12-01',
        pipeline: 'nightly',
        requests: 3,
        pages: 1,
        events: 50,
        charged: 20,
        inDoubt: 20,
        unexpected: 1,
      },
    ])
    expect([...monthlyCredits(spending, 'nightly')]).toEqual([
      ['2026-11', 10],
      ['2026-12', 40],
    ])
    expect(monthlyCredits(spending, 'weekly').size).toBe(0)
  })
})

describe('a quote', () => {
  it('and the run that goes on with it have one budget', async () => {
    const run = await runOf(aPage(1), finished({ outcome: 'sampled' }), aPage(2))
    expect(run.creditsCommitted - run.creditsAtLastStop).toBe(20)
  })
})

describe('a journal that cannot be understood', () => {
  it('because of a kind of record from the future is refused with what to do', async () => {
    const future = { kind: 'page_compressed', run_id: RUN, at: 1 } as unknown as JournalRecord
    await expect(historyOf(started, future)).rejects.toMatchObject({
      exitCode: 2,
      message:
        'the journal holds a record of the unknown kind "page_compressed": it was written by a newer Jobtide',
      hint: 'Use that version of Jobtide for this data directory.',
    })
  })

  it('because a run has no beginning says that a segment is missing', async () => {
    await expect(historyOf(aPage(1))).rejects.toMatchObject({
      exitCode: 9,
      message: `the journal has records of run ${RUN} but not its beginning`,
    })
  })

  it('because a batch was never planned says that a segment is missing', async () => {
    await expect(historyOf(started, aPage(1, { batch_id: 's9' }))).rejects.toMatchObject({
      exitCode: 9,
      message: `the journal has records of batch s9 of run ${RUN} but not its plan`,
    })
  })
})
