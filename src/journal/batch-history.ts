/**
 * How far a batch was read: pages 1 … n, in order, just bought or read back from the journal; and where reading goes back
 * because the list drifted between two of them. Plain data, kept in checkpoints. Pure.
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
import { DAY, HOUR, MINUTE, SECOND } from '../support/units.ts'
import { CLOCK_TOLERANCE_MS } from './clock-history.ts'
import type { BatchRecord, ClockDispute, PageReceived } from './records.ts'

/** Events in one page; a page costs the same at any size, so always the most. */
export const PAGE_EVENTS = 50

export type BatchHistory = ReturnType<typeof newBatchHistory>

export interface ReadPage {
  readonly events: number
  /** How many of these events the previous pages had just shown: the list moved, or has no order. */
  readonly repeats: number
  readonly seq: number
  /** Server time in whole seconds, milliseconds since 1970 UTC. */
  readonly serverAt: number
  /** The range of `serverAt` if the clocks do not agree on it. */
  readonly clocks?: Omit<ClockDispute, 'date'>
}

interface EventPosition {
  readonly detectedAt: number
  readonly page: number
  readonly seq: number
}

/** An event that is removed above the pages after `page`, at a time by the service's clock. */
interface Removal {
  readonly page: number
  readonly at: number
}

export function newBatchHistory(batch: BatchRecord) {
  return {
    batch,
    state: 'planned' as 'planned' | 'finished' | 'split',
    /** Pages 1 … n were read; the next one is n + 1. */
    pages: 0,
    /** Events on pages 1 … n; an event pushed to the next page in between counts twice. */
    events: 0,
    hasMore: true,
    /** Pages 1 … n that came in this order, whatever they show: older versions read pages again for other reasons. */
    row: 0,
    /** Pages 1 … n, the first one first. Empty once the batch is closed. */
    read: [] as ReadPage[],
    drift: newDrift(),
  }
}

function newDrift() {
  return {
    /** The newest version of each event, by key, and the page on which it was last seen. */
    met: new Map<number, EventPosition>(),
    /** Pages read so far, those included that are read again. */
    seq: 0,
    /** Events on pages 1 … n that leave the window soon. */
    leaving: [] as Removal[],
    /** When the first of them leaves, server time; Infinity if none does. */
    nextLeavesAt: Infinity,
    /** Whether events left in the second of the last page: the next one is to be read a second later. */
    isUnsure: false,
    rereads: 0,
    /** Whether the service shows an event together with its correction, so that nothing is removed. */
    keepsVersions: false,
    /** The last rejected page, 0 for none, and how often it was rejected. */
    doubted: { page: 0, times: 0 },
    /** The page size of the service in events; null before the first page. */
    countedBy: null as number | null,
    /** Why its pages are not one list, which makes it be read from page 1; null if they may be. */
    fault: null as string | null,
  }
}

/**
 * The detection time that a batch covers once it was read to its end: up to its first page, because later events may
 * have arrived above; back to the window of its last page, because older ones may have left above it. Where clocks do
 * not agree, the shortest time that any of them allows.
 */
export function coveredTime({ batch, read }: BatchHistory, nowMs: number) {
  const [only] = read
  const start = only === undefined ? nowMs : earliestOf(only)
  // A page after the first may show that its clocks were wrong.
  const first = Math.min(start, ...read.map(earliestOf))
  const end = read.at(-1)
  const last = Math.max(first, end === undefined ? first : latestOf(end))
  // Unnoticed time may have passed between two pages, and events that left the window then may have shifted others.
  const isAsleep = read.length > 1 && end?.clocks?.jump === true && last > end.serverAt
  if (isAsleep) return { from: first, to: first }
  if (batch.days_ago === null) return { from: null, to: first }
  // The service reports its time in whole seconds: by the end of that second other events had left.
  const from = last + SECOND - batch.days_ago * DAY
  return { from: Math.min(from, first), to: first }
}

/** The earliest time, by the service's clock, at which a page may have been read. */
export function earliestOf({ clocks, serverAt }: ReadPage): number {
  return clocks?.earliest ?? serverAt
}

function latestOf({ clocks, serverAt }: ReadPage): number {
  return clocks === undefined ? serverAt : Math.max(clocks.latest, clocks.wentBack?.from ?? 0)
}

export function isBegun({ drift }: BatchHistory): boolean {
  return drift.seq > 0
}

export function pagesBought({ read }: BatchHistory): number {
  return read.filter(({ events }) => events > 0).length
}

// A small budget may read a long batch over weeks. Meanwhile, late detections are unknown.
const LEAVING_KNOWN_MS = 30 * DAY
const LATENESS_MS = 6 * HOUR

/** For how long after a page was read it is known which of its events leave the window, in milliseconds. */
function leavingKnownFor(daysAgo: number): number {
  return Math.min(LEAVING_KNOWN_MS, daysAgo * DAY - LATENESS_MS)
}

/**
 * Whether the pages of a batch are too old to be read on: it is unknown which of their events have left the window by
 * now, and everything below those has moved up. The batch is read from page 1 then.
 * @param nowMs server time
 */
export function isStale({ batch, read }: BatchHistory, nowMs: number): boolean {
  const [first] = read
  if (first === undefined || batch.days_ago === null) return false
  return nowMs > first.serverAt + leavingKnownFor(batch.days_ago)
}

export function restartBatch(history: BatchHistory): void {
  Object.assign(history, newBatchHistory(history.batch))
}

export function closeBatch(history: BatchHistory, state: 'finished' | 'split'): void {
  Object.assign(history, { state, read: [], drift: newDrift() })
}

// Chosen. If a service shows an event together with its correction, the pages between each pair within this time before
// a page was read are read again, so it must be short.
const CORRECTION_LATENESS_MS = 10 * MINUTE
// After a longer time, such as a day without budget, new events are expected.
const PAUSE_MS = 10 * MINUTE

// A service whose clock stands still must not be paid forever.
const REREADS_MAX = 2

/** Adds the next page of the batch, unless it has to be requested again. */
export function takeRecord(history: BatchHistory, record: PageReceived): void {
  if (history.state !== 'planned') return
  if (isStale(history, record.server_at) || isOutOfTime(history, record)) restartBatch(history)
  const { drift } = history
  const { page, counted_by: countedBy = PAGE_EVENTS, has_more: hasMore } = record
  if (page === history.row + 1) history.row = page
  // Pages in between were lost, which is noticed at the end of the batch; or an older version read this one again.
  if (page !== history.pages + 1) return
  const marks = decodeMarks(record.keys ?? '')
  const doubt = doubtOf(history, record, marks)
  const times = refetchCount(history)
  if (doubt !== null && times < doubt.askedAgain) {
    drift.doubted = { page, times: times + 1 }
    return
  }
  const before = (drift.countedBy ??= countedBy)
  const isMixed = countedBy !== before && (hasMore || countedBy > before)
  const mixed = `page ${page} is counted by ${countedBy} events, pages before it by ${before}`
  drift.fault ??= doubt?.fault ?? (isMixed ? mixed : null)
  addPage(history, record, marks)
}

/**
 * How often a page is requested again before it is accepted, and why its pages are not one list then, whichever process
 * read them. Null for a page without doubt.
 */
function doubtOf(history: BatchHistory, record: PageReceived, marks: readonly EventMark[]) {
  const { page, events, has_more: hasMore } = record
  // A machine with a clock behind lacks the newest events, and all others are further up; another machine is likely to
  // answer next.
  if (isLagging(history, record)) {
    const fault = `page ${page} comes from a clock behind that of other pages, even after 4 requests`
    return { askedAgain: 3, fault }
  }
  // A cache may once answer with an earlier page.
  const earlier = pageRepeatedBy(history, record, marks)
  if (earlier !== null) {
    const fault = `page ${page} is page ${earlier} again, even after two requests`
    return { askedAgain: 1, fault }
  }
  // An empty page is free, but contradicts the one before.
  return events === 0 && (hasMore || page > 1) ? { askedAgain: 2, fault: null } : null
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

/** How often the next page was fetched again because it was rejected; 0 for a page that was not requested. */
export function refetchCount({ pages, drift: { doubted } }: BatchHistory): number {
  return doubted.page === pages + 1 ? doubted.times : 0
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
  read.push({ events, repeats, seq, serverAt, ...(clocks === undefined ? {} : { clocks }) })
  history.pages = page
  history.events += events
  history.hasMore = record.has_more
  noteLeaving(history, record, marks)
  if (removals.length === 0) return
  const firsts = removals.map((removal) => firstReadAfter(history, removal))
  const until = drift.isUnsure ? serverAt + SECOND : serverAt
  drift.leaving = drift.leaving.filter(({ at }) => at >= until)
  drift.nextLeavesAt = drift.leaving.reduce((first, { at }) => Math.min(first, at), Infinity)
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

// Runs for each page, and a batch can have ten thousand: mostly no event has left.
function leftBefore({ drift }: BatchHistory, serverAt: number): Removal[] {
  return drift.nextLeavesAt >= serverAt ? [] : drift.leaving.filter(({ at }) => at < serverAt)
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
    const at = detectedAt + daysAgo * DAY
    // One that should have left already: the service counts in another way, and when it leaves is unknown.
    if (at < serverAt || at > until) continue
    drift.leaving.push({ page, at })
    drift.nextLeavesAt = Math.min(drift.nextLeavesAt, at)
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
