import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BATCH_ORGANIZATIONS, packParcels, pagesOf, type Parcel } from '../../src/plan/packing.ts'
import { logNormal, seededRandom } from '../../src/simulator/random.ts'

const parcels = (events: readonly number[]): Parcel[] =>
  events.map((count, index) => ({ index, events: count }))

const pack = (events: readonly number[], workers = 1) =>
  packParcels(parcels(events), { requests: 1, workers })

const totalPages = (batches: readonly Parcel[][]) =>
  batches.reduce((sum, batch) => sum + pagesOf(batch, 1), 0)

function inListOrder(events: readonly number[]): Parcel[][] {
  const list = parcels(events)
  return Array.from({ length: Math.ceil(list.length / 50) }, (_, n) =>
    list.slice(n * 50, n * 50 + 50),
  )
}

/** The expected events of each batch, largest first. */
const eventsOfEach = (events: readonly number[], workers: number) =>
  pack(events, workers)
    .map((batch) => Math.round(batch.reduce((sum, one) => sum + one.events, 0)))
    .toSorted((a, b) => b - a)

const anyEvents = fc.array(
  fc.oneof(
    fc.double({ min: 0, max: 0.1, noNaN: true }),
    fc.double({ min: 0, max: 5, noNaN: true }),
    fc.double({ min: 0, max: 3_000, noNaN: true }),
  ),
  { minLength: 1, maxLength: 400 },
)

describe('packParcels', () => {
  it('puts each organisation into one batch of at most 50, at most 1 % and 2 pages above the minimum, for any list', () => {
    fc.assert(
      fc.property(anyEvents, fc.integer({ min: 1, max: 32 }), (events, workers) => {
        const batches = pack(events, workers)
        const packed = batches.flat().map(({ index }) => index)
        expect(packed.toSorted((a, b) => a - b)).toEqual(events.map((_, index) => index))
        expect(Math.max(...batches.map((batch) => batch.length))).toBeLessThanOrEqual(
          BATCH_ORGANIZATIONS,
        )
        expect(totalPages(batches)).toBeLessThan(1.01 * totalPages(pack(events)) + 0.1)
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    { what: '2,000 quiet, two days', median: 0.02, sigma: 1.5, days: 2, least: 0.25 },
    { what: '2,000 very unlike, two days', median: 0.01, sigma: 2, days: 2, least: 0.35 },
    { what: '2,000 quiet, a week', median: 0.02, sigma: 1.5, days: 7, least: 0.08 },
    { what: '2,000 lively, two days', median: 0.3, sigma: 1.5, days: 2, least: 0.05 },
  ])('$what: at least $least below random batches', ({ median, sigma, days, least }) => {
    const random = seededRandom(11)
    const events = Array.from({ length: 2_000 }, () => days * logNormal(random, median, sigma))
    expect(totalPages(pack(events)) / totalPages(inListOrder(events))).toBeLessThan(1 - least)
  })
})

describe('a long batch is split, so that all workers have something to read', () => {
  it('800 pages of 40 organisations into 8 for 8 workers, and into 2 for 2', () => {
    const events = Array<number>(40).fill(1_000)
    expect(eventsOfEach(events, 8)).toEqual(Array(8).fill(5_000))
    expect(eventsOfEach(events, 2)).toEqual(Array(2).fill(20_000))
  })

  it('200 pages into at most 3, because two more pages are 1 % of them', () => {
    expect(eventsOfEach(Array(50).fill(200), 8)).toHaveLength(3)
  })

  it('of two event types by the pages of each request: two of 300 pages are split into 4', () => {
    const list = parcels(Array(40).fill(750))
    expect(packParcels(list, { requests: 2, workers: 8 })).toHaveLength(4)
  })

  it('none with fewer than 100 pages, for one worker, or if all are busy', () => {
    expect(pack(Array(50).fill(90), 8)).toHaveLength(1)
    expect(pack(Array(50).fill(2_000), 1)).toHaveLength(1)
    expect(pack(Array(1_000).fill(200), 8)).toHaveLength(20)
  })
})
