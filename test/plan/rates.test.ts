import { describe, expect, it } from 'vitest'
import { fitPrior, rateOf, type Exposure } from '../../src/plan/rates.ts'
import { logNormal, seededRandom } from '../../src/simulator/random.ts'

const UNKNOWN = fitPrior([])

/** Rates of organisations and what so many days of reading showed of each. */
function aList(count: number, days: number, seed: number): { rate: number; seen: Exposure }[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => {
    const rate = logNormal(random, 0.02, 1.5)
    let events = 0
    for (let at = -Math.log(1 - random()) / rate; at < days; events += 1) {
      at += -Math.log(1 - random()) / rate
    }
    return { rate, seen: { events, days } }
  })
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length

describe('the rate of an organisation', () => {
  it('is the typical rate of the list where it was never asked', () => {
    const prior = fitPrior(aList(500, 365, 1).map(({ seen }) => seen))
    expect(rateOf(prior, undefined)).toMatchObject({ mean: prior.mean, fromList: 1 })
  })

  it('is still the typical one after pages of a batch that was not read to its end', () => {
    const prior = { shape: 0.5, mean: 0.2, meanSpread: 0.1 }
    expect(rateOf(prior, { events: 500, days: 0 })).toEqual(rateOf(prior, undefined))
  })

  it('is a default of 0.2 events a day in a wide range where nothing was ever read', () => {
    expect(rateOf(UNKNOWN, undefined).mean).toBeCloseTo(0.2, 9)
    expect(Math.exp(1.645 * UNKNOWN.meanSpread)).toBeGreaterThan(7)
  })

  it('moves from the typical rate towards its own with every day that was read', () => {
    const prior = { shape: 0.5, mean: 0.2, meanSpread: 0.1 }
    const own = [1, 10, 100, 10_000].map((days) => rateOf(prior, { events: 2 * days, days }))
    const rates = own.map((rate) => rate.mean)
    expect(rates).toEqual(rates.toSorted((a, b) => a - b))
    expect(rates[0]).toBeGreaterThan(0.2)
    expect(rates.at(-1)).toBeCloseTo(2, 2)
    expect(own.at(-1)?.fromList).toBeLessThan(0.001)
  })

  it('is small but not 0 for an organisation without an event in a year', () => {
    const list = aList(2_000, 365, 2)
    const prior = fitPrior(list.map(({ seen }) => seen))
    const silent = list.filter(({ seen }) => seen.events === 0)
    const truth = mean(silent.map(({ rate }) => rate))
    const estimate = rateOf(prior, { events: 0, days: 365 }).mean
    expect(silent.length).toBeGreaterThan(50)
    expect(estimate / truth).toBeGreaterThan(0.5)
    expect(estimate / truth).toBeLessThan(2)
  })
})

describe('fitPrior', () => {
  it.each([3, 4, 5])(
    'finds the typical rate of 2,000 organisations within 3 of its own spreads (seed %i)',
    (seed) => {
      const list = aList(2_000, 365, seed)
      const prior = fitPrior(list.map(({ seen }) => seen))
      const truth = mean(list.map(({ rate }) => rate))
      expect(Math.abs(Math.log(prior.mean / truth))).toBeLessThan(3 * prior.meanSpread)
      expect(prior.meanSpread).toBeLessThan(0.1)
    },
  )

  it('tells a list of equals from a list with giants', () => {
    const equals = Array.from({ length: 200 }, (_, n) => ({ events: 18 + (n % 5), days: 100 }))
    const giants = Array.from({ length: 200 }, (_, n) => ({ events: n < 4 ? 1_000 : 0, days: 100 }))
    expect(fitPrior(equals).shape).toBeGreaterThan(10)
    expect(fitPrior(giants).shape).toBeLessThan(0.05)
  })

  it('a list that was silent for a day is not taken to be silent for ever', () => {
    const prior = fitPrior(Array.from({ length: 5 }, () => ({ events: 0, days: 1 })))
    expect(prior.mean).toBeGreaterThan(0.01)
    expect(prior.mean).toBeLessThan(UNKNOWN.mean)
  })
})
