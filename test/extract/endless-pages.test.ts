import { describe, expect, it } from 'vitest'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { anEvent } from '../simulator/simulator-fixture.ts'
import {
  aRun,
  aService,
  batchOf,
  errorOf,
  expectSameCredits,
  type Answered,
  type Asked,
} from './extract-fixture.ts'

const ORGANIZATIONS = ['org_a', 'org_b']

/** This many events of two organisations; the same for the same `from`. */
const events = (count: number, from: number): JobChangeEvent[] =>
  Array.from({ length: count }, (_, i) =>
    anEvent({ person: `per_${from + i}`, organization: ORGANIZATIONS[i % 2]! }),
  )

/** A run over two organisations of a service with these answers. */
function readFrom(answer: (asked: Asked) => Answered) {
  const service = aService(answer)
  return { service, run: aRun(service, [batchOf(ORGANIZATIONS)]) }
}

const fresh = (count: number) => (asked: Asked) => ({
  data: events(count, asked.nth * 100),
  hasMore: true,
})
const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1)

describe('a service whose pages never end', () => {
  const cases = [
    {
      what: 'the same full page for ever',
      answer: () => ({ data: events(50, 0), hasMore: true }),
      pages: [1, 2, 2],
      credits: 30,
      cause: 'page 2 is page 1 again, even after two requests',
    },
    {
      what: '4 full pages over and over',
      answer: ({ page }: Asked) => ({ data: events(50, (page % 4) * 100), hasMore: true }),
      pages: [...upTo(5), 5],
      credits: 60,
      cause: 'page 5 is page 1 again, even after two requests',
    },
    {
      what: 'pages that all say they are page 1',
      answer: ({ page }: Asked) => ({ data: events(50, page * 100), hasMore: true, page: 1 }),
      pages: [1, 2, 2],
      credits: 30,
      cause: 'requested page 2, got page 1',
    },
    {
      what: '24 new events on each page for ever',
      answer: fresh(24),
      pages: [...upTo(8), 9_999],
      credits: 90,
      cause: 'so does page 9999 of one day of',
    },
    {
      what: 'empty pages that promise more',
      answer: fresh(0),
      pages: [...upTo(8).flatMap((page) => [page, page, page]), 9_999],
      credits: 0,
      cause: 'so does page 9999 of one day of',
    },
    {
      what: '10 full pages, a part of one, then empty ones that promise more',
      answer: ({ page }: Asked) => ({
        data: page < 11 ? events(50, page * 100) : page === 11 ? events(7, 9_000) : [],
        hasMore: true,
      }),
      pages: [...upTo(8), 9_999],
      credits: 80,
      cause: 'so does page 9999 of one day of',
    },
  ]
  it.each(cases)(
    'that sends $what: $credits credits, exit 5, and the bought pages are kept',
    async ({ answer, pages, credits, cause }) => {
      const { run, service } = readFrom(answer)
      const error = await errorOf(run.extract())
      expect(error).toMatchObject({ exitCode: 5 })
      expect(error.message).toContain(cause)
      expect(error['hint']).toMatch(
        /it reads this batch from page 1\. If it fails again|JOBTIDE_BASE_URL/,
      )
      expect(service.account.map(({ page }) => page)).toEqual(pages)
      expect(service.charged()).toBe(credits)
      expect(run.ledger().total).toBe(credits)
      expect(run.events().length > 0).toBe(credits > 0)
      // When resumed the next night, it is read from page 1, costs at most as much, and still does not finish.
      expect(await errorOf(run.extract())).toMatchObject({ exitCode: 5 })
      expect(service.charged()).toBeLessThanOrEqual(2 * credits + 10)
      expect(run.records('batch_finished')).toEqual([])
      expect(run.records('organization_quarantined')).toEqual([])
    },
  )

  it('costs no more than a budget of 200 credits, even if it looks like a long list', async () => {
    const { run, service } = readFrom((asked) => (asked.daysAgo === 1 ? {} : fresh(50)(asked)))
    expect(await errorOf(run.extract({ creditsLimit: 200 }))).toMatchObject({ exitCode: 4 })
    expect(service.charged()).toBe(200)
  })
})

describe('a service with full pages of new events forever', () => {
  const stable = ({ page }: Asked) => ({ data: events(50, page * 100), hasMore: true })
  const exceptOn =
    (
      answer: (asked: Asked) => Answered,
      isEmpty: (asked: Asked) => boolean,
    ): ((asked: Asked) => Answered) =>
    (asked) =>
      isEmpty(asked) ? {} : answer(asked)
  const past = (last: number) => (asked: Asked) => asked.page > last
  const isOneDay = ({ daysAgo }: Asked) => daysAgo === 1
  const endless = 'so does page 9999 of one day of'
  const cases = [
    { what: 'the same ones each time', of: 8, answer: stable, before: '9,900', pages: 9 },
    { what: 'the same ones each time', of: 50, answer: stable, before: '65,340', pages: 9 },
    { what: 'other ones each time', of: 2, answer: fresh(50), before: '660', pages: 9 },
    {
      what: 'where 5,000 were expected',
      of: 2,
      expected: 5_000,
      answer: fresh(50),
      before: '660',
      pages: 9,
    },
    { what: '25 events on each', of: 2, answer: fresh(25), before: '660', pages: 9 },
    {
      what: '24 and 25 events in turns',
      of: 2,
      answer: (asked: Asked) => fresh(24 + (asked.nth % 2))(asked),
      before: '660',
      pages: 9,
    },
    {
      what: 'but for page 10,000',
      of: 2,
      answer: exceptOn(fresh(50), past(9_999)),
      before: '99,990',
      pages: 9,
    },
    {
      what: 'the same ones each time, but for page 10,000',
      of: 2,
      answer: exceptOn(stable, past(9_999)),
      before: '99,990',
      pages: 9,
    },
    {
      what: 'other ones each time, and none of one day',
      of: 50,
      answer: exceptOn(fresh(50), isOneDay),
      before: '660',
      pages: 87,
      again: 660,
      cause: 'has more than 10000 pages, like every organisation fetched so far',
    },
    {
      what: 'the same ones each time, and none of one day',
      of: 50,
      answer: exceptOn(stable, isOneDay),
      before: '65,340',
      pages: 87,
      again: 200,
      cause: 'has more than 10000 pages, like every organisation fetched so far',
    },
  ].map((one) => ({ ...one, credits: one.pages * 10 }))
  it.each(cases)(
    '$what, of $of organisations: $credits credits and exit 5, before that $before',
    async ({ of, expected, answer, credits, again = 30, cause = endless }) => {
      const names = Array.from({ length: of }, (_, i) => ORGANIZATIONS[i] ?? `org_${i}`)
      const service = aService(answer)
      const fields = expected === undefined ? {} : { expected_pages: expected }
      const run = aRun(service, [batchOf(names, fields)])
      const error = await errorOf(run.extract({ creditsLimit: 100_000 }))
      expect([error.message, error['exitCode']]).toEqual([expect.stringContaining(cause), 5])
      expect(service.charged()).toBe(credits)
      expectSameCredits(run, service)
      expect(run.records('batch_finished')).toEqual([])
      // When resumed, it is read from page 1, after a probe that finds most of them.
      expect(await errorOf(run.extract())).toMatchObject({ exitCode: 5 })
      expect(service.charged()).toBeLessThanOrEqual(credits + again)
    },
  )
})

describe('a service with odd pages that do end', () => {
  const cases = [
    { what: 'two pages in a row are less than half full', sizes: [50, 40, 3, 20, 50, 20, 50, 5] },
    { what: 'all pages have room left', sizes: [49, 48, 30, 49, 47, 26, 49, 5] },
    { what: 'pages have 25 events, as it says', sizes: [25, 25, 25, 25, 25, 3], limit: 25 },
    { what: 'pages have 51 events', sizes: [51, 51, 51, 51, 12] },
  ]
  it.each(cases)('is read to its end if $what', async ({ sizes, limit = 50 }) => {
    const { run, service } = readFrom(({ page }) => ({
      data: events(sizes[page - 1] ?? 0, page * 100),
      hasMore: page < sizes.length,
      limit,
    }))
    await run.extract()
    expect(run.records('batch_finished')).toHaveLength(1)
    expect(service.charged()).toBe(sizes.length * 10)
    expect(run.bought().size).toBe(sizes.reduce((sum, size) => sum + size, 0))
  })
})
