import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addInterval, readHistory, type CoveredInterval } from '../../src/journal/history.ts'
import type { JournalRecord, RunFinished, SliceRecord } from '../../src/journal/records.ts'
import { RUN, aJournal, aPage, aRequest, aSlice, aStart } from './journal-fixture.ts'

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

const started = [aStart(), [aSlice()]] as const

function failed(number: number, inDoubt: boolean): JournalRecord {
  return {
    kind: 'request_failed',
    run_id: RUN,
    slice_id: 's1',
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

function sliceFinished(
  sliceId: string,
  from: number | null,
  to: number,
  runId = RUN,
): JournalRecord {
  return {
    kind: 'slice_finished',
    run_id: runId,
    slice_id: sliceId,
    at: to,
    pages: 1,
    events: 1,
    covered_from: from,
    covered_to: to,
  }
}

describe('a run', () => {
  it('begins with its slices planned and nothing bought', async () => {
    const slices = [aSlice(), aSlice({ slice_id: 's2' })]
    const history = await historyOf([aStart(), slices])
    const run = history.runs.get(RUN)
    expect([...(run?.slices.keys() ?? [])]).toEqual(['s1', 's2'])
    expect(run).toMatchObject({
      pages: 0,
      events: 0,
      creditsCommitted: 0,
      finished: null,
      resumed: 0,
    })
    expect(run?.slices.get('s1')).toEqual({
      slice: slices[0],
      state: 'planned',
      pages: 0,
      events: 0,
      firstPageAt: null,
      hasMore: true,
      read: [],
    })
  })

  it('adds up 3 pages: credits, events, and where its slice goes on', async () => {
    const run = await runOf(aPage(1), aPage(2), aPage(3, { events: 7, has_more: false }))
    expect(run).toMatchObject({ pages: 3, events: 107, creditsCommitted: 30 })
    expect(run.slices.get('s1')).toMatchObject({
      pages: 3,
      events: 107,
      firstPageAt: 1_001,
      hasMore: false,
    })
  })

  it('counts an empty page with the 0 credits it was charged', async () => {
    const run = await runOf(aPage(1, { events: 0, credits_used: 0, has_more: false }))
    expect(run).toMatchObject({ pages: 1, creditsCommitted: 0 })
  })

  it('pays for a page that came twice, and counts it once in its slice', async () => {
    const run = await runOf(aPage(1), aPage(2), aPage(2, { request_id: 'again', server_at: 9 }))
    expect(run).toMatchObject({ pages: 3, creditsCommitted: 30 })
    expect(run.slices.get('s1')).toMatchObject({ pages: 2, events: 100, firstPageAt: 1_001 })
  })

  it('counts 10 for each request without an answer, and names them', async () => {
    const run = await runOf(aRequest(1), aPage(1), aRequest(2), aRequest(3))
    expect([...run.unanswered]).toEqual(['r2', 'r3'])
    expect(run.creditsCommitted).toBe(30)
  })

  it('counts 10 for a failure in doubt and 0 for one that was certainly free', async () => {
    const run = await runOf(aRequest(1), failed(1, true), aRequest(2), failed(2, false))
    expect(run.unanswered.size).toBe(0)
    expect(run.creditsCommitted).toBe(10)
  })

  it('keeps its counts but no slices once it is done, and its slices while it can be taken up', async () => {
    const read = [sliceFinished('s1', null, 5)] as const
    const done = await runOf(...read, finished({ outcome: 'done' }))
    expect([done.slicesPlanned, done.slicesDone, done.slices.size]).toEqual([1, 1, 0])
    const stopped = await runOf(...read, finished({ outcome: 'budget' }))
    expect([stopped.slicesPlanned, stopped.slicesDone, stopped.slices.size]).toEqual([1, 1, 1])
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

  it('replaces a split slice by its parts', async () => {
    const instead = [aSlice({ slice_id: 's1a' }), aSlice({ slice_id: 's1b' })]
    const run = await runOf(
      aPage(1),
      [
        { kind: 'slice_split', run_id: RUN, slice_id: 's1', at: 5, reason: 'too wide' },
        { slice: aSlice(), instead },
      ],
      aPage(1, { slice_id: 's1b' }),
    )
    expect([...run.slices].map(([id, { state, pages }]) => [id, state, pages])).toEqual([
      ['s1', 'split', 1],
      ['s1a', 'planned', 0],
      ['s1b', 'planned', 1],
    ])
  })

  it('is kept apart from another one with slices of the same names', async () => {
    const other = '01JD0000000000000000000001'
    const history = await historyOf(started, [aStart({ run_id: other }), [aSlice()]], aPage(1))
    expect(history.runs.get(RUN)?.pages).toBe(1)
    expect(history.runs.get(other)?.pages).toBe(0)
  })
})

describe('what runs leave behind', () => {
  it('is the coverage of each organisation of a finished slice, over all runs', async () => {
    const both: SliceRecord = aSlice({
      organizations: [
        { by: 'id', value: 'org_1' },
        { by: 'url', value: 'acme' },
      ],
    })
    const later = '01JD0000000000000000000001'
    const { coverage, runs } = await historyOf(
      [aStart(), [both]],
      sliceFinished('s1', 100, 200),
      [aStart({ run_id: later }), [aSlice()]],
      sliceFinished('s1', 150, 300, later),
    )
    const eventTypes = both.event_types
    expect(runs.get(RUN)?.slices.get('s1')?.state).toBe('finished')
    expect(coverage.get('org_1')).toEqual([{ eventTypes, from: 100, to: 300 }])
    expect(coverage.get('acme')).toEqual([{ eventTypes, from: 100, to: 200 }])
  })

  it('is nothing for a slice that was only read in part', async () => {
    const { coverage } = await historyOf(started, aPage(1))
    expect(coverage.size).toBe(0)
  })

  it('is the last reason for a company set aside, and the latest time the service named', async () => {
    const paused = (notBefore: number) =>
      ({ kind: 'paused', run_id: RUN, at: 1, not_before: notBefore, reason: '503' }) as const
    const aside = (at: number, reason: string) =>
      ({
        kind: 'organization_set_aside',
        run_id: RUN,
        at,
        organization: { by: 'url', value: 'acme' },
        reason,
      }) as const
    const history = await historyOf(started, aside(1, 'a'), aside(2, 'b'), paused(500), paused(400))
    expect(history.setAside.get('acme')).toEqual({ at: 2, reason: 'b' })
    expect(history.notBefore).toBe(500)
  })

  it('is empty for a journal without records', () => {
    expect(readHistory(aJournal())).toEqual({
      runs: new Map(),
      coverage: new Map(),
      setAside: new Map(),
      notBefore: 0,
      serverAheadMs: 0,
    })
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

  it('because a slice was never planned says that a segment is missing', async () => {
    await expect(historyOf(started, aPage(1, { slice_id: 's9' }))).rejects.toMatchObject({
      exitCode: 9,
      message: `the journal has records of slice s9 of run ${RUN} but not its plan`,
    })
  })
})

describe('addInterval', () => {
  const all = ['joined', 'left', 'title_change'] as const
  const intervals = fc.array(
    fc.record({
      eventTypes: fc.constantFrom(all, ['joined'] as const),
      from: fc.option(fc.nat(40), { nil: null, freq: 8 }),
      length: fc.nat(12),
    }),
    { maxLength: 25 },
  )

  /** Whether each half minute of -1 to 60 is covered. */
  function points(list: readonly CoveredInterval[], types: string): boolean[] {
    return Array.from({ length: 122 }, (_, i) => i / 2 - 1).map((at) =>
      list.some(
        ({ eventTypes, from, to }) =>
          eventTypes.join() === types && (from ?? Number.NEGATIVE_INFINITY) <= at && at <= to,
      ),
    )
  }

  it('covers what its intervals cover and nothing else, sorted and apart, for any of them in any order', () => {
    fc.assert(
      fc.property(intervals, (drawn) => {
        const added = drawn.map(({ eventTypes, from, length }) => ({
          eventTypes,
          from,
          to: (from ?? 0) + length,
        }))
        let joined: CoveredInterval[] = []
        for (const interval of added) joined = addInterval(joined, interval)
        for (const types of [all.join(), 'joined']) {
          expect(points(joined, types)).toEqual(points(added, types))
          const same = joined.filter(({ eventTypes }) => eventTypes.join() === types)
          same.slice(1).forEach((next, i) => {
            expect(next.from ?? Number.NEGATIVE_INFINITY).toBeGreaterThan(same[i]?.to ?? 0)
          })
        }
      }),
      { numRuns: 500 },
    )
  })

  it('does not change the list it was given', () => {
    const known = [{ eventTypes: all, from: 1, to: 5 }]
    addInterval(known, { eventTypes: all, from: 3, to: 9 })
    expect(known).toEqual([{ eventTypes: all, from: 1, to: 5 }])
  })

  it.each([
    ['touch', 5, 9, [[1, 9]]],
    ['overlap', 3, 9, [[1, 9]]],
    [
      'are apart by 1 ms',
      6,
      9,
      [
        [1, 5],
        [6, 9],
      ],
    ],
    ['lie inside', 2, 3, [[1, 5]]],
    ['reach back to the beginning', null, 3, [[null, 5]]],
  ])('of [1, 5] and one that they %s', (_how, from, to, expected) => {
    const joined = addInterval([{ eventTypes: all, from: 1, to: 5 }], { eventTypes: all, from, to })
    expect(joined.map((interval) => [interval.from, interval.to])).toEqual(expected)
  })
})
