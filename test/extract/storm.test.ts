import { describe, expect, it } from 'vitest'
import { createPacer } from '../../src/api/pacer.ts'
import { createBudget } from '../../src/extract/budget.ts'
import { createPageBuyer } from '../../src/extract/page-buyer.ts'
import { createRetryBudget } from '../../src/extract/retry-budget.ts'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import {
  memoryJournal,
  scriptedService,
  silentLogger,
  type MemoryJournal,
  type ScriptedAnswer,
  type ScriptedService,
} from './buying-fixture.ts'
import { errorOf, slicesOf } from './extract-fixture.ts'

const slice = slicesOf(['org_a'])[0]!
const aPage: ScriptedAnswer = { takesMs: 300, status: 200, events: 50, hasMore: true }

interface Weather {
  readonly clock: VirtualClock
  readonly service: ScriptedService
  readonly journal: MemoryJournal
  /** Buys pages 1 to `pages` with 8 workers at 5 requests a second; rejects with the first error. */
  buy(pages: number, maxWaitMs?: number): Promise<void>
}

/** A service that answers with `storm` for the time given, and with pages before and after. */
function aStorm(
  storm: (nth: number) => ScriptedAnswer,
  fromMs: number,
  lastsMs: number,
  clock = virtualClock(),
): Weather {
  const beganAt = clock.monotonic()
  let struck = 0
  const service = scriptedService(clock, () => {
    const passed = clock.monotonic() - beganAt
    if (passed < fromMs || passed >= fromMs + lastsMs) return aPage
    struck += 1
    return storm(struck)
  })
  const journal = memoryJournal([slice], clock.now())
  return {
    clock,
    service,
    journal,
    async buy(pages, maxWaitMs = 15 * MINUTE) {
      const stop = new AbortController()
      const run = journal.history().runs.get('run_1')!
      const buyer = createPageBuyer({
        runId: 'run_1',
        before: run,
        transport: service,
        pacer: createPacer(clock, 5, maxWaitMs),
        budget: createBudget({
          run: { limit: null, spent: run.creditsCommitted },
          now: () => clock.now(),
        }),
        writer: journal.open().writer,
        clock,
        random: () => 0.5,
        logger: silentLogger,
        baseUrl: 'http://127.0.0.1',
        maxWaitMs,
        stop: stop.signal,
        abort: new AbortController().signal,
      })
      let next = 1
      const worker = async () => {
        while (next <= pages) {
          const page = next
          next += 1
          await buyer.buy(slice, page)
        }
      }
      const failures: unknown[] = []
      const workers = Array.from({ length: 8 }, () =>
        worker().catch((error: unknown) => {
          failures.push(error)
          stop.abort(error)
        }),
      )
      await clock.run(Promise.all(workers))
      if (failures.length > 0) throw failures[0] as Error
    },
  }
}

const soon: ScriptedAnswer = { takesMs: 200, status: 500 }
const storms: { name: string; answer: ScriptedAnswer }[] = [
  {
    name: '503 with Retry-After: 60',
    answer: { ...soon, status: 503, headers: { 'retry-after': '60' } },
  },
  {
    name: '503 with Retry-After: 1',
    answer: { ...soon, status: 503, headers: { 'retry-after': '1' } },
  },
  { name: '503 without Retry-After', answer: { ...soon, status: 503 } },
  { name: '500', answer: soon },
  { name: '502 after 10 s', answer: { takesMs: 10 * SECOND, status: 502 } },
  { name: 'resets, each perhaps charged', answer: { ...soon, status: null, charge: 10 } },
]

describe('a storm of 10 minutes', () => {
  it.each([
    ...storms.map((storm) => ({ ...storm, pages: 100 })),
    { name: '500', answer: soon, pages: 400 },
  ])(
    '$name: $pages pages are bought with at most 1.10 times the requests and 20 more; after it none fails',
    async ({ answer, pages }) => {
      const stormy = aStorm(() => answer, 2 * SECOND, 10 * MINUTE)
      const endsAt = stormy.clock.now() + 2 * SECOND + 10 * MINUTE
      await stormy.buy(pages)
      const { account } = stormy.service
      expect(account.length).toBeLessThanOrEqual(1.1 * pages + 20)
      expect(account.filter(({ status }) => status === 200)).toHaveLength(pages)
      // The first probe after it succeeds. Without Retry-After the waits double, so that it may come as late as 8 minutes.
      const after = account.filter(({ sentAt }) => sentAt >= endsAt)
      expect(after.filter(({ status }) => status !== 200)).toEqual([])
      expect((after[0]?.sentAt ?? Infinity) - endsAt).toBeLessThanOrEqual(8 * MINUTE)
      // To the credit, what was lost on its way is counted.
      const charged = account.reduce((sum, request) => sum + request.charged, 0)
      expect(stormy.journal.history().runs.get('run_1')?.creditsCommitted).toBe(charged)
    },
  )

  it.each(storms)(
    '$name for hours: exit 5 when max_wait has passed, at most 60 requests',
    async ({ answer }) => {
      const stormy = aStorm(() => answer, 2 * SECOND, 1_000 * MINUTE)
      const beganAt = stormy.clock.now()
      expect(await errorOf(stormy.buy(400))).toMatchObject({ exitCode: 5 })
      expect(stormy.clock.now() - beganAt).toBeLessThanOrEqual(25 * MINUTE)
      expect(stormy.service.account.length).toBeLessThanOrEqual(60)
    },
  )
})

describe('the retry budget', () => {
  it('lets 20 requests be sent again, then a tenth of all', () => {
    const few = createRetryBudget({ requests: 0, failures: 0 })
    for (let i = 0; i < 20; i += 1) few.spend('reset')
    expect(() => few.spend('reset')).toThrow('21 of 0 requests')

    const many = createRetryBudget({ requests: 0, failures: 0 })
    for (let i = 0; i < 1_000; i += 1) many.sent()
    for (let i = 0; i < 100; i += 1) many.spend('reset')
    expect(() => many.spend('reset')).toThrow('101 of 1000 requests')
  })

  it('goes on where a killed run stopped', () => {
    const budget = createRetryBudget({ requests: 150, failures: 20 })
    expect(() => budget.spend('reset')).toThrow(expect.objectContaining({ exitCode: 5 }) as Error)
  })

  it('does not count what failed while one probe at a time found out: 20 retries are left after 10 minutes of 500', async () => {
    const stormy = aStorm(() => soon, 2 * SECOND, 10 * MINUTE)
    await stormy.buy(30)
    expect(stormy.service.account.filter(({ status }) => status === 500).length).toBeGreaterThan(20)
    expect(stormy.journal.history().runs.get('run_1')?.failures).toBeLessThanOrEqual(8)
  })

  it('ends a run with exit 5 when each third request fails, after 21 failures, also over two processes', async () => {
    const flaky = aStorm(
      (nth) => (nth % 3 === 0 ? { takesMs: 200, status: 502 } : aPage),
      0,
      1_000 * MINUTE,
    )
    expect(await errorOf(flaky.buy(300))).toMatchObject({ exitCode: 5 })
    const failed = flaky.service.account.filter(({ status }) => status === 502).length
    expect(failed).toBeGreaterThanOrEqual(21)
    expect(failed).toBeLessThanOrEqual(21 + 8)
    await errorOf(flaky.buy(300))
    const again = flaky.service.account.filter(({ status }) => status === 502).length
    expect(again - failed).toBeLessThanOrEqual(8)
  })
})
