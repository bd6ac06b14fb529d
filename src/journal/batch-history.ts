/**
 * How far a batch was read: pages 1 … n, in order. page-drift.ts applies the next page. Plain data, kept in
 * checkpoints.
 */

import { DAY, HOUR, SECOND } from '../support/units.ts'
import type { Uptime } from '../support/clock.ts'
import { elapsedSince } from './clock-history.ts'
import type { BatchRecord, PageReceived } from './records.ts'
import { CLOCK_TOLERANCE_MS, type ClockDispute } from './service-time.ts'

/** Events in one page; a page costs the same at any size, so always the most. */
export const PAGE_EVENTS = 50

export interface BatchHistory {
  readonly batch: BatchRecord
  state: 'planned' | 'finished' | 'split'
  /** Pages 1 … n were read; the next one is n + 1. */
  pages: number
  /** Events on pages 1 … n; one that was pushed down to the next page in between is counted twice. */
  events: number
  /** Server time when page 1 was received first; null when nothing was read. */
  firstPageAt: number | null
  /** Whether there is more to ask for after page n. */
  hasMore: boolean
  /** Pages 1 … n, the first one first. Empty once the batch is closed. */
  readonly read: ReadPage[]
  readonly drift: Drift
}

export interface ReadPage {
  readonly events: number
  /** The number of its events that appear on it twice. */
  readonly twins: number
  /** Shows whether the page is unchanged when it is requested again. */
  readonly fingerprint: string
  /** The number of this reading, which rises with every page taken. */
  readonly seq: number
  /** Server time in whole seconds, milliseconds since 1970 UTC. */
  readonly serverAt: number
  /** Where clocks do not agree on `serverAt`: between which times it was. */
  readonly clocks?: Omit<ClockDispute, 'date'>
  /** How long the machine was up; absent where that is unknown. */
  readonly uptime?: Uptime
}

/** Evidence that the list moved between two pages of a batch. */
export interface Drift {
  /** The newest version of each event, by its key, and where it was seen last. */
  readonly met: Map<number, Meeting>
  /** Versions of events that were seen and are not the newest: key and time of detection. */
  readonly older: Set<string>
  /** The number of the last reading; see ReadPage. */
  seq: number
  /** Events on pages 1 … n that leave the window soon. */
  leaving: Leaving[]
  /** When the first of them leaves, server time; Infinity when none does. */
  nextLeavesAt: number
  /** How often an unverified boundary was read again. */
  rereads: number
  /** Whether the service shows an event together with its correction, so that nothing is removed. */
  keepsVersions: boolean
  /** The last page that was requested again because it was odd, 0 for none, and how often. */
  doubted: { readonly page: number; readonly times: number }
  /** How often the next page came from a lagging part of the service; see isFromLaggingReplica. */
  behind: number
  /** By how many events the service counts the pages; null before the first. */
  countedBy: number | null
  /** A page to ask for again; null for none. */
  look: Look | null
  /** Whether the list moved while pages were read one after the other: the last page may be of another state of it. */
  hasMoved: boolean
  /**
   * Events that were seen on two pages, less those that were seen later than in their place: this many may be on no
   * page.
   */
  hidden: number
  /** How often the batch had to be read again from page 1, because its order changed. */
  readings: number
  /** Why its pages are not one list, so that it is read from page 1. Null while they may be. */
  fault: string | null
}

export interface Look {
  readonly page: number
  /** How often it was requested. */
  readonly times: number
  /** How many of its events the page after it shows, read right after it; 0 where that was after a longer while. */
  readonly repeats: number
  /** Whether the batch was read to its end: to see whether it is whole. */
  readonly isAtEnd: boolean
}

export interface Meeting {
  readonly detectedAt: number
  readonly page: number
  /** Its place on the page, from 0. */
  readonly index: number
  readonly seq: number
}

/** An event that leaves the window at `leavesAt` (server time), and so moves everything below page `page` up. */
export interface Leaving {
  readonly leavesAt: number
  readonly page: number
}

export function newBatchHistory(batch: BatchRecord): BatchHistory {
  return {
    batch,
    state: 'planned',
    pages: 0,
    events: 0,
    firstPageAt: null,
    hasMore: true,
    read: [],
    drift: { met: new Map(), older: new Set(), seq: 0, ...noDrift() },
  }
}

function noDrift(): Omit<Drift, 'met' | 'older' | 'seq'> {
  return {
    leaving: [],
    nextLeavesAt: Infinity,
    rereads: 0,
    keepsVersions: false,
    doubted: { page: 0, times: 0 },
    behind: 0,
    countedBy: null,
    look: null,
    hasMoved: false,
    hidden: 0,
    readings: 0,
    fault: null,
  }
}

/**
 * The detection time that a batch covers once it was read to its end: up to its first page, because later events may
 * have arrived above pages that were read; back to the window of the page that was read last, because events that were
 * older then may have left before their page was read. Where clocks do not agree, the shortest time that any of them
 * allows: from the later one up to the earlier one, and never past this machine's clock by more than minutes.
 */
export function coveredTime(
  { batch, read }: BatchHistory,
  nowMs: number,
): { from: number | null; to: number } {
  const [only] = read
  const start = only === undefined ? nowMs : earliestOf(only)
  // A page after the first may show that its clocks were wrong, by more than clocks may differ.
  const firstBy = (page: ReadPage): number => {
    const by = earliestOf(page) - elapsedSince(only?.uptime ?? null, page.uptime ?? null)
    return by < start - CLOCK_TOLERANCE_MS ? by : earliestOf(page)
  }
  const first = read.reduce((a, page) => Math.min(a, firstBy(page)), start)
  const end = read.at(-1)
  const last = Math.max(first, end === undefined ? first : latestOf(end))
  // Time may have passed unseen between two pages, and what left the window then is not known to have shifted others.
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

export function isBegun({ firstPageAt }: BatchHistory): boolean {
  return firstPageAt !== null
}

/** Pages with events that it has: they were paid for, and are not requested again. */
export function pagesBought({ read }: BatchHistory): number {
  return read.filter(({ events }) => events > 0).length
}

// A small budget may read a long batch over weeks. Of what the service shows hours late nothing is known meanwhile.
const LEAVING_KNOWN_MS = 30 * DAY
const LATENESS_MS = 6 * HOUR

/** For how long after a page was read it is known which of its events leave the window, in milliseconds. */
export function leavingKnownFor(daysAgo: number): number {
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

/** Forgets the pages of a batch, so that it is read from page 1. */
export function restartBatch(history: BatchHistory): void {
  forgetPages(history)
  Object.assign(history, { pages: 0, events: 0, hasMore: true, firstPageAt: null })
}

/** Ends a batch; what was known of its pages is not needed any more. */
export function closeBatch(history: BatchHistory, state: 'finished' | 'split'): void {
  history.state = state
  forgetPages(history)
}

function forgetPages({ read, drift }: BatchHistory): void {
  read.length = 0
  drift.met.clear()
  drift.older.clear()
  Object.assign(drift, noDrift())
}

/**
 * Whether the next page is requested again before it is believed. A cache in between may have answered with an earlier
 * page, once, which may cost a page. An empty page is free: after a page that promised more it contradicts that, and is
 * requested twice more.
 */
export function isDoubted(
  history: BatchHistory,
  record: PageReceived,
  same: number | null,
): boolean {
  const { page, events, has_more: hasMore } = record
  const isEmpty = events === 0 && (hasMore || page > 1)
  if (same === null && !isEmpty) return false
  const { doubted } = history.drift
  const times = doubted.page === page ? doubted.times : 0
  if (times >= (isEmpty ? 2 : 1)) return false
  history.drift.doubted = { page, times: times + 1 }
  return true
}

/** How often the next page was fetched again because it was not believed; 0 for a page that was not requested. */
export function refetchCount({ pages, drift: { doubted } }: BatchHistory): number {
  return doubted.page === pages + 1 ? doubted.times : 0
}
