/**
 * Which page of a batch to ask for next. Pure.
 *
 * Pages are read in order, one at a time: read out of order, a list whose keys repeat looks as if it had moved, and what
 * is read again for that costs a multiple of the list (see journal/page-seams.ts). Parallel are batches, not their pages.
 * A quote looks for the last page only. Asking past the end is free, and every page before it has to be bought anyway,
 * so the end is found without waste: by doubling, then by halving.
 */

import type { BatchHistory, TakenPage } from '../journal/batch-history.ts'
import { LAST_PAGE } from './request-body.ts'

/** How to read on: page after page, or only what it takes to know the last page. */
export type ReadingMode = 'in-order' | 'quote'

/** What is known of where a batch ends. */
export interface Extent {
  /** The highest page that has events, as far as was seen; 0 for none. */
  readonly highest: number
  /** The lowest page above that is known to be empty; null when none is. */
  readonly emptyFrom: number | null
  /** The last page, when it is certain, whether bought or not; else null. */
  readonly last: number | null
}

// A batch of so many pages may have more than the service counts, which is free to find out when it has not.
const WIDE_FROM = 64

/** Where a batch ends, as far as its pages tell. */
export function extentOf({ read, ahead, emptyFrom }: BatchHistory): Extent {
  const ofRead = [read.at(-1), read.at(-2)].filter((page) => page !== undefined)
  const top = [...ofRead, ...ahead.values()]
    .filter(({ events }) => events > 0)
    .reduce<TakenPage | null>((a, b) => (a !== null && a.page > b.page ? a : b), null)
  const highest = top?.page ?? 0
  const empty = emptyFrom !== null && emptyFrom > highest ? emptyFrom : null
  return { highest, emptyFrom: empty, last: top === null ? null : lastPage(top, empty) }
}

function lastPage({ page, hasMore }: TakenPage, emptyFrom: number | null): number | null {
  if (!hasMore) return page
  const isNext = page + 1 === LAST_PAGE || (emptyFrom !== null && emptyFrom <= page + 2)
  return isNext ? page + 1 : null
}

/** Whether the batch has more pages than the service counts. */
export function isTooWide({ pages, hasMore, ahead }: BatchHistory): boolean {
  return (pages >= LAST_PAGE && hasMore) || ahead.get(LAST_PAGE)?.hasMore === true
}

/** The page to ask for when no other one is on its way; null when nothing is left to ask. */
export function choosePage(history: BatchHistory, mode: ReadingMode): number | null {
  if (!history.hasMore || isTooWide(history)) return null
  const extent = extentOf(history)
  if (mode === 'quote' && extent.highest > 0) {
    return extent.last === null ? nextProbe(extent) : null
  }
  const looksWide = history.pages >= WIDE_FROM && extent.last === null && extent.emptyFrom === null
  return looksWide ? LAST_PAGE : history.pages + 1
}

// The last page is unknown: it is the one after `highest` or a later one, and before `emptyFrom` where that is known.
function nextProbe({ highest, emptyFrom }: Extent): number {
  if (emptyFrom === null) return Math.min(highest * 2, LAST_PAGE)
  return Math.ceil((highest + emptyFrom) / 2)
}
