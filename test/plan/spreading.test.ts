import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packParcels } from '../../src/plan/packing.ts'
import {
  BATCH_ORGANIZATIONS,
  eventsOf,
  batchCost,
  totalCost,
  type Parcel,
} from '../../src/plan/batch-cost.ts'
import { makeBatches } from '../../src/plan/batches.ts'
import { spreadPackings } from '../../src/plan/spreading.ts'

const cost = batchCost(1)

/** Organisations with so many expected events each in a window of 100 days. */
function parcels(events: readonly number[]): Parcel[] {
  return events.map((count, index) => ({ index, days: 100, rate: count / 100 }))
}

const spread = (list: readonly Parcel[], workers: number) =>
  spreadPackings(packParcels(list, cost), { workers, requests: 1 }, cost)

const eventsOfEach = (list: readonly Parcel[], workers: number) =>
  spread(list, workers)
    .map((packing) => Math.round(eventsOf(packing)))
    .toSorted((a, b) => b - a)

describe('spreadPackings', () => {
  it('cuts a batch of 600 pages of 15 organisations into 5 for 8 workers: none reads more than a fifth', () => {
    expect(eventsOfEach(parcels(Array(15).fill(2_000)), 8)).toEqual(Array(5).fill(6_000))
  })

  it('cuts 800 pages of 40 organisations into 8 for 8 workers, and into 2 for 2', () => {
    const list = parcels(Array(40).fill(1_000))
    expect(eventsOfEach(list, 8)).toEqual(Array(8).fill(5_000))
    expect(eventsOfEach(list, 2)).toEqual(Array(2).fill(20_000))
  })

  it('cuts 1 of 200 pages into 3 and not more: two pages are 1 % of them', () => {
    expect(eventsOfEach(parcels(Array(50).fill(200)), 8)).toHaveLength(3)
  })

  it('leaves alone what has fewer than 100 pages, what one worker reads, and what keeps all workers busy', () => {
    const night = parcels(Array(50).fill(90))
    expect(spread(night, 8)).toEqual(packParcels(night, cost))
    const long = parcels(Array(50).fill(2_000))
    expect(spread(long, 1)).toEqual(packParcels(long, cost))
    const many = parcels(Array(1_000).fill(200))
    expect(spread(many, 8)).toEqual(packParcels(many, cost))
  })

  it('does not cut what would be waited for all the same: an organisation of 500 pages among 14 of one', () => {
    expect(eventsOfEach(parcels([25_000, ...Array<number>(14).fill(50)]), 8)).toEqual([25_000, 700])
  })

  it('keeps every organisation in one batch, at most 50 in each, and costs 1 % more at most, for any list', () => {
    const lists = fc.array(fc.oneof(fc.nat(3_000), fc.nat(200)), { minLength: 1, maxLength: 160 })
    fc.assert(
      fc.property(lists, fc.integer({ min: 1, max: 32 }), (events, workers) => {
        const list = parcels(events)
        const batches = spread(list, workers)
        const places = batches.flatMap((batch) => batch.parcels.map(({ index }) => index))
        expect(places.toSorted((a, b) => a - b)).toEqual(list.map(({ index }) => index))
        const sizes = batches.map((batch) => batch.parcels.length)
        expect(Math.max(...sizes)).toBeLessThanOrEqual(BATCH_ORGANIZATIONS)
        const before = totalCost(packParcels(list, cost), cost)
        expect(totalCost(batches, cost)).toBeLessThanOrEqual(1.01 * before + 0.01)
      }),
      { numRuns: 100 },
    )
  })
})

describe('makeBatches', () => {
  it('cuts by the pages of each request: two types of 300 pages each are two requests, and cut into 4', () => {
    const needs = Array.from({ length: 40 }, () => ({
      days: 100,
      rate: { mean: 7.5, variance: 0, fromList: 0 },
    }))
    const batches = makeBatches(needs, { requests: 2, workers: 8, widest: null })
    expect(batches.map(({ events }) => Math.round(events))).toEqual(Array(4).fill(7_500))
  })
})
