import { describe, expect, it } from 'vitest'
import { canonicalName } from '../../src/journal/history.ts'
import { pausedUntil } from '../../src/journal/pauses.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import type { PageReceived, RunFinished } from '../../src/journal/records.ts'
import { monthlyCredits, noCounts } from '../../src/journal/spending.ts'
import { DAY } from '../../src/support/units.ts'
import {
  RUN,
  aBatch,
  aFinish,
  aJournal,
  aPage,
  aRequest,
  aStart,
  writeRecords,
  type Entry,
} from './journal-fixture.ts'

const OTHER = `${RUN.slice(0, -1)}1`

async function historyOf(...entries: readonly Entry[]) {
  const journal = aJournal()
  await writeRecords(journal, entries)
  return readHistory(journal)
}

async function runOf(...entries: readonly Entry[]) {
  const run = (await historyOf(started, ...entries)).runs.get(RUN)
  if (run === undefined) throw new Error('no run')
  return run
}

const started: Entry = [aStart(), [aBatch()]]
const page = (number: number, fields: Partial<PageReceived> = {}): Entry[] => {
  const record = aPage(number, fields)
  const { batch_id, request_id, requested_at: at } = record
  return [[aRequest(number, { batch_id, request_id, at })], [record]]
}
const failed = (number: number, in_doubt: boolean, at = number): Entry => [
  {
    kind: 'request_failed',
    run_id: RUN,
    batch_id: 's1',
    page: number,
    request_id: `r${number}`,
    requested_at: at,
    at,
    status: in_doubt ? null : 500,
    error: 'x',
    in_doubt,
  },
]
const sent = (number: number, at = number): Entry => [aRequest(number, { at })]
const stopped = (outcome: RunFinished['outcome'] = 'budget'): Entry => [
  { kind: 'run_finished', run_id: RUN, at: 9, outcome, exit_code: 4, message: null },
]
const resumed: Entry = [{ kind: 'run_resumed', run_id: RUN, at: 10 }]
// losses.test.ts covers the pages of a batch.
const finished = (covered_from: number | null, covered_to: number, run_id = RUN): Entry => [
  aFinish({ run_id, at: covered_to, covered_from, covered_to }),
]
const refused = (at: number, reason = 'not tracked'): Entry => [
  {
    kind: 'organization_quarantined',
    run_id: RUN,
    at,
    organization: { by: 'id', value: 'org_1' },
    reason,
  },
]
const learnt: Entry = [
  {
    kind: 'organization_learnt',
    run_id: RUN,
    at: 3,
    organization: { by: 'url', value: 'acme' },
    organization_id: 'org_9',
  },
]

describe('a run', () => {
  it('pays twice for a page that came twice, and counts it once in its batch', async () => {
    const again = page(2, { request_id: 'again', server_at: 9 })
    const run = await runOf(...page(1), ...page(2), ...again)
    expect(run).toMatchObject({ pages: 3, creditsCommitted: 30 })
    expect(run.batches.get('s1')).toMatchObject({ pages: 2, events: 100 })
  })

  it('counts 10 for a request without an answer or in doubt, and 0 for a failure that was certainly free', async () => {
    const killed = await runOf(...page(1), sent(2), sent(3))
    expect(killed).toMatchObject({ unanswered: 2, creditsCommitted: 30 })
    const faulty = await runOf(sent(1), failed(1, true), sent(2), failed(2, false))
    expect(faulty).toMatchObject({ unanswered: 0, creditsCommitted: 10 })
  })

  it('keeps its counts but no batches once it is done, and keeps its batches while it can be resumed', async () => {
    for (const [outcome, batches] of [['done', 0] as const, ['budget', 1] as const]) {
      const run = await runOf(finished(null, 5), stopped(outcome))
      expect([run.batchesPlanned, run.batchesDone, run.batches.size]).toEqual([1, 1, batches])
    }
  })

  it('is open again after it was resumed', async () => {
    expect(await runOf(stopped())).toMatchObject({ finished: stopped()[0], resumed: 0 })
    expect(await runOf(stopped(), resumed)).toMatchObject({ finished: null, resumed: 1 })
  })

  it.each([
    ['at its last clean stop', [...page(1), ...page(2), stopped(), ...page(3)], 10],
    ['not at a kill', [...page(1), ...page(2), ...page(3)], 30],
    ['not after a sample, which it goes on with', [...page(1), stopped('sampled'), ...page(2)], 20],
    ['behind what an early kill left unanswered', [sent(9), resumed, ...page(1), stopped()], 0],
  ])('begins a new budget %s', async (_, entries, spent) => {
    const run = await runOf(...entries)
    expect(run.creditsCommitted - run.creditsAtLastStop).toBe(spent)
  })

  it('replaces a split batch by its parts', async () => {
    const instead = [aBatch({ batch_id: 's1a' }), aBatch({ batch_id: 's1b' })]
    const split: Entry = [
      { kind: 'batch_split', run_id: RUN, batch_id: 's1', at: 5, reason: 'too wide' },
      { batch: aBatch(), instead },
    ]
    const run = await runOf(...page(1), split, ...page(1, { batch_id: 's1b', request_id: 'b' }))
    expect([...run.batches].map(([id, { state, pages }]) => [id, state, pages])).toEqual([
      ['s1', 'split', 1],
      ['s1a', 'planned', 0],
      ['s1b', 'planned', 1],
    ])
  })
})

describe('what runs leave behind', () => {
  const eventTypes = aBatch().event_types

  it('is the coverage of each organisation of a finished batch, over all runs', async () => {
    const organizations = [
      { by: 'id', value: 'org_1' } as const,
      { by: 'url', value: 'acme' } as const,
    ]
    const { coverage, runs } = await historyOf(
      [aStart(), [aBatch({ organizations })]],
      finished(100, 200),
      [aStart({ run_id: OTHER }), [aBatch()]],
      finished(150, 300, OTHER),
    )
    expect(runs.get(RUN)?.batches.get('s1')?.state).toBe('finished')
    expect([...coverage]).toEqual([
      ['org_1', [{ eventTypes, from: 100, to: 300 }]],
      ['acme', [{ eventTypes, from: 100, to: 200 }]],
    ])
  })

  it('is the latest time that the service named, and how far it was ahead of this machine at its last page', async () => {
    const paused = (not_before: number): Entry => [
      { kind: 'paused', run_id: RUN, at: 1, not_before, reason: '503' },
    ]
    const pages = [page(1, { at: 5, server_at: 5 }), page(2, { at: 6, server_at: 96 })].flat()
    const history = await historyOf(started, paused(500), paused(400), ...pages)
    expect([pausedUntil(history, 450, null), history.serverAheadMs]).toEqual([500, 90])
  })

  it.each([
    ['7 days for a batch whose page says whose 50 events it holds', 50],
    ['7 days without an event for a batch whose only page is empty', 0],
  ])('is %s', async (_, events) => {
    const seen = events === 0 ? [] : [['org_1', events, events] as const]
    const only = page(1, { events, credits_used: events / 5, has_more: false, seen })
    const sightings = (await historyOf(started, ...only, finished(1, 2))).seen.get('org_1')
    expect(sightings).toMatchObject({ total: events })
    expect(sightings?.days).toBeCloseTo(7)
  })

  it('is the last reason for a company quarantined, until a batch with it was read', async () => {
    const twice = [refused(50, 'a'), refused(51, 'b')]
    const of = async (...entries: readonly Entry[]) =>
      (await historyOf(started, ...entries)).quarantined.get('org_1')
    expect(await of(...twice)).toEqual({ at: 51, reason: 'b' })
    expect(await of(finished(1, 40), ...twice)).toEqual({ at: 51, reason: 'b' })
    expect(await of(...twice, finished(1, 60))).toBeUndefined()
  })

  it('is what each pipeline spent on the UTC day of the request: charged, in doubt, unexpected', async () => {
    const [first, second] = [Date.parse('2026-11-30T12:00:00Z'), Date.parse('2026-12-01T12:00:00Z')]
    const { spending } = await historyOf(
      [aStart({ at: first }), [aBatch()]],
      ...page(1, { requested_at: first, at: first + DAY }),
      ...page(2, { requested_at: second, at: second, credits_used: 20 }),
      sent(3, second),
      failed(3, true, second),
      sent(4, second),
    )
    const bought = { ...noCounts(), pipeline: 'nightly', pages: 1, events: 50 }
    expect([...spending.values()]).toEqual([
      { ...bought, day: '2026-11-30', requests: 1, charged: 10 },
      {
        ...bought,
        day: '2026-12-01',
        requests: 3,
        unanswered: 1,
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

describe('an organisation asked for by URL whose id becomes known', () => {
  const bySlug = aBatch({ organizations: [{ by: 'url', value: 'acme' }] })
  const begin: Entry = [aStart(), [bySlug]]
  const read = page(1, { has_more: false, seen: [['org_9', 50, 40]] })

  it.each([
    ['before the batch ends', [...read, learnt, finished(100, 200)]],
    ['after the batch ended', [...read, finished(100, 200), learnt]],
  ])('has coverage and sightings under its id alone, learnt %s', async (_when, records) => {
    const { coverage, seen, ids } = await historyOf(begin, ...records)
    const interval = { eventTypes: bySlug.event_types, from: 100, to: 200 }
    expect([...coverage]).toEqual([['org_9', [interval]]])
    expect([...seen.keys()]).toEqual(['org_9'])
    expect(seen.get('org_9')).toMatchObject({ total: 50, lastAt: 1 })
    expect(seen.get('org_9')?.days).toBeCloseTo(7)
    expect(seen.get('org_9')?.events).toBeCloseTo(40)
    expect(canonicalName(ids, { by: 'url', value: 'acme' })).toBe('org_9')
    expect(canonicalName(ids, { by: 'id', value: 'acme' })).toBe('acme')
  })

  it('merges with what is known under the id', async () => {
    const byId = aBatch({ organizations: [{ by: 'id', value: 'org_9' }] })
    const { coverage } = await historyOf(
      begin,
      finished(100, 200),
      [aStart({ run_id: OTHER }), [byId]],
      finished(150, 300, OTHER),
      learnt,
    )
    expect([...coverage]).toMatchObject([['org_9', [{ from: 100, to: 300 }]]])
  })
})

describe('a journal of an older version', () => {
  it.each([
    [
      'a run without its beginning',
      page(1),
      9,
      `the journal has records of run ${RUN} but not its beginning`,
    ],
    [
      'a batch that was never planned',
      [started, ...page(1, { batch_id: 's9' })],
      9,
      `the journal has records of batch s9 of run ${RUN} but not its plan`,
    ],
  ])('because of %s is refused with what to do', async (_, entries, exitCode, message) => {
    const hint = /^A journal segment is missing: restore/
    await expect(historyOf(...entries)).rejects.toMatchObject({
      exitCode,
      message,
      hint: expect.stringMatching(hint) as unknown,
    })
  })
})

it('reads a journal that 0.11 or 0.12 made of a warehouse (`salvage`): who was asked and covered, and what was spent', async () => {
  const [from, to] = [20 * DAY, 30 * DAY]
  const event_types = ['joined', 'left'] as const
  const history = await historyOf(
    [aStart({ question_sha256: '' }), []],
    [{ kind: 'run_finished', run_id: RUN, at: to, outcome: 'done', exit_code: 0, message: null }],
    [{ kind: 'lookups_planned', run_id: RUN, at: 0, endpoint: 'company' }, []],
    ...page(1, { seen: [['org_1', 50, 40]], at: to }),
    [aFinish({ at: to, covered_from: from, covered_to: to }), aBatch({ organizations: [] })],
    [
      { kind: 'organizations_salvaged', at: 40 * DAY },
      [
        {
          name: 'org_1',
          first_asked: from,
          last_asked: to,
          covered: [{ event_types, from, to }],
        },
        { name: 'some-slug', first_asked: from, last_asked: from, covered: [] },
      ],
    ],
  )
  expect([...history.coverage]).toEqual([['org_1', [{ eventTypes: event_types, from, to }]]])
  expect([...history.asked]).toEqual([
    ['org_1', { first: from, last: to }],
    ['some-slug', { first: from, last: from }],
  ])
  expect(history.seen.get('org_1')).toEqual({
    total: 50,
    lastAt: to,
    events: 40,
    days: 10,
    at: to,
  })
  expect([...monthlyCredits(history.spending, null).values()]).toEqual([10])
})
