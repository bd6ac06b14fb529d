import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packInListOrder, packParcels } from '../../src/plan/packing.ts'
import {
  BATCH_ORGANIZATIONS,
  batchCost,
  totalCost,
  type Parcel,
} from '../../src/plan/batch-cost.ts'
import { logNormal, seededRandom } from '../../src/simulator/random.ts'

const cost = batchCost(1)

function parcels(count: number, rateOf: (place: number) => number, days = 2): Parcel[] {
  return Array.from({ length: count }, (_, index) => ({ index, days, rate: rateOf(index) }))
}

const ratio = (list: readonly Parcel[]) =>
  totalCost(packParcels(list, cost), cost) / totalCost(packInListOrder(list), cost)

/** Organisations by window, most of them with the short ones. */
const anyParcels = fc
  .array(
    fc.record({
      days: fc.constantFrom(1, 2, 2, 2, 3, 5, 30, 365, 1_095),
      rate: fc.oneof(
        fc.double({ min: 0, max: 0.05, noNaN: true }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        fc.double({ min: 0, max: 60, noNaN: true }),
      ),
    }),
    { minLength: 1, maxLength: 400 },
  )
  .map((list): Parcel[] => list.map((one, index) => ({ index, ...one })))

describe('packParcels', () => {
  it('puts each of them into one batch of at most 50 with a window that is long enough, for any list', () => {
    fc.assert(
      fc.property(anyParcels, (list) => {
        const batches = packParcels(list, cost)
        const packed = batches.flatMap((batch) => batch.parcels.map(({ index }) => index))
        expect(packed.toSorted((a, b) => a - b)).toEqual(list.map(({ index }) => index))
        for (const batch of batches) {
          expect(batch.parcels.length).toBeLessThanOrEqual(BATCH_ORGANIZATIONS)
          expect(batch.days).toBe(Math.max(...batch.parcels.map(({ days }) => days)))
        }
      }),
      { numRuns: 150 },
    )
  })

  it('is expected to cost no more than batches in the order of the list, for any list', () => {
    fc.assert(
      fc.property(anyParcels, (list) => {
        const plain = totalCost(packInListOrder(list), cost)
        expect(totalCost(packParcels(list, cost), cost)).toBeLessThan(plain + 1e-6)
      }),
      { numRuns: 150 },
    )
  })

  it.each([
    { what: '2,000 quiet, two days', median: 0.02, sigma: 1.5, days: 2, least: 0.25 },
    { what: '2,000 very unlike, two days', median: 0.01, sigma: 2, days: 2, least: 0.35 },
    { what: '2,000 quiet, a week', median: 0.02, sigma: 1.5, days: 7, least: 0.08 },
    { what: '2,000 lively, two days', median: 0.3, sigma: 1.5, days: 2, least: 0.05 },
  ])('$what: at least $least below random batches', ({ median, sigma, days, least }) => {
    const random = seededRandom(11)
    const list = parcels(2_000, () => logNormal(random, median, sigma), days)
    expect(ratio(list)).toBeLessThan(1 - least)
  })

  it.each([
    {
      what: '30 quiet ones that need 2 days ride along with 20 that need 3',
      rate: 0.01,
      longer: 3,
    },
    { what: '30 lively ones do not ride along with 20 that need 365', rate: 1, longer: 365 },
  ])('$what', ({ rate, longer }) => {
    const list = parcels(50, () => rate).map((one, n) => (n < 30 ? one : { ...one, days: longer }))
    const batches = packParcels(list, cost).map((batch) => [batch.days, batch.parcels.length])
    expect(batches).toEqual(
      longer === 3
        ? [[3, 50]]
        : [
            [2, 30],
            [365, 20],
          ],
    )
  })

  it('2,000 equals with an event in two days: batches of 42 that fit a page, not 40 that often spill over', () => {
    const batches = packParcels(
      parcels(2_000, () => 0.5),
      cost,
    )
    expect(batches.length).toBeGreaterThan(45)
    expect(batches.every((batch) => batch.parcels.length < 45)).toBe(true)
  })
})
