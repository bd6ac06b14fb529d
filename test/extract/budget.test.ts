import fc from 'fast-check'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { BudgetReachedError, createBudget } from '../../src/extract/budget.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import {
  NOW,
  manyEvents,
  simulate,
  sourceOf,
  standingClock,
} from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  expectEqualBooks,
  jumpingClock,
  slicesOf,
  watchUnhandledRejections,
} from './extract-fixture.ts'

const never = () => new AbortController().signal

describe('createBudget', () => {
  it('lets 5 pages of 10 through 50 credits and refuses the 6th', async () => {
    const budget = createBudget(50, 0)
    for (let page = 0; page < 5; page += 1) {
      await budget.reserve(never())
      budget.settle(10)
    }
    await expect(budget.reserve(never())).rejects.toThrow(BudgetReachedError)
    expect(budget.spent()).toBe(50)
  })

  it.each([
    { limit: 9, spent: 0 },
    { limit: 59, spent: 50 },
    { limit: 50, spent: 50 },
  ])(
    'refuses at once where less than a page is left: $spent of $limit',
    async ({ limit, spent }) => {
      await expect(createBudget(limit, spent).reserve(never())).rejects.toMatchObject({
        exitCode: 4,
      })
    },
  )

  it('lets a second request wait for the first, which may turn out free', async () => {
    const budget = createBudget(10, 0)
    await budget.reserve(never())
    let isThrough = false
    const second = budget.reserve(never()).then(() => {
      isThrough = true
    })
    await Promise.resolve()
    expect(isThrough).toBe(false)
    budget.settle(0)
    await second
    expect(isThrough).toBe(true)
  })

  it('a waiter that is aborted throws the reason', async () => {
    const budget = createBudget(10, 0)
    await budget.reserve(never())
    const stop = new AbortController()
    const waiting = errorOf(budget.reserve(stop.signal))
    const reason = new Error('stop')
    stop.abort(reason)
    expect(await waiting).toBe(reason)
  })

  it('leaves no listener behind after 500 waits', async () => {
    const budget = createBudget(10, 0)
    const { signal } = new AbortController()
    for (let i = 0; i < 500; i += 1) {
      await budget.reserve(signal)
      const next = budget.reserve(signal)
      expect(getEventListeners(signal, 'abort')).toHaveLength(1)
      budget.settle(0)
      await next
      budget.settle(0)
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('the budget of a run', () => {
  it('ends it with exit 4; a fresh one of the same size finishes it, buying nothing twice', async () => {
    const simulator = await simulate(manyEvents(400))
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      slices: slicesOf(['org_a']),
    })
    const error = await errorOf(extraction.run({ creditsLimit: 50 }))
    expect(error).toMatchObject({ exitCode: 4, context: { limit: 50, spent: 50 } })
    // The end of a run in the journal, as run/ writes it, is what makes the budget fresh.
    const writer = extraction.journal.writer()
    await writer.append({
      kind: 'run_finished',
      run_id: 'run_1',
      at: NOW,
      outcome: 'budget',
      exit_code: 4,
      message: null,
    })
    await writer.close()
    await extraction.run({ creditsLimit: 50 })
    expect(simulator.account()).toMatchObject({ requests: 8, credits: 80 })
    expectEqualBooks(extraction, simulator)
  })

  it('counts what a killed attempt spent: without an end in the journal it is not fresh', async () => {
    const simulator = await simulate(manyEvents(400))
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      slices: slicesOf(['org_a']),
    })
    await errorOf(extraction.run({ creditsLimit: 30 }))
    expect(await errorOf(extraction.run({ creditsLimit: 30 }))).toMatchObject({ exitCode: 4 })
    expect(simulator.account().credits).toBe(30)
  })

  it('is never exceeded, by any world, limit, faults and 1 to 16 workers', async () => {
    const rejections = watchUnhandledRejections()
    const worlds = fc.record({
      // No empty pages: one that is cut on its way is free, yet must be counted as billed.
      sizes: fc.array(fc.integer({ min: 1, max: 230 }), { minLength: 1, maxLength: 20 }),
      limit: fc.integer({ min: 0, max: 300 }),
      concurrency: fc.integer({ min: 1, max: 16 }),
      cutShare: fc.constantFrom(0, 0.2),
    })
    await fc.assert(
      fc.asyncProperty(worlds, async ({ sizes, limit, concurrency, cutShare }) => {
        const ids = sizes.map((_, i) => `org_${i}x`)
        const source = sourceOf(
          sizes.flatMap((size, i) => manyEvents(size, { organization: ids[i] ?? '' })),
        )
        const simulator = await startSimulator({
          source,
          clock: standingClock(),
          unknownIds: 'ignore',
          faults: [{ cut: '50%', probability: cutShare, times: 'always' }],
        })
        try {
          const slices = ids.flatMap((id, i) => slicesOf([id], { slice_id: `${i}` }))
          const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), slices })
          const outcome = await extraction
            .run({ concurrency, creditsLimit: limit })
            .catch((error: unknown) => error)
          expect(simulator.account().credits).toBeLessThanOrEqual(limit)
          expectEqualBooks(extraction, simulator)
          if (!(outcome instanceof Error)) {
            expect(extraction.events()).toHaveLength(sizes.reduce((sum, size) => sum + size, 0))
          } else if (outcome instanceof BudgetReachedError) {
            // It stopped because not one more page could be paid, not earlier.
            expect(simulator.account().credits + 10).toBeGreaterThan(limit)
          } else {
            expect(outcome).toMatchObject({ exitCode: 5 })
          }
        } finally {
          await simulator.close()
        }
      }),
      { numRuns: 30 },
    )
    expect(rejections()).toEqual([])
  })
})
