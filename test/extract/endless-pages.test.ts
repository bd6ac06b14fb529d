import { describe, expect, it } from 'vitest'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { NOW, anEvent } from '../simulator/simulator-fixture.ts'
import { errorOf, batchesOf } from './extract-fixture.ts'
import { httpRun, pageServer, type AnsweredPage, type AskedPage } from './page-server.ts'

const ORGANIZATIONS = ['org_a', 'org_b']

/** So many events that nobody was sent before when `from` was not used before. */
function events(count: number, from: number, organizations = ['org_a']): JobChangeEvent[] {
  return Array.from({ length: count }, (_, i) =>
    anEvent({
      person: `per_${from + i}`,
      organization: organizations[i % organizations.length] ?? '',
    }),
  )
}

/** A run over two organisations of a service that answers so. */
async function readFrom(answer: (asked: AskedPage) => AnsweredPage) {
  const server = await pageServer(answer)
  const run = httpRun(server.url, batchesOf(ORGANIZATIONS), virtualClock(NOW), 4)
  return { server, run }
}

const fresh = (count: number) => (asked: AskedPage) => ({
  data: events(count, asked.nth * 100, ORGANIZATIONS),
  hasMore: true,
})

describe('a service whose pages do not end', () => {
  const cases = [
    {
      what: 'the same full page for ever',
      answer: () => ({ data: events(50, 0), hasMore: true }),
      pages: [1, 2, 3],
      credits: 30,
      cause: '3 pages are the same',
    },
    {
      what: 'two full pages in turn',
      answer: ({ page }: AskedPage) => ({ data: events(50, (page % 2) * 100), hasMore: true }),
      pages: [1, 2, 3, 4, 5],
      credits: 50,
      cause: 'pages are the same',
    },
    {
      what: '8 full pages over and over',
      answer: ({ page }: AskedPage) => ({ data: events(50, (page % 8) * 100), hasMore: true }),
      pages: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
      credits: 110,
      cause: 'repeat what was on others',
    },
    {
      what: 'pages that all say they are page 1',
      answer: ({ page }: AskedPage) => ({ data: events(50, page * 100), hasMore: true, page: 1 }),
      pages: [1, 2, 2],
      credits: 30,
      cause: 'asked for page 2, got page 1',
    },
    {
      what: '24 new events on each page for ever',
      answer: fresh(24),
      pages: [1, 2, 3],
      credits: 30,
      cause: '3 pages that are not half full promise more',
    },
    {
      what: 'empty pages that promise more',
      answer: fresh(0),
      pages: [1, 2, 3],
      credits: 0,
      cause: '3 empty pages promise more',
    },
    {
      what: '10 full pages, a part of one, then empty ones that promise more',
      answer: ({ page }: AskedPage) => ({
        data: page < 11 ? events(50, page * 100) : page === 11 ? events(7, 9_000) : [],
        hasMore: true,
      }),
      pages: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
      credits: 110,
      cause: '3 pages that are not half full promise more',
    },
    {
      what: 'full pages of new events for ever, other ones each time they are asked for',
      answer: fresh(50),
      pages: [...Array.from({ length: 64 }, (_, i) => i + 1), 10_000, 64],
      credits: 660,
      cause: 'it has more than 10000 pages, and page 64, asked for again, shows only other events',
    },
  ]
  it.each(cases)(
    'sending $what: $credits credits, exit 5, and what was bought is kept',
    async ({ answer, pages, credits, cause }) => {
      const { run, server } = await readFrom(answer)
      const error = await errorOf(run.extract())
      expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
      expect(error.message).toContain(cause)
      expect(error['hint']).toMatch(/report it to the provider|JOBTIDE_BASE_URL/)
      expect(server.pages).toEqual(pages)
      expect(server.credits).toBe(credits)
      expect(run.history().creditsCommitted).toBe(credits)
      expect(run.bought.size > 0).toBe(credits > 0)
      // Taken up again the next night, it costs 3 pages more at most, and is no more done than before.
      expect(await errorOf(run.extract())).toMatchObject({ exitCode: 5 })
      expect(server.credits).toBeLessThanOrEqual(credits + 30)
      expect(run.finished()).toEqual([])
      expect(run.records.some(({ kind }) => kind === 'organization_quarantined')).toBe(false)
    },
  )

  it('with a budget of 200 credits costs no more than that, even where it cannot be told from a long list', async () => {
    const { run, server } = await readFrom(fresh(50))
    expect(await errorOf(run.extract({ creditsLimit: 200 }))).toMatchObject({ exitCode: 4 })
    expect(server.credits).toBe(200)
  })
})

describe('a service whose pages are odd, and do end', () => {
  /** Pages with so many events each, the last of which promises nothing. */
  const pagesOf = (sizes: readonly number[], limit?: number) => (asked: AskedPage) => ({
    data: events(sizes[asked.page - 1] ?? 0, asked.page * 100),
    hasMore: asked.page < sizes.length,
    ...(limit === undefined ? {} : { limit }),
  })
  const cases = [
    { what: 'two pages in a row are not half full', sizes: [50, 40, 3, 20, 50, 20, 50, 5] },
    { what: 'all pages have room left', sizes: [49, 48, 30, 49, 47, 26, 49, 5] },
    { what: 'pages have 25 events, as it says', sizes: [25, 25, 25, 25, 25, 3], limit: 25 },
    { what: 'pages have 51 events', sizes: [51, 51, 51, 51, 12] },
  ]
  it.each(cases)('is read to its end where $what', async ({ sizes, limit }) => {
    const { run, server } = await readFrom(pagesOf(sizes, limit))
    await run.extract()
    expect(run.finished()).toHaveLength(1)
    expect(server.credits).toBe(sizes.length * 10)
    expect(run.bought.size).toBe(sizes.reduce((sum, size) => sum + size, 0))
  })
})
