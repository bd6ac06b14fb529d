import { describe, expect, it } from 'vitest'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { DAY } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { NOW, anEvent } from '../simulator/simulator-fixture.ts'
import {
  aRun,
  aService,
  batchOf,
  errorOf,
  nameOf,
  type Answered,
  type Asked,
} from './extract-fixture.ts'

const EVENTS = eventsOf('org_a')

function eventsOf(organization: string): JobChangeEvent[] {
  return Array.from({ length: 130 }, (_, i) =>
    anEvent({ person: `per_${i}`, organization, detectedAt: NOW - DAY }),
  )
}

function honest({ page }: Asked, events: readonly JobChangeEvent[] = EVENTS): Answered {
  return { data: events.slice(page * 50 - 50, page * 50), hasMore: page * 50 < events.length }
}

describe('a service that was fixed', () => {
  it.each([
    ['page 1 for ever', () => ({ ...honest({ page: 1 } as Asked), hasMore: true }), 3],
    [
      'new events for ever',
      ({ nth }: Asked) => ({
        data: Array.from({ length: 50 }, (_, i) =>
          anEvent({ person: `per_${nth}_${i}`, organization: 'org_a' }),
        ),
        hasMore: true,
      }),
      9,
    ],
  ])('after %s is read from page 1: nothing is missing', async (_, broken, requests) => {
    let answer: (asked: Asked) => Answered = broken
    const service = aService((asked) => answer(asked))
    const run = aRun(service)
    expect(await errorOf(run.extract())).toMatchObject({ exitCode: 5 })
    expect(service.account).toHaveLength(requests)
    answer = honest
    await run.extract()
    expect(service.account.slice(requests).map(({ page }) => page)).toEqual([9_999, 1, 2, 3])
    const people = new Set(run.events().map(({ person }) => person.profile_id))
    expect(EVENTS.filter(({ person }) => !people.has(person.profile_id))).toEqual([])
  })
})

describe('a pager that is stuck on page 1', () => {
  it.each([
    { credits: 10, runs: 3 },
    { credits: 20, runs: 2 },
    { credits: 30, runs: 1 },
  ])(
    'is found by $runs runs of $credits credits, and once it is fixed nothing is missing',
    async ({ credits, runs }) => {
      let isStuck = true
      const stuck = { ...honest({ page: 1 } as Asked), hasMore: true }
      const service = aService((asked) => (isStuck ? stuck : honest(asked)))
      const run = aRun(service)
      for (let nth = 1; nth <= runs; nth += 1) {
        const creditsLimit = run.ledger().total + credits
        expect(await errorOf(run.extract({ creditsLimit }))).toMatchObject({
          exitCode: nth < runs ? 4 : 5,
        })
      }
      expect(run.records('page_received')).toHaveLength(3)
      isStuck = false
      await run.extract()
      expect(run.bought()).toEqual(new Set(EVENTS.map(nameOf)))
    },
  )

  it.each([1, 2, 3])('and a process that is killed after %i pages of it', async (pages) => {
    let isStuck = true
    const stuck = { ...honest({ page: 1 } as Asked), hasMore: true }
    const service = aService((asked) => {
      if (isStuck && asked.nth > pages) run.kill()
      return isStuck ? stuck : honest(asked)
    })
    const run = aRun(service)
    await errorOf(run.extract())
    isStuck = false
    await run.extract()
    expect(run.bought()).toEqual(new Set(EVENTS.map(nameOf)))
  })
})

describe('a page without any event of the requested organisations', () => {
  it('does not count, and is requested again', async () => {
    const service = aService((asked) => honest(asked, asked.nth === 2 ? eventsOf('org_b') : EVENTS))
    const run = aRun(service)
    await run.extract()
    expect(service.account.map(({ page }) => page)).toEqual([1, 2, 2, 3])
    expect(run.events()).toEqual(EVENTS)
    expect(run.ledger()).toMatchObject({ total: service.charged(), inDoubt: 10 })
  })

  it('ends the run if it comes twice, and nothing is covered', async () => {
    const service = aService((asked) => honest(asked, eventsOf('org_b')))
    const run = aRun(service)
    expect(await errorOf(run.extract())).toMatchObject({
      exitCode: 5,
      message: expect.stringContaining(
        'none of the 50 events of page 1 is about a requested organisation',
      ) as string,
    })
    expect(service.account).toHaveLength(2)
    expect(run.records('batch_finished')).toEqual([])
  })
})

describe('one page of a list that lies', () => {
  it.each([
    ['is empty and promises more', 1, () => ({ data: [], hasMore: true }), [1, 1, 2, 3]],
    ['is empty and promises more', 2, () => ({ data: [], hasMore: true }), [1, 2, 2, 3]],
    ['is empty and promises nothing', 2, () => ({ data: [], hasMore: false }), [1, 2, 2, 3]],
    ['is page 1 again', 2, () => honest({ page: 1 } as Asked), [1, 2, 2, 3]],
  ])('because it %s is asked for again: page %i', async (_, nth, lie, pages) => {
    const service = aService((asked) => (asked.nth === nth ? lie() : honest(asked)))
    const run = aRun(service)
    await run.extract()
    expect(service.account.map(({ page }) => page)).toEqual(pages)
    expect(run.bought()).toEqual(new Set(EVENTS.map(nameOf)))
  })

  it('that is empty and promises more, twice within 5 s, is requested a third time', async () => {
    const service = aService((asked) =>
      asked.nth === 2 || asked.nth === 3 ? { data: [], hasMore: true } : honest(asked),
    )
    const run = aRun(service)
    await run.extract()
    expect(service.account.map(({ page }) => page)).toEqual([1, 2, 2, 2, 3])
    expect(run.bought()).toEqual(new Set(EVENTS.map(nameOf)))
  })

  it('ends if the page after the last full one is empty three times', async () => {
    const service = aService((asked) => ({
      ...honest(asked),
      hasMore: (honest(asked).data ?? []).length > 0,
    }))
    await aRun(service).extract()
    expect(service.account.map(({ page }) => page)).toEqual([1, 2, 3, 4, 4, 4])
  })

  it('continues after that page if it stays empty', async () => {
    const odd = (asked: Asked) =>
      asked.page === 2
        ? { data: [], hasMore: true }
        : honest({ ...asked, page: Math.min(asked.page, 3) })
    const service = aService(odd)
    await aRun(service).extract()
    expect(service.account.map(({ page }) => page)).toEqual([1, 2, 2, 2, 3])
  })

  it('whose page 1 has 25 events instead of 50 ends the run, and the next one reads it from page 1', async () => {
    let isFixed = false
    const service = aService((asked) =>
      asked.page === 1 && !isFixed
        ? { data: EVENTS.slice(0, 25), hasMore: true, limit: 25 }
        : honest(asked),
    )
    const run = aRun(service)
    expect(await errorOf(run.extract())).toMatchObject({
      exitCode: 5,
      message: expect.stringContaining(
        'page 2 is counted by 50 events, pages before it by 25',
      ) as string,
    })
    isFixed = true
    await run.extract()
    expect(run.bought()).toEqual(new Set(EVENTS.map(nameOf)))
  })

  it('that states its number of events only on the last page is not at fault', async () => {
    const service = aService((asked) =>
      asked.page === 3 ? { ...honest(asked), limit: 30 } : honest(asked),
    )
    const run = aRun(service)
    await run.extract()
    expect(run.events()).toEqual(EVENTS)
  })
})

describe('clocks that differ by 400 days', () => {
  const clocksBefore = { serverAheadMs: 400 * DAY, serverAheadAtMostMs: 400 * DAY, reached: [] }

  it.each([
    ['ours is ahead', NOW + 400 * DAY, {}],
    ['the service was ahead in the run before', NOW, { clocksBefore }],
  ])('buy each page once where %s', async (_, ours, before) => {
    const clock = virtualClock(ours)
    const service = aService((asked) => {
      const date = new Date(NOW + clock.now() - ours).toUTCString()
      return { ...honest(asked), headers: { date }, takesMs: 100 }
    }, clock)
    const run = aRun(service, [batchOf(['org_a'], { days_ago: 30 })])
    await run.extract(before)
    expect(service.account.map(({ page }) => page)).toEqual([1, 2, 3])
  })

  it('that alternate end the run once page 1 was read 21 times', async () => {
    const service = aService((asked) => {
      const date = new Date(NOW - (asked.nth % 2) * 400 * DAY).toUTCString()
      return { ...honest(asked), headers: { date } }
    })
    const run = aRun(service, [batchOf(['org_a'], { days_ago: 30 })])
    const reached = [NOW + 500 * DAY]
    const before = { clocksBefore: { ...clocksBefore, reached } }
    expect(await errorOf(run.extract(before))).toMatchObject({ exitCode: 5 })
    expect(service.account.length).toBeLessThan(60)
  })
})
