/**
 * Takes the pages of a batch, just bought or read back from the journal, and goes back where the list drifted between
 * two of them. Pure.
 *
 * Pages are read in order. An event that is inserted above pushes others down: they are met twice, none is missed. An
 * event that is removed above pulls others up, over the boundary of a page that was read already: such a shifted event
 * would be missed. An event is removed
 *
 * - when it leaves the window, which is known from when it was detected;
 * - when a correction replaces it, which is met further down.
 *
 * Reading goes back to the page on which the shifted events stand now. The service tells its time in whole seconds: an
 * event that leaves in the second of the last page leaves the boundary above that page unverified, and the pages from
 * there on are read again a second later.
 *
 * Where the list has no order of its own, list-order.ts tells.
 *
 * Not seen, because no page ever shows it: an event that is withdrawn for good while the pages below it are read; an event that comes and goes again, or is corrected twice, while one batch is
 * read; a correction that moves an event to a page above while both of its places are being read; a correction that
 * takes the place of an event more than ten minutes after it was detected.
 */

import { DAY, MINUTE, SECOND } from '../support/units.ts'
import {
  PAGE_EVENTS,
  isDoubted,
  isStale,
  leavingKnownFor,
  restartBatch,
  type BatchHistory,
  type Leaving,
  type Look,
} from './batch-history.ts'
import {
  countFromBefore,
  countReading,
  countDuplicates,
  fingerprintOf,
  isIncomplete,
  isSeenEnough,
  lookAtEnd,
  noteLook,
  noteOlder,
  orderBy,
} from './list-order.ts'
import { decodeMarks, type EventMark } from './page-keys.ts'
import type { PageReceived } from './records.ts'
import { CLOCK_TOLERANCE_MS } from './service-time.ts'

// Chosen. Where a service shows an event together with its correction, every pair within this time before a page was
// read has the pages between them read again, so it must not be long.
const CORRECTION_LATENESS_MS = 10 * MINUTE

// A service whose clock stands still must not be paid forever.
const REREADS_MAX = 2

// Of several machines that answer, another one is likely to answer next.
const BEHIND_MAX = 4

/** Takes a page of the batch; the one after the last, or an earlier one that is read again with all after it. */
export function takeRecord(history: BatchHistory, record: PageReceived): void {
  if (history.state !== 'planned') return
  if (isStale(history, record.server_at) || isOutOfTime(history, record)) restartBatch(history)
  // Pages between were lost: what the batch lacks is noticed when it is said to be finished.
  if (record.page > history.pages + 1) return
  history.drift.behind = isFromLaggingReplica(record) ? history.drift.behind + 1 : 0
  if (history.drift.behind > 0 && history.drift.behind < BEHIND_MAX) return
  const isNext = record.page === history.pages + 1
  const marks = decodeMarks(record.keys ?? '')
  const same = isNext ? samePage(history, record, marks) : null
  if (isNext && isDoubted(history, record, same)) return
  history.drift.fault ??= faultOf(history, record, same)
  const { look } = history.drift
  if (look?.page === record.page) lookAt(history, record, marks, look)
  else {
    if (record.page <= history.pages) reread(history, record)
    if (record.page === 1) history.firstPageAt ??= record.server_at
    addPage(history, record, marks)
    if (isIncomplete(history)) readAgain(history)
  }
  endWithLooks(history)
}

/** Takes a page that is requested again because something moved. */
function lookAt(
  history: BatchHistory,
  record: PageReceived,
  marks: readonly EventMark[],
  look: Look,
): void {
  const { drift } = history
  const { page, repeats, isAtEnd } = look
  const times = look.times + 1
  const order = orderBy(history, record, marks)
  const isOver = order === 'pushed' || isSeenEnough(times)
  drift.look = isOver ? null : { ...look, times }
  // The last page came from another state of the list.
  if (isAtEnd && page > 1) drift.hidden += countFromBefore(history, page, marks)
  // Events that it shows for the first time were hidden until now, or are new. They have no place among those that were
  // met here.
  const found = [...marks.entries()].filter(([, { key }]) => key !== 0 && !drift.met.has(key))
  noteLeaving(
    history,
    record,
    found.map(([, mark]) => mark),
  )
  for (const [index, { key, detectedAt }] of found) {
    drift.met.set(key, { detectedAt, page, index, seq: 0 })
  }
  // A list that holds events twice hides none.
  const explained = found.length + (isOver && order === 'same' ? repeats : 0)
  drift.hidden = Math.max(0, drift.hidden - explained)
  drift.hasMoved ||= order === 'pushed' && repeats > 0
  if (page === history.pages) history.hasMore ||= record.has_more
  const isUnexplained = isAtEnd && page === 1 && drift.hidden > 0
  if (order === 'unsure' || isUnexplained) readAgain(history)
}

/** Looks at the last page and at page 1 of a list that moved. */
function endWithLooks(history: BatchHistory): void {
  const { drift } = history
  const look = lookAtEnd(history)
  if (look === null || drift.look !== null || unverifiedPage(history) !== null) return
  drift.look = look
  drift.hasMoved = false
}

function readAgain(history: BatchHistory): void {
  countReading(history)
  rewindTo(history, 1)
}

/** The earlier pages on which its events were seen, in their order; none when one of them was on none. */
export function earlierPages(
  { drift }: BatchHistory,
  page: number,
  marks: readonly EventMark[],
): number[] {
  const pages: number[] = []
  for (const { key } of marks) {
    const earlier = drift.met.get(key)?.page ?? page
    if (earlier >= page) return []
    pages.push(earlier)
  }
  return pages
}

/** The earlier page that the next one is event for event; null for none. */
function samePage(
  history: BatchHistory,
  { page, events }: PageReceived,
  marks: readonly EventMark[],
): number | null {
  const pages = earlierPages(history, page, marks)
  const [first = page] = pages
  const isSame = pages.every((one) => one === first)
  return isSame && history.read[first - 1]?.events === events ? first : null
}

/**
 * Whether a page comes from a lagging part of the service: its list lacks the newest events, so that all others are
 * further up, and some beyond the end of the page before.
 */
function isFromLaggingReplica({ clocks, server_at: serverAt }: PageReceived): boolean {
  return clocks?.jump === true && clocks.date < serverAt - CLOCK_TOLERANCE_MS
}

/** Why pages with this one are not one list, whichever process read each; null where they may be. */
function faultOf(history: BatchHistory, record: PageReceived, same: number | null): string | null {
  const { page, counted_by: countedBy = PAGE_EVENTS } = record
  const before = (history.drift.countedBy ??= countedBy)
  if (history.drift.behind > 0)
    return `page ${page} comes from a clock behind that of other pages, even after ${BEHIND_MAX} requests`
  if (same !== null) return `page ${page} is page ${same} again, even after two requests`
  if (countedBy === before || (!record.has_more && countedBy < before)) return null
  return `page ${page} is counted by ${countedBy} events, pages before it by ${before}`
}

/**
 * The page to request again before any other; null for none. Either the page after it shows its events: that is checked
 * at once, while little has changed. Or the batch was read to its end, and this is the first page below an unverified
 * boundary: it is requested a second after the last one.
 */
export function pageAgain(history: BatchHistory): number | null {
  return history.drift.look?.page ?? (history.hasMore ? null : unverifiedPage(history))
}

/**
 * The first page of those that have to be read again, a second after the last one was, because events left the window
 * in the very second of the last page. Null when no boundary is unverified.
 */
function unverifiedPage({ read, drift }: BatchHistory): number | null {
  const last = read.at(-1)
  if (last === undefined || drift.rereads >= REREADS_MAX) return null
  const firsts = drift.leaving
    .filter(({ leavesAt }) => leavesAt >= last.serverAt && leavesAt < last.serverAt + SECOND)
    .flatMap(({ page }) => {
      const below = read.findIndex(({ serverAt }, i) => i >= page && serverAt === last.serverAt)
      return below < 0 ? [] : below
    })
  // An index counts from 0: it is the number of the page above.
  return firsts.length === 0 ? null : Math.min(...firsts)
}

function addPage(history: BatchHistory, record: PageReceived, marks: readonly EventMark[]): void {
  const { read, drift } = history
  const { page, events, server_at: serverAt, clocks, uptime } = record
  const seq = (drift.seq += 1)
  noteLook(history, record, marks)
  const removals = [...leftBefore(history, serverAt), ...meetEvents(history, page, marks)]
  read.push({
    events,
    twins: countDuplicates(marks),
    fingerprint: fingerprintOf(record),
    seq,
    serverAt,
    ...(clocks === undefined ? {} : { clocks }),
    ...(uptime === undefined ? {} : { uptime }),
  })
  history.pages = page
  history.events += events
  history.hasMore = record.has_more
  noteLeaving(history, record, marks)
  if (removals.length === 0) return
  const firsts = removals.map((removal) => firstReadAfter(history, removal))
  forgetLeaving(history, serverAt)
  rewindTo(history, Math.max(1, Math.min(...firsts) - Math.ceil(removals.length / PAGE_EVENTS)))
}

// Clocks went back since its last page: when events leave the window was judged by times that may be wrong.
function isOutOfTime({ read }: BatchHistory, { clocks }: PageReceived): boolean {
  const last = read.at(-1)
  return clocks?.wentBack !== undefined && last !== undefined && last.clocks?.wentBack === undefined
}

function noteLeaving(
  history: BatchHistory,
  record: PageReceived,
  marks: readonly EventMark[],
): void {
  const { drift } = history
  for (const one of leavingOf(history, record, marks)) {
    drift.leaving.push(one)
    drift.nextLeavesAt = Math.min(drift.nextLeavesAt, one.leavesAt)
  }
}

/** Forgets the events that left in the second of the last page: what they shifted is read again now. */
function reread(history: BatchHistory, { page, server_at: serverAt }: PageReceived): void {
  const { read, drift } = history
  drift.rereads += 1
  const until = Math.min((read.at(-1)?.serverAt ?? 0) + SECOND, serverAt)
  forgetLeaving(history, until)
  rewindTo(history, page)
}

/** Takes the row of pages back to before `page`. */
function rewindTo(history: BatchHistory, page: number): void {
  const { read, drift } = history
  const forgotten = read.splice(page - 1)
  history.events -= forgotten.reduce((sum, { events }) => sum + events, 0)
  history.pages = page - 1
  history.hasMore = true
  if ((drift.look?.page ?? 0) >= page) drift.look = null
  // Events further down may be on any page now, and still leave the window.
  drift.leaving = drift.leaving.map((one) => (one.page < page ? one : { ...one, page: 1 }))
}

/** An event that was removed above the pages after `page`, at a time by the service's clock. */
interface Removal {
  readonly page: number
  readonly at: number
}

// Looked at with each page, and a batch can have ten thousand: mostly none has left.
function leftBefore({ drift }: BatchHistory, serverAt: number): Removal[] {
  if (drift.nextLeavesAt >= serverAt) return []
  return drift.leaving
    .filter(({ leavesAt }) => leavesAt < serverAt)
    .map(({ page, leavesAt }) => ({ page, at: leavesAt }))
}

/** Records where events were seen, and returns those that were removed from a page above. */
function meetEvents(history: BatchHistory, page: number, marks: readonly EventMark[]): Removal[] {
  noteOlder(history, marks)
  const { met, seq } = history.drift
  return marks.flatMap((mark, index) => {
    // A mark without a key is of an event that was erased.
    if (mark.key === 0) return []
    const removal = removalBy(history, mark)
    const known = met.get(mark.key)
    if (known === undefined || known.detectedAt <= mark.detectedAt) {
      met.set(mark.key, { detectedAt: mark.detectedAt, page, index, seq })
    }
    return removal ?? []
  })
}

function removalBy({ read, drift }: BatchHistory, { key, detectedAt }: EventMark): Removal | null {
  const known = drift.met.get(key)
  if (known === undefined || known.detectedAt === detectedAt) return null
  if (known.seq === drift.seq || detectedAt < known.detectedAt) {
    // Both on one page; or the older one is still there below the newer one.
    drift.keepsVersions = true
    return null
  }
  const place = read[known.page - 1]
  // Paging went back to above that page.
  if (place?.seq !== known.seq) return null
  // The correction had existed for long when the older one was seen.
  if (detectedAt < place.serverAt - DAY) drift.keepsVersions = true
  if (drift.keepsVersions || detectedAt < place.serverAt - CORRECTION_LATENESS_MS) return null
  return { page: known.page, at: detectedAt }
}

/** The first page below a removal that may have been read after it; the last page was, whatever the clocks say. */
function firstReadAfter({ read }: BatchHistory, { page, at }: Removal): number {
  // The service reports its time in whole seconds.
  const index = read.findIndex(({ serverAt }, i) => i >= page && serverAt + SECOND > at)
  return index < 0 ? read.length : index + 1
}

function leavingOf(
  { batch }: BatchHistory,
  { page, server_at: serverAt }: PageReceived,
  marks: readonly EventMark[],
): Leaving[] {
  const { days_ago: daysAgo } = batch
  if (daysAgo === null) return []
  const until = serverAt + leavingKnownFor(daysAgo)
  return marks.flatMap(({ detectedAt }) => {
    const leavesAt = detectedAt + daysAgo * DAY
    // One that should have left already: the service counts in another way, and when it leaves is unknown.
    return leavesAt >= serverAt && leavesAt <= until ? { leavesAt, page } : []
  })
}

function forgetLeaving({ drift }: BatchHistory, untilMs: number): void {
  drift.leaving = drift.leaving.filter(({ leavesAt }) => leavesAt >= untilMs)
  drift.nextLeavesAt = drift.leaving.reduce((a, { leavesAt }) => Math.min(a, leavesAt), Infinity)
}
