/**
 * Proves that nothing slipped through between the pages of a batch although the list moved while it was read. Pure.
 *
 * An event that is inserted pushes everything after it down by one, over the edge of its page; one that is removed pulls
 * everything up. So an event can be missed at the seam of pages k and k + 1 in two ways only:
 *
 * - It was pulled up: something above it was removed after k was read and before k + 1 was. An event is removed when it
 *   leaves the window, which is known from when it was detected, and when it is replaced by a correction, which is met
 *   further down. Paging goes back to the page where what was pulled up stands now.
 * - It was pushed down: something was inserted above it after k + 1 was read and before k was, which needs k + 1 to be read
 *   first, as a quote does. Such a seam is loose. It is proven by a page b after it that was asked for when k had been
 *   received: from k + 1, read before the insertion, to b, read after it, there is a last page read before and a next one
 *   read after, and the event pushed over that edge is met on both. No event met twice in k + 1 … b, no insertion. Else
 *   paging goes back to k + 1. That holds for fewer events than a page; more of them push an event past the next page,
 *   and are met twice further up. So a page that was asked for before any page showed that the list was pushed down is
 *   not taken at all, and asked for again.
 *
 * Not seen, because no page ever shows it: an event that comes and goes again, or is corrected twice, while one batch is
 * read; a correction that moves an event to a page before while both of its places are being read; a correction that
 * takes the place of an event more than ten minutes after it was detected.
 */

import { DAY, MINUTE, SECOND } from '../support/units.ts'
import { decodeMarks, type EventMark } from './page-keys.ts'
import {
  PAGE_EVENTS,
  type Meeting,
  type Seams,
  type BatchHistory,
  type TakenPage,
} from './batch-history.ts'

// Chosen. Where a service shows an event and its correction side by side, every pair within this time before a page was
// read has the pages between them read again, so it must not be long.
const CORRECTION_LATENESS_MS = 10 * MINUTE

// A service whose clock stands still must not be paid for ever.
const WAITS_MAX = 2

// How long a question may take that settles a doubt: long enough to be answered, short enough that few events leave.
const ASKED_WITHIN_MS = 10 * SECOND

/** What a page tells about the pages before it. */
interface Signs {
  /** The last page before it with an event that is on this one, too; 0 when there is none. */
  pushedFrom: number
  /** Events that were removed from earlier pages, as far as this page tells. */
  removed: number
  /** The first page that may have been read after one of them was; see firstReadAfter. */
  removedBefore: number
}

/** Adds the page after the last one, or goes back when it shows that something may have slipped through. */
export function joinPage(history: BatchHistory, page: TakenPage): void {
  const { read, seams } = history
  // Asked for before something was seen to have been pushed down: it may be from before that, while others are not.
  const isOutdated = seams.pushedAt > page.asked
  const signs = meetEvents(history, page)
  const hasLeft = noteLeft(history, page, signs)
  const before = read.at(-1)
  if (before !== undefined && !isReadAfter(page, before)) seams.loose.push(before.page)
  read.push(page)
  seams.strays = without(seams.strays, page.leaving)
  seams.leavesFirst = earliest(page.leaving, seams.leavesFirst)
  history.pages = page.page
  history.events += page.events
  history.hasMore = page.hasMore
  if (page.events > 0 && (history.emptyFrom ?? Infinity) <= page.page) history.emptyFrom = null
  if (signs.pushedFrom > 0) seams.pushedAt = page.received
  const again = isOutdated ? page.page : Infinity
  const back = Math.min(pulledUpTo(seams, signs), pushedOverTo(seams, signs), again)
  if (back === Infinity) {
    seams.loose = seams.loose.filter((k) => !isReadAfter(page, pageAt(history, k)))
    return
  }
  if (hasLeft) forgetLeft(history, (leftAt) => leftAt < page.serverAt)
  goBack(history, back, history.order)
}

/** Takes the unbroken row of pages back to before `page`. @param order the place in the order at which this is done */
export function goBack(history: BatchHistory, page: number, order: number): void {
  const { seams } = history
  seams.loose = seams.loose.filter((k) => k + 1 < page)
  seams.wentBackAt = order
  const forgotten = history.read.splice(page - 1)
  seams.strays.push(...forgotten.flatMap(({ leaving }) => leaving))
  history.events -= forgotten.reduce((sum, { events }) => sum + events, 0)
  history.pages = page - 1
  history.hasMore = true
  history.ahead.clear()
}

/** Why a batch that was read to its end may not be finished. */
export interface Doubt {
  readonly kind: 'early-last-page' | 'left-in-that-second'
  /** What has to be asked for again, and everything after it, unless the list has no more than `events` events. */
  readonly page: number
  /** How long to wait before, in milliseconds. */
  readonly waitMs: number
  /** Holds until `until`, the service's time. Null when the page has to be asked for again in any case. */
  readonly events: number | null
  readonly until: number
}

/**
 * What is doubtful in a batch whose last page has no more; null when nothing can be missing.
 * @param nowMs the service's time, as far as it is known
 */
export function doubtOf(history: BatchHistory, nowMs: number): Doubt | null {
  const { seams, read } = history
  const last = read.at(-1)
  if (last === undefined) return null
  // Those who leave make room for others, so that the list has to be shorter not to have grown.
  const until = Math.max(nowMs, last.serverAt) + ASKED_WITHIN_MS
  const gone = leavingTimes(history).filter(
    ({ leftAt }) => leftAt >= last.serverAt && leftAt < until,
  )
  const listed = eventsTo(history)
  const events = listed === null ? null : Math.max(0, listed - gone.length)
  const [loose] = seams.loose
  if (loose !== undefined) {
    // No page after it was read later: the last page was asked for early, to know that it is the last. Nothing was
    // pushed down since when the list has not grown.
    const page = loose + 1
    const hasMoved = hasMovedSince(history, pageAt(history, page))
    const kind = 'early-last-page'
    return { kind, page, waitMs: 0, events: hasMoved ? null : events, until }
  }
  const seconds = secondsOfLeaving(history).map(({ page }) => page)
  if (seconds.length === 0 || seams.waits >= WAITS_MAX) return null
  // Nothing was pulled up while pages were read when all who left by now did so after the last page was read.
  const page = Math.max(1, Math.min(...seconds) - 1)
  return { kind: 'left-in-that-second', page, waitMs: SECOND, events, until }
}

/** Ends a doubt that came to nothing. */
export function dismiss(history: BatchHistory, { kind, until }: Doubt): void {
  if (kind === 'early-last-page') history.seams.loose = []
  else leaveBehind(history, 0, until)
}

// Counted as the service counts. Null when pages before the last one are not full: then nobody knows how it counts.
function eventsTo({ pages, read, events }: BatchHistory): number | null {
  const counted = Math.max(0, pages - 1) * PAGE_EVENTS + (read.at(-1)?.events ?? 0)
  return counted === events ? counted : null
}

/**
 * Takes note that events have left which left in the very second a page was read; see doubtOf. Those that moved pages
 * before `page`, too, are still in doubt.
 */
export function leaveBehind(history: BatchHistory, page: number, nowMs: number): void {
  const { seams } = history
  const seconds = secondsOfLeaving(history)
  const inDoubt = new Set(seconds.filter((of) => of.page <= page).map(({ leftAt }) => leftAt))
  const over = new Set(seconds.map(({ leftAt }) => leftAt).filter((time) => !inDoubt.has(time)))
  if (over.size > 0) seams.waits += 1
  forgetLeft(history, (leftAt) => over.has(leftAt) && leftAt < nowMs)
}

function meetEvents(history: BatchHistory, page: TakenPage): Signs {
  const { seams } = history
  const signs: Signs = { pushedFrom: 0, removed: 0, removedBefore: Infinity }
  for (const mark of decodeMarks(page.keys ?? '')) {
    const known = seams.met.get(mark.key)
    if (known !== undefined) compare(history, page, mark, known, signs)
    if (known !== undefined && known.detectedAt > mark.detectedAt) continue
    const { detectedAt } = mark
    seams.met.set(mark.key, { detectedAt, page: page.page, received: page.received })
  }
  return signs
}

function compare(
  history: BatchHistory,
  page: TakenPage,
  { detectedAt }: EventMark,
  known: Meeting,
  signs: Signs,
): void {
  const { seams, read } = history
  const isSameVersion = detectedAt === known.detectedAt
  const isOlder = detectedAt < known.detectedAt
  if (known.received === page.received || (isOlder && page.asked > known.received)) {
    // Both at one time, or the older one still there when the newer one was there already.
    if (!isSameVersion) seams.keepsVersions = true
    return
  }
  const place = read[known.page - 1]
  // Paging went back to before that page.
  if (place?.received !== known.received) return
  const mayBeAfter = !isReadAfter(place, page)
  if (isSameVersion) {
    if (mayBeAfter) signs.pushedFrom = Math.max(signs.pushedFrom, known.page)
    if (isReadAfter(page, place)) return
    // Or this one was read before the other, and what it begins with has been pulled up from it in between.
    const time = maybeLeftSince(history, page.serverAt)
    noteRemoval(signs, read, page, { time, order: page.asked })
  } else if (!mayBeAfter) {
    return
  } else if (isOlder) {
    // The correction was put in above, between the readings of the two pages.
    signs.pushedFrom = page.page
  } else if (detectedAt < place.serverAt - DAY) {
    // The correction was there for long when the older version was met.
    seams.keepsVersions = true
  } else if (detectedAt >= place.serverAt - CORRECTION_LATENESS_MS && !seams.keepsVersions) {
    const since = { time: detectedAt, order: place.asked }
    noteRemoval(signs, read.slice(known.page), page, since)
  }
}

// When an event left that explains why something was pulled up since a time; that time when none did.
function maybeLeftSince(history: BatchHistory, sinceMs: number): number {
  const latest = history.read.reduce((a, { serverAt }) => Math.max(a, serverAt), 0) + SECOND
  const times = leavingTimes(history)
    .map(({ leftAt }) => leftAt)
    .filter((leftAt) => leftAt >= sinceMs && leftAt < latest)
  return times.length === 0 ? sinceMs : Math.min(...times)
}

/** An event was removed from above `pages` after a time, and after a place in the order. */
function noteRemoval(
  signs: Signs,
  pages: readonly TakenPage[],
  page: TakenPage,
  { time, order }: { readonly time: number; readonly order: number },
): void {
  signs.removed += 1
  const first = firstReadAfter([...pages, page], time, order)
  signs.removedBefore = Math.min(signs.removedBefore, first)
}

function pulledUpTo({ loose }: Seams, { removed, removedBefore }: Signs): number {
  if (removed === 0) return Infinity
  // What was pulled up from the first page that is read again was on it before, unless its seam is loose.
  const [first = Infinity] = loose
  return Math.max(1, Math.min(removedBefore, first + 1) - Math.ceil(removed / PAGE_EVENTS))
}

function pushedOverTo({ loose }: Seams, { pushedFrom }: Signs): number {
  const [first] = loose
  return first !== undefined && first < pushedFrom ? first + 1 : Infinity
}

/** Notes events that have left the window above a page that was read before, and before one that was read after. */
function noteLeft(history: BatchHistory, page: TakenPage, signs: Signs): boolean {
  if (firstLeaving(history) >= page.serverAt) return false
  const left = leavingTimes(history).filter(({ leftAt }) => leftAt < page.serverAt)
  for (const { above, leftAt } of left) {
    noteRemoval(signs, history.read.slice(above), page, { time: leftAt, order: 0 })
  }
  return left.length > 0
}

// Looked at with each page: a batch can have ten thousand.
function firstLeaving({ batch, seams }: BatchHistory): number {
  return batch.days_ago === null ? Infinity : seams.leavesFirst + batch.days_ago * DAY
}

function earliest(times: readonly number[], known: number): number {
  return times.reduce((a, b) => Math.min(a, b), known)
}

/** When events leave the window, and the page from whose end on everything moves then. */
function leavingTimes({ batch, read, seams }: BatchHistory): { above: number; leftAt: number }[] {
  const { days_ago: daysAgo } = batch
  if (daysAgo === null) return []
  const timesOf = (above: number, leaving: readonly number[]) =>
    leaving.map((time) => ({ above, leftAt: time + daysAgo * DAY }))
  return [
    ...timesOf(1, seams.strays),
    ...read.flatMap(({ page, leaving }) => timesOf(page, leaving)),
  ]
}

// The first page that may have been read after a time, by the service's clock, and after a place in the order. The last
// one was, whatever the clocks say.
function firstReadAfter(pages: readonly TakenPage[], timeMs: number, order: number): number {
  const mayBe = ({ serverAt, received }: TakenPage) =>
    // The service tells its time in whole seconds.
    serverAt + SECOND > timeMs && received > order
  return (pages.find(mayBe) ?? pages.at(-1))?.page ?? 1
}

// Whether the list has moved since a page was read, as far as the pages tell that were received later.
function hasMovedSince({ read, seams }: BatchHistory, early: TakenPage): boolean {
  if (seams.pushedAt > early.asked) return true
  return read
    .filter(({ received }) => received > early.asked)
    .some((page) =>
      decodeMarks(page.keys ?? '').some(
        ({ detectedAt }) => page !== early && detectedAt >= early.serverAt,
      ),
    )
}

// Events that left in the second in which a page below them was read, so that it cannot be told which came first.
function secondsOfLeaving(history: BatchHistory): { page: number; leftAt: number }[] {
  const times = history.read.map(({ serverAt }) => serverAt)
  const first = times.reduce((a, b) => Math.min(a, b), Infinity)
  const last = times.reduce((a, b) => Math.max(a, b), 0)
  const near = leavingTimes(history).filter(
    ({ leftAt }) => leftAt >= first && leftAt < last + SECOND,
  )
  return near.flatMap(({ above, leftAt }) =>
    history.read
      .slice(above)
      .filter(({ serverAt }) => serverAt <= leftAt && leftAt < serverAt + SECOND)
      .map(({ page }) => ({ page, leftAt })),
  )
}

function forgetLeft(history: BatchHistory, isKnown: (leftAt: number) => boolean): void {
  const { read, seams } = history
  const windowMs = (history.batch.days_ago ?? 0) * DAY
  const isOpen = (time: number) => !isKnown(time + windowMs)
  seams.strays = seams.strays.filter(isOpen)
  for (const [index, page] of read.entries()) {
    if (!page.leaving.every(isOpen)) read[index] = { ...page, leaving: page.leaving.filter(isOpen) }
  }
  seams.leavesFirst = read.reduce((first, { leaving }) => earliest(leaving, first), Infinity)
  seams.leavesFirst = earliest(seams.strays, seams.leavesFirst)
}

/** What is left of `times` when each of `taken` takes one of its like away. */
function without(times: readonly number[], taken: readonly number[]): number[] {
  const left = [...times]
  for (const time of taken) {
    const index = left.indexOf(time)
    if (index >= 0) left.splice(index, 1)
  }
  return left
}

function isReadAfter(page: TakenPage, other: TakenPage): boolean {
  return page.asked > other.received
}

function pageAt({ read }: BatchHistory, page: number): TakenPage {
  const found = read[page - 1]
  if (found === undefined) throw new RangeError(`page ${page} was not read`)
  return found
}
