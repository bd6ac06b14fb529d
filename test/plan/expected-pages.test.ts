import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forecastPages, pageTable } from '../../src/plan/expected-pages.ts'

/** Probabilities of 0, 1, 2 … events, each by its own product, without a gamma function. */
function probabilities(mean: number, dispersion: number): number[] {
  const size = mean / (dispersion - 1)
  const logs = [dispersion === 1 ? -mean : -size * Math.log(dispersion)]
  for (let n = 1; n <= mean + 40 * Math.sqrt(mean * dispersion) + 400 * dispersion; n += 1) {
    const ratio =
      dispersion === 1 ? mean / n : ((size + n - 1) / n) * ((dispersion - 1) / dispersion)
    logs.push((logs[n - 1] ?? 0) + Math.log(ratio))
  }
  return logs.map(Math.exp)
}

function summed(mean: number, dispersion: number): { pages: number; variance: number } {
  const terms = probabilities(mean, dispersion)
  const pages = terms.reduce((sum, p, n) => sum + p * Math.ceil(n / 50), 0)
  const variance = terms.reduce((sum, p, n) => sum + p * (Math.ceil(n / 50) - pages) ** 2, 0)
  return { pages, variance }
}

describe('forecastPages', () => {
  const means = [0.001, 0.5, 3, 25, 49, 50, 51, 99, 160, 740, 1_300, 2_600, 5_000]
  it.each(means)('%d expected events: as the sum over every count says', (mean) => {
    for (const dispersion of [1, 1.25, 2, 6]) {
      const exact = summed(mean, dispersion)
      const forecast = forecastPages(mean, dispersion)
      expect(forecast.pages).toBeCloseTo(exact.pages, 4)
      expect(forecast.variance).toBeCloseTo(exact.variance, 3)
      expect(forecast.empty).toBeCloseTo(probabilities(mean, dispersion)[0] ?? Number.NaN, 9)
    }
  })

  it('counts that hardly vary cost what they fill: 25 events 1 page, 75 events 2', () => {
    expect(forecastPages(25).pages).toBeCloseTo(1, 3)
    expect(forecastPages(75).pages).toBeCloseTo(2, 1)
  })

  it('no event expected, no page', () => {
    expect(forecastPages(0)).toEqual({ pages: 0, variance: 0, empty: 1 })
  })
})

describe('pageTable', () => {
  const pages = pageTable()
  const anyMean = fc.double({ min: 1e-6, max: 6_000, noNaN: true })

  it('is within 0.001 pages of the sum, for any expectation up to 6,000', () => {
    fc.assert(
      fc.property(anyMean, (mean) => {
        expect(Math.abs(pages(mean) - forecastPages(mean).pages)).toBeLessThan(0.001)
      }),
      { numRuns: 300 },
    )
  })

  it('never says that two batches cost less than one with the events of both', () => {
    fc.assert(
      fc.property(anyMean, anyMean, (a, b) => {
        expect(pages(a + b)).toBeLessThan(pages(a) + pages(b) + 0.002)
      }),
      { numRuns: 1_000 },
    )
  })
})
