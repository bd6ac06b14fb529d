/**
 * Takes the pages of a batch, just bought or read back from the journal, and goes back where the list drifted between
 * two of them. Pure.
 *
 * Pages are read in order. An event that is inserted above pushes others down: they are met twice, none is missed. An
 * event that is removed above pulls others up, over the boundary of a page that was read already, where they would be
 * missed. It is removed when it leaves the window, which is known from when it was detected, or when a correction
 * replaces it, which is met further down. Reading goes back to the page on which the others stand now.
 *
 * Not seen, because no page ever shows it: an event that is withdrawn for good, that comes and goes again, or that is
 * corrected twice while one batch is read; a correction that moves up meanwhile, or comes more than ten minutes after
 * the event was detected; an event that changes places with another between two requests.
 */

import { sha256Hex } from '../support/hash.ts'
import { sum } from '../support/numbers.ts'
import { DAY, MINUTE, SECOND } from '../support/units.ts'
import {
  PAGE_EVENTS,
  isStale,
  leavingKnownFor,
  restartBatch,
  type BatchHistory,
} from './batch-history.ts'
import type { PageReceived } from './records.ts'
import { CLOCK_TOLERANCE_MS } from './clock-history.ts'

// Chosen. If a service shows an event together with its correction, the pages between each pair within this time before
// a page was read are read again, so it must be short.
const CORRECTION_LATENESS_MS = 10 * MINUTE
// After a longer time, such as a day without budget, new events are expected.
const PAUSE_MS = 10 * MINUTE

// A service whose clock stands still must not be paid forever.
const REREADS_MAX = 2

/**
 * How often a page is requested again before it is accepted. A cache may once answer with an earlier page. An empty page
 * is free, but contradicts the one before. A machine with a clock behind lacks the newest events, and all others are
 * further up; another machine is likely to answer next.
 */
const ASKED_AGAIN = { repeated: 1, empty: 2, lagging: 3 } as const
type Doubt = keyof typeof ASKED_AGAIN

/** Adds the next page of the batch, unless it has to be requested again. */
export function takeRecord(history: BatchHistory, record: PageReceived): void {
  if (history.state !== 'planned') return
  if (isStale(history, record.server_at) || isOutOfTime(history, record)) restartBatch(history)
  const { page } = record
  if (page === history.row + 1) history.row = page
  // Pages in between were lost, which is noticed at the end of the batch; or an older version read this one again.
  if (page !== history.pages + 1) return
  const marks = decodeMarks(record.keys ?? '')
  const doubt = doubtOf(history, record, marks)
  if (doubt !== null && isDoubted(history, page, doubt)) return
  history.drift.fault ??= faultOf(history, record, marks, doubt)
  if (page === 1) history.firstPageAt ??= record.server_at
  addPage(history, record, marks)
}

function doubtOf(history: BatchHistory, record: PageReceived, marks: readonly EventMark[]) {
  const { page, events, has_more: hasMore } = record
  if (isLagging(history, record)) return 'lagging'
  if (pageRepeatedBy(history, record, marks) !== null) return 'repeated'
  return events === 0 && (hasMore || page > 1) ? 'empty' : null
}

/** The earlier page on which all of its events were seen, and no others; null if there is none. */
function pageRepeatedBy(
  { read, drift }: BatchHistory,
  { page, events }: PageReceived,
  marks: readonly EventMark[],
): number | null {
  const [first = page, ...others] = new Set(marks.map(({ key }) => drift.met.get(key)?.page))
  const isSame = others.length === 0 && first < page && read[first - 1]?.events === events
  return isSame ? first : null
}

// The first answer of a process has no predecessor: the last page of the previous process counts if its clocks agreed.
function isLagging({ read }: BatchHistory, { clocks, server_at: serverAt }: PageReceived): boolean {
  if (clocks?.jump === true) return clocks.date < serverAt - CLOCK_TOLERANCE_MS
  const last = read.at(-1)
  const isSure = last !== undefined && last.clocks === undefined
  return isSure && serverAt < last.serverAt - CLOCK_TOLERANCE_MS
}

function isDoubted({ drift }: BatchHistory, page: number, doubt: Doubt): boolean {
  const times = drift.doubted.page === page ? drift.doubted.times : 0
  if (times >= ASKED_AGAIN[doubt]) return false
  drift.doubted = { page, times: times + 1 }
  return true
}

/** How often the next page was fetched again because it was rejected; 0 for a page that was not requested. */
export function refetchCount({ pages, drift: { doubted } }: BatchHistory): number {
  return doubted.page === pages + 1 ? doubted.times : 0
}

/** Why the pages with this one are not one list, whichever process read them; null if they may be. */
function faultOf(
  history: BatchHistory,
  record: PageReceived,
  marks: readonly EventMark[],
  doubt: Doubt | null,
): string | null {
  const { page, counted_by: countedBy = PAGE_EVENTS, has_more: hasMore } = record
  const before = (history.drift.countedBy ??= countedBy)
  if (doubt === 'lagging')
    return `page ${page} comes from a clock behind that of other pages, even after ${ASKED_AGAIN.lagging + 1} requests`
  if (doubt === 'repeated')
    return `page ${page} is page ${pageRepeatedBy(history, record, marks)} again, even after two requests`
  if (countedBy === before || (!hasMore && countedBy < before)) return null
  return `page ${page} is counted by ${countedBy} events, pages before it by ${before}`
}

// Chosen. Real lists repeat up to 7 % of their events.
const REPEATS_SHARE = 0.2

/** Whether the order changed so much between requests that events may be on no page: many came on two. */
export function isDisordered({ read, events }: BatchHistory): boolean {
  return sum(read.map(({ repeats }) => repeats)) > events * REPEATS_SHARE
}

function addPage(history: BatchHistory, record: PageReceived, marks: readonly EventMark[]): void {
  const { read, drift } = history
  const { page, events, server_at: serverAt, clocks } = record
  const seq = (drift.seq += 1)
  const isAfterPause = serverAt - (read.at(-1)?.serverAt ?? 0) > PAUSE_MS
  const repeats = isAfterPause ? 0 : marks.filter((mark) => isRepeated(history, mark)).length
  // The service tells its time in whole seconds: in the second of the last page, events may still leave above it.
  const isEnd = !record.has_more && drift.rereads < REREADS_MAX
  const left = leftBefore(history, isEnd ? serverAt + SECOND : serverAt)
  drift.isUnsure = left.some(({ at }) => at >= serverAt)
  if (drift.isUnsure) drift.rereads += 1
  const removals = [...left, ...meetEvents(history, page, marks)]
  read.push({
    events,
    repeats,
    seq,
    serverAt,
    ...(clocks === undefined ? {} : { clocks }),
  })
  history.pages = page
  history.events += events
  history.hasMore = record.has_more
  noteLeaving(history, record, marks)
  if (removals.length === 0) return
  const firsts = removals.map((removal) => firstReadAfter(history, removal))
  const until = drift.isUnsure ? serverAt + SECOND : serverAt
  drift.leaving = drift.leaving.filter(({ leavesAt }) => leavesAt >= until)
  drift.nextLeavesAt = drift.leaving.reduce((a, { leavesAt }) => Math.min(a, leavesAt), Infinity)
  rewindTo(history, Math.max(1, Math.min(...firsts) - Math.ceil(removals.length / PAGE_EVENTS)))
}

function isRepeated({ read, drift }: BatchHistory, { key, detectedAt }: EventMark): boolean {
  const known = drift.met.get(key)
  return known?.detectedAt === detectedAt && read[known.page - 1]?.seq === known.seq
}

// Clocks went back since its last page: when events leave the window was judged by times that may be wrong.
function isOutOfTime({ read }: BatchHistory, { clocks }: PageReceived): boolean {
  const last = read.at(-1)
  return clocks?.wentBack !== undefined && last !== undefined && last.clocks?.wentBack === undefined
}

function rewindTo(history: BatchHistory, page: number): void {
  const { read, drift } = history
  const forgotten = read.splice(page - 1)
  history.events -= sum(forgotten.map(({ events }) => events))
  history.pages = page - 1
  history.hasMore = true
  // Events further down may be on any page now, and still leave the window.
  drift.leaving = drift.leaving.map((one) => (one.page < page ? one : { ...one, page: 1 }))
}

/** An event that was removed above the pages after `page`, at a time by the service's clock. */
interface Removal {
  readonly page: number
  readonly at: number
}

// Runs for each page, and a batch can have ten thousand: mostly no event has left.
function leftBefore({ drift }: BatchHistory, serverAt: number): Removal[] {
  if (drift.nextLeavesAt >= serverAt) return []
  return drift.leaving
    .filter(({ leavesAt }) => leavesAt < serverAt)
    .map(({ page, leavesAt }) => ({ page, at: leavesAt }))
}

/** Records where events were seen, and returns those that were removed from a page above. */
function meetEvents(history: BatchHistory, page: number, marks: readonly EventMark[]): Removal[] {
  const { met, seq } = history.drift
  return marks.flatMap((mark) => {
    // A mark without a key belongs to an erased event.
    if (mark.key === 0) return []
    const removal = removalBy(history, mark)
    const known = met.get(mark.key)
    if (known === undefined || known.detectedAt <= mark.detectedAt) {
      met.set(mark.key, { detectedAt: mark.detectedAt, page, seq })
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
  // Reading restarted above that page.
  if (place?.seq !== known.seq) return null
  // The correction had existed for a long time when the older version was seen.
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

function noteLeaving(
  { batch, drift }: BatchHistory,
  { page, server_at: serverAt }: PageReceived,
  marks: readonly EventMark[],
): void {
  const { days_ago: daysAgo } = batch
  if (daysAgo === null) return
  const until = serverAt + leavingKnownFor(daysAgo)
  for (const { detectedAt } of marks) {
    const leavesAt = detectedAt + daysAgo * DAY
    // One that should have left already: the service counts in another way, and when it leaves is unknown.
    if (leavesAt < serverAt || leavesAt > until) continue
    drift.leaving.push({ leavesAt, page })
    drift.nextLeavesAt = Math.min(drift.nextLeavesAt, leavesAt)
  }
}

/**
 * A short mark of an event on a page: enough to see that the event appeared before on another page, and whether it was
 * corrected since. The header of a page holds them, because paging must not need the bodies.
 */
export interface EventMark {
  /** 32 bits of a hash of the event's key, equal for all its versions; 0 for an erased event. */
  readonly key: number
  /** When this version was detected, in whole seconds as milliseconds since 1970 UTC; 0 when it does not say. */
  readonly detectedAt: number
}

export interface MarkedEvent {
  /** Equal for all versions of one event, and for no other. */
  readonly identity: string
  /** Milliseconds since 1970 UTC; null when the event does not say. */
  readonly detectedAt: number | null
}

// Four bytes of hash, four of seconds since 1970, which last until 2106.
const MARK_BYTES = 8
const SECONDS_MAX = 2 ** 32 - 1

/** The marks of a page as text, in the order of its events. */
export function encodeMarks(events: readonly MarkedEvent[]): string {
  const bytes = Buffer.alloc(events.length * MARK_BYTES)
  for (const [index, { identity, detectedAt }] of events.entries()) {
    const key = Number.parseInt(sha256Hex(identity).slice(0, 8), 16)
    bytes.writeUInt32BE(key || 1, index * MARK_BYTES)
    const seconds = Math.floor((detectedAt ?? 0) / SECOND)
    bytes.writeUInt32BE(Math.min(Math.max(seconds, 0), SECONDS_MAX), index * MARK_BYTES + 4)
  }
  return bytes.toString('base64')
}

export function decodeMarks(text: string): EventMark[] {
  const bytes = Buffer.from(text, 'base64')
  const marks: EventMark[] = []
  for (let at = 0; at + MARK_BYTES <= bytes.length; at += MARK_BYTES) {
    marks.push({ key: bytes.readUInt32BE(at), detectedAt: bytes.readUInt32BE(at + 4) * SECOND })
  }
  return marks
}

/**
 * The marks of a page with empty keys at `places` (from 0, counted over the events that have one): a key reveals the
 * event's presence to anyone who knows it. The time at which it leaves the window stays known.
 * @returns the text as it is where it has not one key for each of `events`
 */
export function cutMarks(text: string, places: readonly number[], events: number): string {
  const bytes = Buffer.from(text, 'base64')
  const kept = decodeMarks(text).flatMap(({ key }, index) => (key === 0 ? [] : index))
  if (kept.length !== events) return text
  for (const place of places) bytes.writeUInt32BE(0, (kept[place] ?? 0) * MARK_BYTES)
  return bytes.toString('base64')
}
