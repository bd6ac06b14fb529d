import { describe, expect, it } from 'vitest'
import { encodeMarks } from '../../src/journal/page-keys.ts'
import { doubtOf } from '../../src/journal/page-seams.ts'
import type { SliceRecord } from '../../src/journal/records.ts'
import {
  canGoOn,
  coveredTime,
  newSliceHistory,
  type SliceHistory,
  type TakenPage,
} from '../../src/journal/slice-history.ts'
import { takePage } from '../../src/journal/take-page.ts'
import { DAY, HOUR, SECOND } from '../../src/support/units.ts'
import { aTakenPage } from './journal-fixture.ts'

const NOW = Date.UTC(2026, 10, 20)

function aSlice(fields: Partial<SliceRecord> = {}): SliceHistory {
  return newSliceHistory({
    slice_id: 's1',
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
    const slice = aSlice()
    for (const page of [1, 3, 5]) takePage(slice, next(page))
    expect(slice).toMatchObject({ pages: 1, events: 50 })
    expect([...slice.ahead.keys()]).toEqual([3, 5])
    takePage(slice, next(2))
    expect(slice.pages).toBe(3)
    takePage(slice, next(4, { hasMore: true }))
    expect(slice).toMatchObject({ pages: 5, events: 250 })
    expect(slice.ahead.size).toBe(0)
  })

  it('an empty page past the end is remembered, and is no page of the slice', () => {
    const slice = aSlice()
    for (const page of [1, 2]) takePage(slice, next(page))
    takePage(slice, next(8, { events: 0, hasMore: false, keys: '' }))
    takePage(slice, next(4, { events: 0, hasMore: false, keys: '' }))
    expect(slice).toMatchObject({ pages: 2, hasMore: true, emptyFrom: 4 })
  })
})

describe('a seam where the later page was read first', () => {
  it('is proven by the next page that shows no event twice', () => {
    const slice = aSlice()
    for (const page of [1, 3, 2]) takePage(slice, next(page))
    expect(slice.seams.loose).toEqual([2])
    takePage(slice, next(4))
    expect(slice.seams.loose).toEqual([])
    expect(slice.pages).toBe(4)
  })

  it('is refuted when the next page begins with the last event of the one before: 3 and 4 are asked again', () => {
    const slice = aSlice()
    for (const page of [1, 3, 2]) takePage(slice, next(page))
    takePage(slice, next(4, { keys: events(4 * 50 - 1) }))
    expect(slice).toMatchObject({ pages: 2, hasMore: true })
  })

  it('in the right order an event that comes twice is no reason to go back', () => {
    const slice = aSlice()
    for (const page of [1, 2, 3]) takePage(slice, next(page, { keys: events(page * 49) }))
    expect(slice.pages).toBe(3)
  })

  it('at the end is doubtful until the list is known not to have grown', () => {
    const slice = aSlice()
    takePage(slice, next(1))
    takePage(slice, next(3, { events: 7, hasMore: false }))
    takePage(slice, next(2))
    expect(doubtOf(slice, NOW)).toMatchObject({ kind: 'early-last-page', page: 3, events: 107 })
  })
})

describe('an event that leaves the window', () => {
  const leaving = [NOW + 10 * SECOND - 30 * DAY]

  it('above a page read 11 s later: that page and the one before are asked again', () => {
    const slice = aSlice()
    takePage(slice, next(1, { leaving }))
    takePage(slice, next(2))
    takePage(slice, next(3, { serverAt: NOW + 11 * SECOND }))
    expect(slice.pages).toBe(1)
    takePage(slice, next(2, { serverAt: NOW + 12 * SECOND }))
    takePage(slice, next(3, { serverAt: NOW + 13 * SECOND, hasMore: false }))
    expect(slice).toMatchObject({ pages: 3, hasMore: false })
    expect(doubtOf(slice, NOW)).toBeNull()
  })

  it('in the second in which the last page was read: doubtful until a second has passed', () => {
    const slice = aSlice()
    takePage(slice, next(1, { leaving: [NOW + 300 - 30 * DAY] }))
    takePage(slice, next(2, { hasMore: false, events: 20 }))
    expect(doubtOf(slice, NOW)).toMatchObject({ waitMs: SECOND, page: 1, events: 69 })
  })

  it('on a page that paging went back behind is not forgotten', () => {
    const slice = aSlice()
    const later = [NOW + 20 * SECOND - 30 * DAY]
    takePage(slice, next(1, { leaving }))
    takePage(slice, next(2, { leaving: later }))
    takePage(slice, next(3, { serverAt: NOW + 11 * SECOND }))
    expect(slice.seams.strays).toEqual(later)
    takePage(slice, next(2, { serverAt: NOW + 12 * SECOND }))
    takePage(slice, next(3, { serverAt: NOW + 21 * SECOND }))
    expect(slice.pages).toBe(1)
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
    const slice = aSlice()
    for (const page of [1, 2]) takePage(slice, next(page))
    takePage(slice, next(3, { keys: withCorrection(NOW + SECOND), serverAt: NOW + 2 * SECOND }))
    expect(slice.pages).toBe(1)
  })

  it('a week before: the service shows both, and nothing is asked again', () => {
    const slice = aSlice()
    for (const page of [1, 2]) takePage(slice, next(page))
    takePage(slice, next(3, { keys: withCorrection(NOW - 2 * DAY) }))
    expect(slice.pages).toBe(3)
    expect(slice.seams.keepsVersions).toBe(true)
  })
})

describe('a slice that is taken up again', () => {
  it('goes on while it is known what leaves, and starts anew after that', () => {
    const slice = aSlice()
    takePage(slice, next(1, { leavingUntil: NOW + 3 * DAY }))
    expect(canGoOn(slice, NOW + 3 * DAY)).toBe(true)
    expect(canGoOn(slice, NOW + 3 * DAY + 1)).toBe(false)
    takePage(slice, next(1, { serverAt: NOW + 4 * DAY }))
    takePage(slice, next(2, { serverAt: NOW + 4 * DAY, hasMore: false }))
    expect(coveredTime(slice, 0)).toEqual({
      from: NOW - 26 * DAY + SECOND,
      to: NOW + 4 * DAY,
    })
  })

  it('without a window always goes on', () => {
    const slice = aSlice({ days_ago: null })
    takePage(slice, next(1, { leavingUntil: NOW }))
    expect(canGoOn(slice, NOW + 400 * DAY)).toBe(true)
  })

  it('covers up to its first page and back from its last one', () => {
    const slice = aSlice()
    takePage(slice, next(1))
    takePage(slice, next(2, { serverAt: NOW + HOUR, hasMore: false }))
    expect(coveredTime(slice, 0)).toEqual({ from: NOW + HOUR + SECOND - 30 * DAY, to: NOW })
  })

  it('asked for page 2 again, forgets what came after it', () => {
    const slice = aSlice()
    for (const page of [1, 2, 3]) takePage(slice, next(page))
    takePage(slice, next(2))
    expect(slice).toMatchObject({ pages: 2, events: 100 })
  })
})
