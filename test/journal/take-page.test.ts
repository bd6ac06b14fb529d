import { describe, expect, it } from 'vitest'
import { encodeMarks } from '../../src/journal/page-keys.ts'
import { doubtOf } from '../../src/journal/page-seams.ts'
import type { BatchRecord } from '../../src/journal/records.ts'
import {
  canGoOn,
  coveredTime,
  newBatchHistory,
  type BatchHistory,
  type TakenPage,
} from '../../src/journal/batch-history.ts'
import { takePage } from '../../src/journal/take-page.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'
import { aTakenPage } from './journal-fixture.ts'

const NOW = Date.UTC(2026, 10, 20)

function aBatch(fields: Partial<BatchRecord> = {}): BatchHistory {
  return newBatchHistory({
    batch_id: 's1',
    organizations: [{ by: 'id', value: 'org_a' }],
    days_ago: 30,
    event_types: ['joined'],
    ...fields,
  })
}

/** Marks of the events `from` … `from + 49`, as of one detection. */
function events(from: number, detectedAt = NOW - 5 * DAY): string {
  return encodeMarks(
    Array.from({ length: 50 }, (_, i) => ({ identity: String(from + i), detectedAt })),
  )
}

let order = 0
/** A page that was asked for when everything taken before was there. */
function next(page: number, fields: Partial<TakenPage> = {}): TakenPage {
  order += 2
  const keys = events(page * 50)
  return aTakenPage(page, { serverAt: NOW, asked: order - 1, received: order, keys, ...fields })
}

describe('pages in any order', () => {
  it('3 and 5 are kept until 2 and 4 are there: 0 pages are asked for twice', () => {
    const batch = aBatch()
    for (const page of [1, 3, 5]) takePage(batch, next(page))
    expect(batch).toMatchObject({ pages: 1, events: 50 })
    expect([...batch.ahead.keys()]).toEqual([3, 5])
    takePage(batch, next(2))
    expect(batch.pages).toBe(3)
    takePage(batch, next(4, { hasMore: true }))
    expect(batch).toMatchObject({ pages: 5, events: 250 })
    expect(batch.ahead.size).toBe(0)
  })

  it('an empty page past the end is remembered, and is no page of the batch', () => {
    const batch = aBatch()
    for (const page of [1, 2]) takePage(batch, next(page))
    takePage(batch, next(8, { events: 0, hasMore: false, keys: '' }))
    takePage(batch, next(4, { events: 0, hasMore: false, keys: '' }))
    expect(batch).toMatchObject({ pages: 2, hasMore: true, emptyFrom: 4 })
  })
})

describe('a seam where the later page was read first', () => {
  it('is proven by the next page that shows no event twice', () => {
    const batch = aBatch()
    for (const page of [1, 3, 2]) takePage(batch, next(page))
    expect(batch.seams.loose).toEqual([2])
    takePage(batch, next(4))
    expect(batch.seams.loose).toEqual([])
    expect(batch.pages).toBe(4)
  })

  it('is refuted when the next page begins with the last event of the one before: 3 and 4 are asked again', () => {
    const batch = aBatch()
    for (const page of [1, 3, 2]) takePage(batch, next(page))
    takePage(batch, next(4, { keys: events(4 * 50 - 1) }))
    expect(batch).toMatchObject({ pages: 2, hasMore: true })
  })

  it('in the right order an event that comes twice is no reason to go back', () => {
    const batch = aBatch()
    for (const page of [1, 2, 3]) takePage(batch, next(page, { keys: events(page * 49) }))
    expect(batch.pages).toBe(3)
  })

  it('at the end is doubtful until the list is known not to have grown', () => {
    const batch = aBatch()
    takePage(batch, next(1))
    takePage(batch, next(3, { events: 7, hasMore: false }))
    takePage(batch, next(2))
    expect(doubtOf(batch, NOW)).toMatchObject({ kind: 'early-last-page', page: 3, events: 107 })
  })
})

describe('an event that leaves the window', () => {
  const leaving = [NOW + 10 * SECOND - 30 * DAY]

  it('above a page read 11 s later: that page and the one before are asked again', () => {
    const batch = aBatch()
    takePage(batch, next(1, { leaving }))
    takePage(batch, next(2))
    takePage(batch, next(3, { serverAt: NOW + 11 * SECOND }))
    expect(batch.pages).toBe(1)
    takePage(batch, next(2, { serverAt: NOW + 12 * SECOND }))
    takePage(batch, next(3, { serverAt: NOW + 13 * SECOND, hasMore: false }))
    expect(batch).toMatchObject({ pages: 3, hasMore: false })
    expect(doubtOf(batch, NOW)).toBeNull()
  })

  it('in the second in which the last page was read: doubtful until a second has passed', () => {
    const batch = aBatch()
    takePage(batch, next(1, { leaving: [NOW + 300 - 30 * DAY] }))
    takePage(batch, next(2, { hasMore: false, events: 20 }))
    expect(doubtOf(batch, NOW)).toMatchObject({ waitMs: SECOND, page: 1, events: 69 })
  })

  it('on a page that paging went back behind is not forgotten', () => {
    const batch = aBatch()
    const later = [NOW + 20 * SECOND - 30 * DAY]
    takePage(batch, next(1, { leaving }))
    takePage(batch, next(2, { leaving: later }))
    takePage(batch, next(3, { serverAt: NOW + 11 * SECOND }))
    expect(batch.seams.strays).toEqual(later)
    takePage(batch, next(2, { serverAt: NOW + 12 * SECOND }))
    takePage(batch, next(3, { serverAt: NOW + 21 * SECOND }))
    expect(batch.pages).toBe(1)
  })
})

describe('an event that is met again as it was corrected', () => {
  /** Event 60, which was on page 1 before, in a later version. */
  function withCorrection(detectedAt: number): string {
    const marks = Array.from({ length: 49 }, (_, i) => ({
      identity: String(150 + i),
      detectedAt: NOW - 5 * DAY,
    }))
    return encodeMarks([...marks, { identity: '60', detectedAt }])
  }

  it('while pages were read: paging goes back to where it was', () => {
    const batch = aBatch()
    for (const page of [1, 2]) takePage(batch, next(page))
    takePage(batch, next(3, { keys: withCorrection(NOW + SECOND), serverAt: NOW + 2 * SECOND }))
    expect(batch.pages).toBe(1)
  })

  it('a week before: the service shows both, and nothing is asked again', () => {
    const batch = aBatch()
    for (const page of [1, 2]) takePage(batch, next(page))
    takePage(batch, next(3, { keys: withCorrection(NOW - 2 * DAY) }))
    expect(batch.pages).toBe(3)
    expect(batch.seams.keepsVersions).toBe(true)
  })
})

describe('a batch that is taken up again', () => {
  it('goes on while it is known what leaves, and starts anew after that', () => {
    const batch = aBatch()
    takePage(batch, next(1, { leavingUntil: NOW + 3 * DAY }))
    expect(canGoOn(batch, NOW + 3 * DAY)).toBe(true)
    expect(canGoOn(batch, NOW + 3 * DAY + 1)).toBe(false)
    takePage(batch, next(1, { serverAt: NOW + 4 * DAY }))
    takePage(batch, next(2, { serverAt: NOW + 4 * DAY, hasMore: false }))
    expect(coveredTime(batch, 0)).toEqual({
      from: NOW - 26 * DAY + SECOND,
      to: NOW + 4 * DAY,
    })
  })

  it('without a window always goes on', () => {
    const batch = aBatch({ days_ago: null })
    takePage(batch, next(1, { leavingUntil: NOW }))
    expect(canGoOn(batch, NOW + 400 * DAY)).toBe(true)
  })

  it('covers up to its first page and back from its last one', () => {
    const batch = aBatch()
    takePage(batch, next(1))
    takePage(batch, next(2, { serverAt: NOW + HOUR, hasMore: false }))
    expect(coveredTime(batch, 0)).toEqual({ from: NOW + HOUR + SECOND - 30 * DAY, to: NOW })
  })

  it('asked for page 2 again, forgets what came after it', () => {
    const batch = aBatch()
    for (const page of [1, 2, 3]) takePage(batch, next(page))
    takePage(batch, next(2))
    expect(batch).toMatchObject({ pages: 2, events: 100 })
  })
})
