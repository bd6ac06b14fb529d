import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forecastPages } from '../../src/plan/expected-pages.ts'
import { CAUTIOUS_DISPERSION, widenForFree } from '../../src/plan/widening.ts'

const extraCredits = (rate: number, from: number, to: number) =>
  10 *
  (forecastPages(rate * to, CAUTIOUS_DISPERSION).pages -
    forecastPages(rate * from, CAUTIOUS_DISPERSION).pages)

describe('widenForFree', () => {
  it('a batch that surely has a page and surely no second one looks back as far as its page reaches', () => {
    expect(widenForFree(5, 2, 365)).toBe(5)
    expect(widenForFree(9, 2, 365)).toBe(3)
  })

  it('a batch that may be empty is not widened: each day more makes a page more likely', () => {
    expect(widenForFree(0.5, 2, 365)).toBe(2)
  })

  it('a batch in which hardly anything ever happens goes to 30 days, or to the initial window', () => {
    expect(widenForFree(1e-6, 2, 365)).toBe(30)
    expect(widenForFree(1e-6, 2, 14)).toBe(14)
    expect(widenForFree(1e-6, 45, 365)).toBe(45)
  })

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
