/**
 * Which pages of a slice to ask for next. Pure.
 *
 * Asking past the end is free, and every page before it has to be bought anyway, so the end can be looked for without
 * waste: by doubling, then by halving. What is known to be before the last page can be asked for side by side. The
 * last page is asked for last, and alone: read after all others, it proves that none of them missed an event, see
 * journal/page-seams.ts.
 */

import type { SliceHistory, TakenPage } from '../journal/slice-history.ts'
import { LAST_PAGE } from './request-body.ts'

/** How to read on. */
export type ReadingMode =
  /** One page after the other. */
  | 'one'
  /** Several at a time. */
  | 'many'
  /** Only what it takes to know the last page. */
  | 'quote'

/** What is known of where a slice ends. */
export interface Extent {
  /** The highest page that has events, as far as was seen; 0 for none. */
  readonly highest: number
  /** The highest but one. */
  readonly second: number
  /** The lowest page above that is known to be empty; null when none is. */
  readonly emptyFrom: number | null
  /** The last page, when it is certain, whether bought or not; else null. */
  readonly last: number | null
}

// A slice of so many pages may have more than the service counts, which is free to find out when it has not.
const WIDE_FROM = 64
const SCOUTS_MAX = 2

/** Where a slice ends, as far as its pages tell. */
export function extentOf({ read, ahead, emptyFrom }: SliceHistory): Extent {
  const ofRead = [read.at(-1), read.at(-2)].filter((page) => page !== undefined)
  const pages = [...ofRead, ...ahead.values()]
    .filter(({ events }) => events > 0)
    .toSorted((a, b) => b.page - a.page)
  const [top, next] = pages
  const highest = top?.page ?? 0
  const empty = emptyFrom !== null && emptyFrom > highest ? emptyFrom : null
  const known = { highest, second: next?.page ?? 0, emptyFrom: empty }
  if (top === undefined) return { ...known, last: null }
  return { ...known, last: lastPage(top, empty) }
}

function lastPage({ page, hasMore }: TakenPage, emptyFrom: number | null): number | null {
  if (!hasMore) return page
  const isNext = page + 1 === LAST_PAGE || (emptyFrom !== null && emptyFrom <= page + 2)
  return isNext ? page + 1 : null
}

/** Whether the slice has more pages than the service counts. */
export function isTooWide({ pages, hasMore, ahead }: SliceHistory): boolean {
  return (pages >= LAST_PAGE && hasMore) || ahead.get(LAST_PAGE)?.hasMore === true
}

/**
 * The pages to ask for now, the most useful first; none when answers have to be waited for, or nothing is left to ask.
 * @param inFlight pages that were asked for and not answered yet
 * @param most how many are wanted at most
 */
export function choosePages(
  history: SliceHistory,
  inFlight: ReadonlySet<number>,
  mode: ReadingMode,
  most: number,
): number[] {
  if (!history.hasMore || isTooWide(history)) return []
  const extent = extentOf(history)
  if (mode === 'quote' && extent.highest > 0) {
    return inFlight.size === 0 && extent.last === null ? [nextProbe(extent)] : []
  }
  // The second page shows that paging moves at all, before anything else is built on that.
  const isMany = mode === 'many' && history.pages >= 2 && extent.highest > 0
  if (isMany && history.pages >= history.seams.oneByOneTo) {
    return sideBySide(history, inFlight, extent, most)
  }
  if (inFlight.size > 0) return []
  const looksWide = history.pages >= WIDE_FROM && extent.last === null && extent.emptyFrom === null
  return [looksWide ? LAST_PAGE : history.pages + 1]
}

function sideBySide(
  history: SliceHistory,
  inFlight: ReadonlySet<number>,
  extent: Extent,
  most: number,
): number[] {
  if (extent.last !== null) return toTheLast(history, inFlight, extent.last, most)
  // Below a page that no other one, higher up, has confirmed nothing is asked for: it may be a copy.
  const below = extent.emptyFrom === null ? extent.second : extent.highest
  const pages = missingPages(history, inFlight, below - 1, most)
  if (pages.length === 0 && isNextInOrder(history, inFlight)) pages.push(history.pages + 1)
  const scouts = nextScouts(extent, inFlight, pages.length > 0 ? 1 : SCOUTS_MAX)
  return [...scouts, ...pages].slice(0, most)
}

function toTheLast(
  history: SliceHistory,
  inFlight: ReadonlySet<number>,
  last: number,
  most: number,
): number[] {
  let final = last
  while (history.ahead.has(final)) final -= 1
  const others = missingPages(history, inFlight, final - 1, most)
  return others.length > 0 || inFlight.size > 0 ? others : [final]
}

// The next page may be the last one, but nothing before it is missing then: it is read after all others in any case.
function isNextInOrder({ pages, ahead }: SliceHistory, inFlight: ReadonlySet<number>): boolean {
  return ahead.size === 0 && [...inFlight].every((page) => page > pages + 1)
}

function missingPages(
  { pages, ahead }: SliceHistory,
  inFlight: ReadonlySet<number>,
  to: number,
  most: number,
): number[] {
  const missing: number[] = []
  for (let page = pages + 1; page <= to && missing.length < most; page += 1) {
    if (!ahead.has(page) && !inFlight.has(page)) missing.push(page)
  }
  return missing
}

// Pages that may be past the end. While no empty one is known they double; then one at a time halves what is left.
function nextScouts(extent: Extent, inFlight: ReadonlySet<number>, most: number): number[] {
  const away = [...inFlight].filter((page) => page > extent.highest)
  if (extent.emptyFrom !== null) return away.length === 0 ? [nextProbe(extent)] : []
  const scouts: number[] = []
  let highest = Math.max(extent.highest, ...away)
  while (away.length + scouts.length < most && highest < LAST_PAGE) {
    highest = nextProbe({ highest, emptyFrom: null })
    scouts.push(highest)
  }
  return scouts
}

// The last page is unknown: it is the one after `highest` or a later one, and before `emptyFrom` where that is known.
function nextProbe({ highest, emptyFrom }: Pick<Extent, 'highest' | 'emptyFrom'>): number {
  if (emptyFrom === null) return Math.min(highest * 2, LAST_PAGE)
  return Math.ceil((highest + emptyFrom) / 2)
}
