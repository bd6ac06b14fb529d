/**
 * How far a slice was read, page by page, live and when the journal is read again: both use takePage, so that a run which
 * is taken up again stands exactly where it stopped. Pure.
 *
 * A window slides while it is paged: an event that grows older than the window leaves the list, and everything after it
 * moves up by one, over the edge of pages that were read already. Which events can leave, and when, is known from the
 * pages themselves. When one has left, paging goes back to the page that the events it moved stand on now.
 */

import { DAY, SECOND } from '../support/units.ts'
import type { SliceRecord } from './records.ts'

/** Events in one page; a page costs the same at any size, so always the most. */
export const PAGE_EVENTS = 50

/** A slice and how far it was read. */
export interface SliceHistory {
  readonly slice: SliceRecord
  state: 'planned' | 'finished' | 'split'
  /** Pages 1 … n in unbroken order; the next to ask for is n + 1. */
  pages: number
  events: number
  /** Server time of page 1. */
  firstPageAt: number | null
  /** Whether there is more to ask for. */
  hasMore: boolean
  /** What is known of pages 1 … n, the first one first. */
  readonly read: ReadPage[]
}

/** What paging remembers of a page. */
interface ReadPage {
  readonly serverAt: number
  /** When its events were detected that can leave the window while it is read; those that have left are taken out. */
  leaving: readonly number[]
}

/** A page as it came. */
export interface TakenPage {
  readonly page: number
  readonly events: number
  readonly hasMore: boolean
  /** Server time in whole seconds, milliseconds since 1970 UTC. */
  readonly serverAt: number
  /** Detection times of its events that leave the window within a day of `serverAt`; see leavingSoon. */
  readonly leaving: readonly number[]
}

/**
 * The detection time that a slice covers once it was read to its end: up to its first page, because later events may
 * have come in before pages that were read; back to the window of its last page, because events that were older then may
 * have left before their page was read.
 */
export function coveredTime(
  history: SliceHistory,
  nowMs: number,
): { from: number | null; to: number } {
  const to = history.firstPageAt ?? nowMs
  const { days_ago: daysAgo } = history.slice
  return {
    from: daysAgo === null ? null : (history.read.at(-1)?.serverAt ?? to) - daysAgo * DAY,
    to,
  }
}

/** A slice of which nothing was read. */
export function newSliceHistory(slice: SliceRecord): SliceHistory {
  return {
    slice,
    state: 'planned',
    pages: 0,
    events: 0,
    firstPageAt: null,
    hasMore: true,
    read: [],
  }
}

/** Of these detection times, those that leave a window of `daysAgo` days within a day of `serverAt`. */
export function leavingSoon(
  detectedAt: readonly number[],
  daysAgo: number,
  serverAt: number,
): number[] {
  return detectedAt.filter((time) => time + daysAgo * DAY <= serverAt + DAY)
}

/** Takes the page that was asked for, `pages + 1`; any other is an answer to an older question and changes nothing. */
export function takePage(history: SliceHistory, taken: TakenPage): void {
  if (taken.page !== history.pages + 1) return
  history.events += taken.events
  history.firstPageAt ??= taken.serverAt
  const goBackTo = pageMovedTo(history, taken.serverAt)
  if (goBackTo === null) {
    history.read.push({ serverAt: taken.serverAt, leaving: taken.leaving })
    history.pages = taken.page
    history.hasMore = taken.hasMore
    return
  }
  history.pages = goBackTo - 1
  history.read.length = history.pages
  history.hasMore = true
}

// The first page to read again because events of earlier pages have left by `serverAt`; null when none has.
function pageMovedTo(history: SliceHistory, serverAt: number): number | null {
  const { days_ago: daysAgo } = history.slice
  if (daysAgo === null) return null
  const hasLeft = (time: number) => time + daysAgo * DAY < serverAt
  const left = history.read.flatMap(({ leaving }) => leaving.filter(hasLeft))
  if (left.length === 0) return null
  for (const page of history.read) page.leaving = page.leaving.filter((time) => !hasLeft(time))
  // The service tells its time in whole seconds: the first page that may have been read after the first one left.
  const firstLeftAt = Math.min(...left) + daysAgo * DAY
  const index = history.read.findIndex(({ serverAt: readAt }) => readAt + SECOND > firstLeftAt)
  const firstMoved = index < 0 ? history.read.length + 1 : index + 1
  return Math.max(1, firstMoved - Math.ceil(left.length / PAGE_EVENTS))
}
