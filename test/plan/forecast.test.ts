import { describe, expect, it } from 'vitest'
import type { RunOutcome } from '../../src/journal/records.ts'
import type { RunHistory } from '../../src/journal/run-history.ts'
import { billRange, expectedPages, ratesOf } from '../../src/plan/forecast.ts'
import { finishedRun, sightings } from './plan-fixture.ts'

describe('expectedPages', () => {
  it.each([0, 0.001, 0.5, 3, 25, 49, 50, 51, 54, 75, 99, 160, 740, 2_600, 5_000])(
    'of %d expected events: within 0.02 of the sum over every count',
    (mean) => {
      // Negative binomial with a variance of 1.25 times the mean, each probability from the one before.
      let probability = 1.25 ** (-mean / 0.25)
      let logarithm = (-mean / 0.25) * Math.log(1.25)
      let pages = 0
      for (let n = 1; n < mean + 20 * Math.sqrt(mean) + 100; n += 1) {
        logarithm += Math.log((0.2 * (mean / 0.25 + n - 1)) / n)
        probability = Math.exp(logarithm)
        pages += probability * Math.ceil(n / 50)
      }
      expect(Math.abs(expectedPages(mean) - pages)).toBeLessThan(0.02)
    },
  )
})

describe('the rate of an organisation', () => {
  const list = [sightings(2), sightings(0.02), sightings(0), undefined]
  const rateOf = ratesOf(list)

  it('is its own after a year of reads, and small but above 0 if it was silent', () => {
    expect(rateOf(list[0])).toBeCloseTo(2, 2)
    expect(rateOf(list[1])).toBeCloseTo(0.02, 2)
    expect(rateOf(list[2])).toBeGreaterThan(0.0001)
    expect(rateOf(list[2])).toBeLessThan(0.001)
  })

  it('is the typical one of the list if it was never read, or its batch was not read to the end', () => {
    expect(rateOf(undefined)).toBeCloseTo(2.02 / 3, 2)
    expect(rateOf({ ...sightings(5), days: 0 })).toBe(rateOf(undefined))
  })

  it('is 0.2 events a day if nothing was ever read, and above 0 after a day without any', () => {
    expect(ratesOf([])(undefined)).toBeCloseTo(0.2, 9)
    const silent = { ...sightings(0), days: 1 }
    expect(ratesOf(Array(5).fill(silent))(undefined)).toBeGreaterThan(0.01)
  })
})

describe('the range of a bill', () => {
  interface RunChoices {
    readonly pipeline?: string
    readonly expected?: number
    readonly outcome?: RunOutcome
    readonly resumed?: number
  }

  /** A run that cost this many credits; 1,000 were expected. */
  function aRun(credits: number, choices: RunChoices = {}): RunHistory {
    const { pipeline = 'nightly', expected = 1_000, outcome = 'done', resumed = 0 } = choices
    const fields = { pipeline, ...(expected === 0 ? {} : { expected_credits: expected }) }
    return Object.assign(finishedRun(credits, fields, outcome), { resumed })
  }

  const rangeOf = (...bills: number[]) =>
    billRange(
      2_000,
      bills.map((one) => aRun(one)),
      'nightly',
    )

  it('spans the errors of the lowest and the highest bill of the last runs, in whole pages', () => {
    expect(rangeOf(800, 1_000, 1_000, 1_100, 900)).toEqual({ low: 1_600, high: 2_200, runs: 5 })
  })

  it('is unknown before 5 runs', () => {
    expect(rangeOf(800, 1_000, 1_000, 1_100)).toBeNull()
  })

  it('uses only the last 19 runs', () => {
    const bills = [...Array<number>(30).fill(200), ...Array<number>(19).fill(1_000)]
    expect(rangeOf(...bills)).toEqual({ low: 2_000, high: 2_000, runs: 19 })
  })

  it('of nights forecast as free is one page if one of them cost one', () => {
    const runs = [0, 0, 10, 0, 0].map((credits) => aRun(credits, { expected: 1 }))
    expect(billRange(1, runs, 'nightly')).toEqual({ low: 0, high: 10, runs: 5 })
  })

  it.each<[string, RunChoices]>([
    ['another pipeline', { pipeline: 'weekly' }],
    ['a plan that had to guess', { expected: 0 }],
    ['a run that reached its budget', { outcome: 'budget' }],
    ['a run that was resumed', { resumed: 1 }],
  ])('leaves out %s', (_, choices) => {
    const runs = [...Array<RunHistory>(5).fill(aRun(1_000)), aRun(100, choices)]
    expect(billRange(1_000, runs, 'nightly')).toEqual({ low: 1_000, high: 1_000, runs: 5 })
  })
})
