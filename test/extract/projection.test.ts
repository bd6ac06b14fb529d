import { describe, expect, it } from 'vitest'
import { fractionOf, pagesToBuy, project } from '../../src/extract/projection.ts'
import { newBatchHistory, type BatchHistory } from '../../src/journal/batch-history.ts'
import { logNormal, seededRandom } from '../../src/simulator/random.ts'
import { rounds } from '../helpers/tier.ts'
import { batchOf } from './extract-fixture.ts'

const DRAWS = rounds('JOBTIDE_DRAWS', 300, 2_000)

/** A batch that has, or will have, this many events. */
function aBatch(events: number, state: BatchHistory['state'], expected?: number): BatchHistory {
  const fields = expected === undefined ? {} : { expected_pages: expected }
  const pages = state === 'finished' ? Math.ceil(events / 50) : 0
  return {
    ...newBatchHistory(batchOf(['org_a'], fields)),
    state,
    pages: Math.max(pages, 1),
    events: pages && events,
  }
}

/** The share of draws in which the bill of all batches was within the range after `read` of them were read. */
function heldIn(counts: readonly number[], read: number, batches: number): number {
  const random = seededRandom(read * 1_000 + batches)
  let held = 0
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const events = Array.from({ length: batches }, () => {
      let all = 0
      for (let i = 0; i < 50; i += 1) all += counts[Math.floor(random() * counts.length)] ?? 0
      return all
    })
    const histories = events.map((all, i) => aBatch(all, i < read ? 'finished' : 'planned'))
    const bill = events.reduce((sum, all) => sum + 10 * Math.ceil(all / 50), 0)
    const { low, high } = project(histories) ?? { low: Infinity, high: 0 }
    if (low <= bill && bill <= high) held += 1
  }
  return held / DRAWS
}

const cases = [
  { read: 3, batches: 10 },
  { read: 5, batches: 20 },
  { read: 5, batches: 40 },
  { read: 20, batches: 100 },
]

describe('the 90 % range of a projection', () => {
  it.each(cases)(
    'holds in 85 to 99 % of draws from a list with a long tail: $read of $batches batches read',
    ({ read, batches }) => {
      const random = seededRandom(5)
      const counts = Array.from({ length: 5_000 }, () => Math.round(logNormal(random, 2, 1.6)))
      const held = heldIn(counts, read, batches)
      expect(held).toBeGreaterThanOrEqual(0.85)
      expect(held).toBeLessThanOrEqual(0.99)
    },
  )
})

describe('a projection', () => {
  it('narrows with every batch read, and equals the bill once all are', () => {
    const events = Array.from({ length: 12 }, (_, i) => 120 + ((i * 37) % 90))
    const ranges = [2, 4, 8, 11, 12].map((read) => {
      const all = events.map((count, i) => aBatch(count, i < read ? 'finished' : 'planned'))
      const { low, high } = project(all)!
      return high - low
    })
    expect(ranges).toEqual(ranges.toSorted((a, b) => b - a))
    expect(ranges.at(-1)).toBe(0)
  })

  it('is in proportion to the expected pages: if 2 batches cost half as much again, so will the third', () => {
    const read = [aBatch(750, 'finished', 10), aBatch(1_500, 'finished', 20)]
    expect(project([...read, aBatch(0, 'planned', 40)])).toMatchObject({ expected: 1_050 })
  })

  it('does not exist for one batch, and is 0 for batches without events', () => {
    expect(project([aBatch(100, 'finished'), aBatch(0, 'planned')])).toBeNull()
    const empty = [aBatch(0, 'finished'), aBatch(0, 'finished'), aBatch(0, 'planned')]
    expect(project(empty)).toMatchObject({ expected: 0, low: 0 })
  })
})

/** A batch with this many pages read. */
const begun = (expected: number, pages: number, state: BatchHistory['state'] = 'planned') => ({
  ...newBatchHistory(batchOf(['org_a'], { expected_pages: expected })),
  state,
  pages,
})

describe('a run of a batch of 9 pages and one that may be empty', () => {
  const small = begun(0.2, 0)
  it.each([
    [0, 'before the first page', [begun(9, 0), small]],
    [0.3, 'after 3 pages', [begun(9, 3), small]],
    [0.855, 'while the large one has more pages than expected', [begun(9, 40), small]],
    [0.9, 'when the large one is finished', [begun(9, 3, 'finished'), small]],
    [1, 'when it has no batch', []],
  ] as const)('is done to %f %s', (fraction, _, batches) => {
    expect(fractionOf(batches)).toBeCloseTo(fraction)
  })
})

describe('what a batch of 9 expected pages still costs', () => {
  it('is 9 pages at first, 6 after 3, as many as were read once it is longer than expected, and at least 1', () => {
    expect([0, 3, 9, 20].map((pages) => pagesToBuy(begun(9, pages)))).toEqual([9, 6, 9, 20])
    expect(pagesToBuy(begun(0.2, 0))).toBe(1)
  })
})
