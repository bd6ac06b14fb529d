import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forecastPages } from '../../src/plan/expected-pages.ts'
import { CAUTIOUS_DISPERSION, widenForFree } from '../../src/plan/widening.ts'

const extraCredits = (rate: number, from: number, to: number) =>
  10 *
  (forecastPages(rate * to, CAUTIOUS_DISPERSION).pages -
    forecastPages(rate * from, CAUTIOUS_DISPERSION).pages)

describe('widenForFree', () => {
  it('costs at most 0.01 credits more, never less than is needed, and no longer window would do', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-7, max: 100, noNaN: true }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 365 }),
        (rate, days, widest) => {
          const asked = widenForFree(rate, days, widest)
          const limit = Math.max(days, Math.min(30, widest))
          expect(asked).toBeGreaterThanOrEqual(days)
          expect(asked).toBeLessThanOrEqual(limit)
          expect(extraCredits(rate, days, asked)).toBeLessThanOrEqual(0.01)
          if (asked < limit) expect(extraCredits(rate, days, asked + 1)).toBeGreaterThan(0.01)
        },
      ),
      { numRuns: 500 },
    )
  })
})
