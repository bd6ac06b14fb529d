import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Budget, type BudgetOptions } from '../../src/extract/budget.ts'
import { monthlyCredits } from '../../src/journal/spending.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { sum } from '../../src/support/numbers.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { rounds } from '../helpers/tier.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { NOW, manyEvents } from '../simulator/simulator-fixture.ts'
import {
  aPageBuyer,
  aRun,
  aService,
  batchOf,
  errorOf,
  expectSameCredits,
  memoryJournal,
  simulated,
  type Answered,
} from './extract-fixture.ts'

const NIGHTS = rounds('JOBTIDE_NIGHTS', 2_000, 10_000)

const never = new AbortController().signal

const budgetOf = (
  limit: number | null,
  spent = 0,
  month?: BudgetOptions['month'],
  now: () => number = () => NOW,
): Budget => new Budget({ run: { limit, spent }, ...(month === undefined ? {} : { month }), now })

describe('a budget', () => {
  it.each([
    [9, 0],
    [59, 50],
    [50, 50],
  ])(
    'of %i credits refuses at once if less than a page is left, with %i spent',
    async (limit, spent) => {
      await expect(budgetOf(limit, spent).reserve(never)).rejects.toMatchObject({
        exitCode: 4,
        context: { limit, spent, per: 'run' },
      })
    },
  )

  it('makes a second request wait for the first, which may turn out to be free', async () => {
    const budget = budgetOf(10)
    const first = await budget.reserve(never)
    let isThrough = false
    const second = budget.reserve(never).then(() => {
      isThrough = true
    })
    await Promise.resolve()
    expect(isThrough).toBe(false)
    first.settle(0)
    await second
    expect(isThrough).toBe(true)
  })

  it('reserves 20 credits for each page after one that cost 20: the last 10 of 50 credits buy nothing', async () => {
    const budget = budgetOf(50)
    ;(await budget.reserve(never)).settle(20)
    ;(await budget.reserve(never)).settle(10)
    ;(await budget.reserve(never)).settle(10)
    await expect(budget.reserve(never)).rejects.toMatchObject({
      context: { limit: 50, spent: 40 },
    })
  })

  it('cancels a reservation before its request leaves if the price rose meanwhile', async () => {
    const budget = budgetOf(30)
    const [first, second] = [await budget.reserve(never), await budget.reserve(never)]
    first.settle(25)
    expect(second.canDispatch()).toBe(false)
    await expect(budget.reserve(never)).rejects.toMatchObject({ exitCode: 4 })
  })
})

describe('the budget of a calendar month', () => {
  const endOfJune = Date.UTC(2026, 5, 30, 23, 59)

  it('names the month, the credits spent, and the day on which it resets', async () => {
    const spentBy = new Map([['2026-12', 95]])
    const now = () => Date.UTC(2026, 11, 31, 23)
    const error = await errorOf(budgetOf(null, 0, { limit: 100, spentBy }, now).reserve(never))
    expect(error).toMatchObject({
      exitCode: 4,
      context: { limit: 100, spent: 95, per: 'month', renews_at: '2027-01-01T00:00:00.000Z' },
    })
    expect(error.message).toContain('2026-12')
    expect(error['hint']).toContain('2027-01-01')
  })

  it('resets at midnight UTC on the first, during a run', async () => {
    let now = endOfJune
    const month = { limit: 20, spentBy: new Map([['2026-06', 10]]) }
    const budget = budgetOf(null, 0, month, () => now)
    ;(await budget.reserve(never)).settle(10)
    await expect(budget.reserve(never)).rejects.toMatchObject({ context: { per: 'month' } })
    now += 2 * MINUTE
    ;(await budget.reserve(never)).settle(10)
    ;(await budget.reserve(never)).settle(10)
    await expect(budget.reserve(never)).rejects.toMatchObject({ context: { spent: 20 } })
    expect(budget.spent).toBe(30)
  })
})

it('a clock 40 days ahead, in a new month, buys one page until the service reports its time', async () => {
  const june = { limit: 20, spentBy: new Map([['2026-06', 20]]) }
  let heard: number | null = null
  const now = () => NOW + 40 * DAY
  const budget = new Budget({
    run: { limit: null, spent: 0 },
    month: june,
    now,
    serviceNow: () => heard,
  })
  const page = await budget.reserve(never)
  expect(page.canDispatch()).toBe(true)
  heard = NOW
  page.settle(10)
  await expect(budget.reserve(never)).rejects.toMatchObject({
    context: { per: 'month', renews_at: '2026-07-01T00:00:00.000Z' },
  })
})

describe('the budget of a run', () => {
  it('ends it with exit 4; a new one of the same size finishes it without buying anything twice', async () => {
    const service = simulated(manyEvents(400))
    const run = aRun(service)
    await errorOf(run.extract({ creditsLimit: 30 }))
    // The budget does not reset without the end of a run in the journal, so the spending of a killed attempt counts.
    const error = await errorOf(run.extract({ creditsLimit: 50 }))
    expect(error).toMatchObject({ exitCode: 4, context: { limit: 50, spent: 50 } })
    // The end of a run in the journal resets the budget.
    const end = { outcome: 'budget', exit_code: 4, message: null } as const
    await run.open().writer.append({ kind: 'run_finished', run_id: 'run_1', at: NOW, ...end })
    await run.extract({ creditsLimit: 50 })
    expect(service.charged()).toBe(80)
    expectSameCredits(run, service)
  })
})

const nights = fc.record({
  seed: fc.nat(),
  workers: fc.integer({ min: 1, max: 8 }),
  pages: fc.integer({ min: 1, max: 16 }),
  runLimit: fc.option(fc.integer({ min: 0, max: 170 })),
  monthLimit: fc.option(fc.integer({ min: 0, max: 170 })),
  /** Credits spent before the run, in the month that ends. */
  spentBefore: fc.integer({ min: 0, max: 60 }),
  /** Before the end of the month. */
  secondsLeft: fc.integer({ min: 1, max: 40 }),
  /** Share of requests that fail in some way. */
  trouble: fc.constantFrom(0, 0.1, 0.4),
  /** Milliseconds after which each process in turn is killed. */
  kills: fc.array(fc.integer({ min: 1, max: 15_000 }), { maxLength: 2 }),
})

type Night = typeof nights extends fc.Arbitrary<infer T> ? T : never

const MONTH_END = Date.UTC(2026, 6, 1)

const data = [{}]

function troubled(random: () => number): Answered {
  const takesMs = random() * 3 * SECOND
  const kinds: Answered[] = [
    { takesMs, status: 500 },
    { takesMs, status: null, charge: 10 },
    { takesMs, status: null, charge: 0 },
    { takesMs, status: 429, headers: { 'retry-after': '7' } },
    { takesMs, status: 503, headers: { 'retry-after': '2' } },
    // An answer slower than all others together.
    { takesMs: 50 * SECOND, data },
    { takesMs },
    { takesMs, status: 204, charge: 10 },
  ]
  return kinds[Math.floor(random() * kinds.length)] ?? { takesMs, status: 500 }
}

/** One run over the end of a month, killed and resumed. */
async function spendNight(night: Night) {
  const clock = virtualClock(MONTH_END - night.secondsLeft * SECOND)
  const random = seededRandom(night.seed)
  const batch = batchOf(['org_a'])
  const journal = memoryJournal([batch], clock.now())
  const service = aService(
    () => (random() < night.trouble ? troubled(random) : { takesMs: random() * 3 * SECOND, data }),
    clock,
  )
  const bought = new Set<number>()

  async function process(killAfterMs: number | undefined): Promise<void> {
    const history = journal.history()
    const { creditsCommitted: spent } = journal.run()
    const spentBy = monthlyCredits(history.spending, 'nightly')
    spentBy.set('2026-06', (spentBy.get('2026-06') ?? 0) + night.spentBefore)
    const journaling = journal.open()
    const stop = new AbortController()
    const buyer = aPageBuyer(service, journaling.writer, {
      budget: new Budget({
        run: { limit: night.runLimit, spent },
        month: { limit: night.monthLimit, spentBy },
        now: () => clock.now(),
      }),
      random,
      maxWaitMs: HOUR,
      stop: stop.signal,
      abort: stop.signal,
    })
    const wanted = Array.from({ length: night.pages }, (_, i) => i + 1).filter(
      (page) => !bought.has(page),
    )
    const worker = async () => {
      for (let page = wanted.shift(); page !== undefined; page = wanted.shift()) {
        await buyer.buy(batch, page)
        if (!stop.signal.aborted) bought.add(page)
      }
    }
    const workers = Array.from({ length: night.workers }, () => worker().catch(() => undefined))
    const all = Promise.all(workers)
    const death = (killAfterMs === undefined ? all : clock.sleep(killAfterMs)).then(() => {
      journaling.kill()
      stop.abort(new Error('killed'))
    })
    await clock.run(Promise.race([all, death]))
    await clock.run(all)
  }

  for (const killAfterMs of night.kills) await process(killAfterMs)
  await process(undefined)
  return { journal, service }
}

describe(`${NIGHTS} nights over the end of a month`, () => {
  it('with any limits, workers, failures, kills and slow answers overspends 0 pages, and the ledger equals the account', async () => {
    let pages = 0
    let stopped = 0
    await fc.assert(
      fc.asyncProperty(nights, async (night) => {
        const { journal, service } = await spendNight(night)
        const { account } = service
        const chargedIn = (requests: typeof account) => sum(requests.map(({ charged }) => charged))
        const all = service.charged()
        const inJune = chargedIn(account.filter(({ sentAt }) => sentAt < MONTH_END))
        const { runLimit, monthLimit, spentBefore } = night
        expect(all).toBeLessThanOrEqual(runLimit ?? Infinity)
        const limit = monthLimit ?? Infinity
        expect(inJune).toBeLessThanOrEqual(Math.max(0, limit - spentBefore))
        expect(all - inJune).toBeLessThanOrEqual(limit)

        // A request that died in flight counts as charged, even if the service did not charge it.
        const received = journal.records('page_received')
        const answered = new Set(received.map(({ request_id: id }) => id))
        const sent = journal.records('request_sent')
        expect(sent).toHaveLength(account.length)
        const ledger = journal.run().creditsCommitted
        expect(ledger).toBeGreaterThanOrEqual(all)
        const doubtful = account.filter((_, i) => !answered.has(sent[i]?.request_id ?? ''))
        const certain = sum(received.map(({ credits_used: credits }) => credits))
        expect(certain).toBe(all - chargedIn(doubtful))
        const months = monthlyCredits(journal.history().spending, 'nightly')
        expect(months.get('2026-06') ?? 0).toBeGreaterThanOrEqual(inJune)
        expect(months.get('2026-07') ?? 0).toBeGreaterThanOrEqual(all - inJune)
        expect(sum([...months.values()])).toBe(ledger)
        pages += received.length
        if (received.length < night.pages) stopped += 1
      }),
      { numRuns: NIGHTS },
    )
    // The limits took effect, and pages were bought.
    expect(pages).toBeGreaterThan(2 * NIGHTS)
    expect(stopped).toBeGreaterThan(NIGHTS / 5)
  }, 120_000)
})
