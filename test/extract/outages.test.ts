/** A service that fails: at random, for one page, for minutes, for hours, or from the beginning. */

import { describe, expect, it } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import type { Obstacle } from '../../src/api/unreachable.ts'
import { Budget } from '../../src/extract/budget.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { sum } from '../../src/support/numbers.ts'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import {
  aPageBuyer,
  aService,
  batchOf,
  errorOf,
  memoryJournal,
  type AccountedRequest,
  type Answered,
  type Asked,
} from './extract-fixture.ts'

const batch = batchOf(['org_a', 'org_b'])
const aPage: Answered = { takesMs: 300, data: [{}], hasMore: true }
const html: Answered = { takesMs: 200, charge: 0, text: '<html>Please wait' }
const broken: Answered = { takesMs: 200, status: null, charge: 10 }

/** A service with these answers, and a run that buys its pages at 5 requests a second. */
function aShop(answerTo: (asked: Asked) => Answered) {
  const service = aService(answerTo)
  const { clock, account } = service
  const beganAt = clock.now()
  const journal = memoryJournal([batch], clock.now())
  const isPage = ({ status, charged }: AccountedRequest) => status === 200 && charged > 0
  return {
    service,
    clock,
    account,
    journal,
    isPage,
    pages: () => account.filter(isPage).length,
    tookMs: () => clock.now() - beganAt,
    /** Credits that the journal counts for requests that may or may not have been billed. */
    inDoubt: () => sum([...journal.history().spending.values()].map(({ inDoubt }) => inDoubt)),
    /** Buys pages `from` to `to` in a new attempt at the run; rejects with the first error. */
    async buy(to: number, { from = 1, workers = 8, seed = 0 } = {}): Promise<void> {
      const stop = new AbortController()
      const run = { limit: null, spent: journal.run().creditsCommitted }
      const buyer = aPageBuyer(service, journal.open().writer, {
        pacer: new Pacer(clock, 5, 15 * MINUTE),
        budget: new Budget({ run, now: () => clock.now() }),
        ...(seed === 0 ? {} : { random: seededRandom(seed) }),
        stop: stop.signal,
      })
      let next = from
      const work = async () => {
        while (next <= to) await buyer.buy(batch, next++)
      }
      const failures: unknown[] = []
      const working = Array.from({ length: workers }, () =>
        work().catch((error: unknown) => {
          failures.push(error)
          stop.abort(error)
        }),
      )
      await clock.run(Promise.all(working))
      if (failures.length > 0) throw failures[0] as Error
    },
  }
}

/** A service that answers with `storm` for the given time, and with pages before and after it. */
const aStorm = (storm: Answered, fromMs: number, lastsMs: number) =>
  aShop(({ afterMs }) => (afterMs < fromMs || afterMs >= fromMs + lastsMs ? aPage : storm))

/** Each kind as often as the others; a connection that breaks, a cut body and HTML may be billed. */
const kinds: Answered[] = [
  { takesMs: 200, status: 503, headers: { 'retry-after': '1' } },
  { takesMs: 200, status: 429, headers: { 'retry-after': '1' } },
  { takesMs: 200, status: 502 },
  { takesMs: 200, status: 500 },
  broken,
  { ...broken, charge: 0 },
  html,
]

/** A service that fails at random, in the same way each time. */
function flaky(seed: number, share: number, of: readonly Answered[]) {
  const random = seededRandom(seed)
  return aShop(() => (random() < share ? of[Math.floor(random() * of.length)]! : aPage))
}

const RUNS = Number(process.env['JOBTIDE_WORLDS'] ?? 2)

describe('a service that fails at random slows a run down but does not end it', () => {
  it.each([
    { workers: 1, minutes: 15 },
    { workers: 8, minutes: 8 },
  ])(
    'with 15 % failures of all kinds and $workers workers buys 400 pages in one attempt with at most 520 requests',
    async ({ workers, minutes }) => {
      for (let seed = 1; seed <= RUNS; seed += 1) {
        const shop = flaky(seed, 0.15, kinds)
        await shop.buy(400, { workers, seed })
        expect(shop.pages()).toBe(400)
        expect(shop.account.length).toBeLessThanOrEqual(520)
        // 80 s at 5 requests a second, and the waits.
        expect(shop.tookMs()).toBeLessThanOrEqual(minutes * MINUTE)
        // Exact to the credit: broken connections and HTML count as billed.
        const doubtful = shop.account.filter(
          (one) => !shop.isPage(one) && (one.status === null || one.status === 200),
        )
        expect(shop.inDoubt()).toBe(10 * doubtful.length)
      }
    },
  )

  it.each([
    { what: '502', answer: kinds[2]! },
    { what: '503 with Retry-After: 1', answer: kinds[0]! },
  ])('at 50 %% of $what: 300 pages in one attempt', async ({ answer }) => {
    const shop = flaky(7, 0.5, [answer])
    await shop.buy(300, { seed: 7 })
    expect(shop.pages()).toBe(300)
  })
})

describe('a page that always fails while others are answered', () => {
  it.each([
    ['500: 20 attempts, 0 credits in doubt', { takesMs: 200, status: 500 }, 20, 0],
    ['a broken connection: 6 attempts, 60 credits in doubt', broken, 6, 60],
    ['HTML with 200: 6 attempts, 60 credits in doubt', html, 6, 60],
  ] as const)('%s; then exit 5 names the page', async (_, answer, attempts, inDoubt) => {
    const shop = aShop(({ page }) => (page === 17 ? answer : { ...aPage, takesMs: 3_000 }))
    const error = await errorOf(shop.buy(1_000, { workers: 2 }))
    expect(error).toMatchObject({ exitCode: 5 })
    expect(error.message).toMatch(
      new RegExp(`^page 17 of batch 0001 failed in ${attempts} attempts, while other`),
    )
    expect(shop.account.filter(({ page }) => page === 17)).toHaveLength(attempts)
    expect(shop.inDoubt()).toBe(inDoubt)
    expect(shop.tookMs()).toBeLessThanOrEqual(10 * MINUTE)
  })
})

describe('a service that answers everything with HTML and 200', () => {
  it.each([
    { workers: 1, most: 5 },
    { workers: 8, most: 12 },
  ])('ends it with exit 5 after $most answers at most, $workers workers', async (world) => {
    const shop = aShop(() => html)
    const error = await errorOf(shop.buy(400, world))
    expect(error).toMatchObject({ exitCode: 5 })
    expect(error.message).toContain('something that is not a page')
    expect(shop.account.length).toBeLessThanOrEqual(world.most)
    // Each may be billed.
    expect(shop.inDoubt()).toBe(10 * shop.account.length)
  })
})

it.each([201, 206, 502])(
  'a service that answers everything with %i: the error names the status',
  async (status) => {
    const { message } = await errorOf(aShop(() => ({ takesMs: 20, status })).buy(400))
    expect(message).toMatch(new RegExp(`page \\d+ of batch 0001: ${status}: `))
  },
)

it('an error that says that it was charged 10 credits counts as 10, not as free', async () => {
  const text = JSON.stringify({ success: false, message: 'no', data: null, credit_used: 10 })
  const charged = { takesMs: 20, status: 500, text, charge: 10 }
  const shop = aShop(({ nth }) => (nth === 2 ? charged : aPage))
  await shop.buy(5)
  expect(shop.pages()).toBe(5)
  expect(shop.inDoubt()).toBe(10)
  expect(shop.journal.run().creditsCommitted).toBe(shop.service.charged())
})

describe('a service that cannot be reached', () => {
  const noWay = (obstacle: Obstacle, takesMs = 20): Answered => ({
    takesMs,
    status: null,
    obstacle,
  })

  it.each([
    ['refused', 5, 15, 20],
    ['name', 5, 15, 20],
    ['route', 5, 15, 20],
    ['proxy', 5, 15, 20],
    ['certificate', 2, 15, 20],
    ['timeout', 5, 30, 10_000],
  ] as const)(
    'from the beginning (%s) ends the run with exit %i within %i s, 0 credits',
    async (obstacle, exitCode, seconds, takesMs) => {
      for (const workers of [1, 8]) {
        const shop = aShop(() => noWay(obstacle, takesMs))
        // A second attempt ends as quickly: the first one opened no circuit breaker.
        for (const attempt of [1, 2]) {
          const beganAt = shop.clock.now()
          const error = await errorOf(shop.buy(400, { workers }))
          expect(error, `attempt ${attempt}`).toMatchObject({ exitCode, context: { obstacle } })
          expect(error['hint']).toMatch(
            obstacle === 'certificate' ? /NODE_EXTRA_CA_CERTS/ : /HTTPS_PROXY/,
          )
          expect(shop.clock.now() - beganAt).toBeLessThanOrEqual(seconds * SECOND)
        }
        expect(shop.inDoubt()).toBe(0)
      }
    },
  )

  it('for 5 s, as while a service starts, does not end the run', async () => {
    const shop = aShop(({ afterMs }) => (afterMs < 5 * SECOND ? noWay('refused') : aPage))
    await shop.buy(20)
    expect(shop.pages()).toBe(20)
  })

  it.each(['refused', 'certificate'] as const)(
    'for 10 min after a page (%s) is an outage like any other: the run continues',
    async (obstacle) => {
      const shop = aStorm(noWay(obstacle), 2 * SECOND, 10 * MINUTE)
      await shop.buy(100)
      expect(shop.pages()).toBe(100)
      expect(shop.account.length - 100).toBeLessThanOrEqual(21 + 8)
    },
  )
})

describe('an outage', () => {
  const told = (status: number, seconds: number): Answered => ({
    takesMs: 200,
    status,
    headers: { 'retry-after': `${seconds}` },
  })
  const storms: { name: string; answer: Answered }[] = [
    { name: '503 with Retry-After: 60', answer: told(503, 60) },
    { name: '503 with Retry-After: 1', answer: told(503, 1) },
    { name: '503 without Retry-After', answer: { takesMs: 200, status: 503 } },
    { name: '429 with Retry-After: 1', answer: told(429, 1) },
    { name: '500', answer: { takesMs: 200, status: 500 } },
    { name: '502 after 10 s', answer: { takesMs: 10 * SECOND, status: 502 } },
    { name: 'resets, each perhaps charged', answer: broken },
  ]

  it.each(storms)(
    '$name for 10 min: 100 pages are bought with a probe every 30 s, at most 21, and the 8 in flight; after it none fails',
    async ({ answer }) => {
      const shop = aStorm(answer, 2 * SECOND, 10 * MINUTE)
      const endsAt = shop.clock.now() + 2 * SECOND + 10 * MINUTE
      await shop.buy(100)
      expect(shop.account.length).toBeLessThanOrEqual(100 + 21 + 8)
      expect(shop.pages()).toBe(100)
      // The first probe after it succeeds.
      const after = shop.account.filter(({ sentAt }) => sentAt >= endsAt)
      expect(after.filter(({ status }) => status !== 200)).toEqual([])
      expect((after[0]?.sentAt ?? Infinity) - endsAt).toBeLessThanOrEqual(125 * SECOND)
      // Exact to the credit, including answers lost on the way.
      expect(shop.journal.run().creditsCommitted).toBe(shop.service.charged())
    },
  )

  it.each(storms)(
    '$name for hours: exit 5 at 15 to 18 min without an answer (max_wait), at most 45 requests; the next attempt reads on at once',
    async ({ answer }) => {
      const shop = aStorm(answer, 2 * SECOND, 30 * MINUTE)
      const error = await errorOf(shop.buy(400))
      expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
      expect(error.message).toMatch(
        /^the service gave no usable answer for 15 min, the last time to/,
      )
      expect(shop.tookMs()).toBeGreaterThanOrEqual(15 * MINUTE)
      expect(shop.tookMs()).toBeLessThanOrEqual(18 * MINUTE)
      const before = shop.pages()
      expect(shop.account.length - before).toBeLessThanOrEqual(45)
      // It begins with nothing counted.
      await shop.clock.advance(20 * MINUTE)
      const beganAt = shop.clock.now()
      await shop.buy(100, { from: before + 1 })
      expect(shop.pages()).toBe(100)
      expect(shop.clock.now() - beganAt).toBeLessThanOrEqual(2 * MINUTE)
    },
  )
})

describe('a journal that cannot be written', () => {
  it('counts the request in flight, so that no other one spends its 10 credits', async () => {
    const { service, clock, account } = aShop(() => aPage)
    const budget = new Budget({ run: { limit: 10, spent: 0 }, now: () => clock.now() })
    const full = () => Promise.reject(new Error('disk full'))
    const writer = { write: () => undefined, append: full, close: () => Promise.resolve() }
    const buyer = aPageBuyer(service, writer, { budget })
    const both = [errorOf(buyer.buy(batch, 1)), errorOf(buyer.buy(batch, 2))]
    const [first, second] = await clock.run(Promise.all(both))
    expect(first?.message).toBe('disk full')
    expect(second).toMatchObject({ exitCode: 4 })
    expect(account).toHaveLength(1)
  })
})
