import { describe, expect, it } from 'vitest'
import { exchangeOrganizations } from '../../src/plan/exchange.ts'
import { eventsOf, batchCost, totalCost, type Packing } from '../../src/plan/batch-cost.ts'

const cost = batchCost(1)

/** A batch of 50 organisations with these events in all, unevenly shared. */
function aBatch(events: number, days = 2, firstIndex = 0): Packing {
  const weights = Array.from({ length: 50 }, (_, n) => 1 + (n % 7))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  return {
    days,
    parcels: weights.map((weight, n) => ({
      index: firstIndex + n,
      days,
      rate: (events * weight) / whole / days,
    })),
  }
}

const indexesOf = (packing: readonly Packing[]) =>
  packing.flatMap(({ parcels }) => parcels.map(({ index }) => index)).toSorted((a, b) => a - b)

describe('exchangeOrganizations', () => {
  it('52 events, which often need a second page, and 25 become two pages', () => {
    const before = [aBatch(52), aBatch(25, 2, 50)]
    const after = exchangeOrganizations(before, cost, 100_000)
    expect(totalCost(before, cost)).toBeGreaterThan(2.5)
    expect(totalCost(after, cost)).toBeLessThan(2.12)
    expect(Math.max(...after.map(eventsOf))).toBeLessThan(43)
    expect(indexesOf(after)).toEqual(indexesOf(before))
    expect(after.map(({ parcels }) => parcels.length)).toEqual([50, 50])
  })

  it('leaves batches of different windows alone', () => {
    const before = [aBatch(52), aBatch(25, 3, 50)]
    expect(exchangeOrganizations(before, cost, 100_000)).toEqual(before)
  })

  it('changes nothing without tries, and nothing where nothing is to be gained', () => {
    const spilling = [aBatch(52), aBatch(25, 2, 50)]
    expect(exchangeOrganizations(spilling, cost, 0)).toEqual(spilling)
    const fitting = [aBatch(25), aBatch(26, 2, 50)]
    expect(totalCost(exchangeOrganizations(fitting, cost, 100_000), cost)).toBeCloseTo(
      totalCost(fitting, cost),
      2,
    )
  })
})
