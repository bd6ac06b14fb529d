/**
 * How far a batch was read: pages 1 … n, in order. page-drift.ts applies the next page. Plain data, kept in
 * checkpoints.
 */

import { DAY, HOUR, SECOND } from '../support/units.ts'
import type { BatchRecord, ClockDispute } from './records.ts'

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

/** An event that leaves the window at `leavesAt` (server time), and so moves everything below page `page` up. */
interface Leaving {
  readonly leavesAt: number
  readonly page: number
}

export function newBatchHistory(batch: BatchRecord) {
  return {
    batch,
    state: 'planned' as 'planned' | 'finished' | 'split',
    /** Pages 1 … n were read; the next one is n + 1. */
    pages: 0,
    /** Events on pages 1 … n; an event pushed to the next page in between counts twice. */
    events: 0,
    /** Server time when page 1 was first received; null if nothing was read. */
    firstPageAt: null as number | null,
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
    seq: 0,
    /** Events on pages 1 … n that leave the window soon. */
    leaving: [] as Leaving[],
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

export function isBegun({ firstPageAt }: BatchHistory): boolean {
  return firstPageAt !== null
}

export function pagesBought({ read }: BatchHistory): number {
  return read.filter(({ events }) => events > 0).length
}

// A small budget may read a long batch over weeks. Meanwhile, late detections are unknown.
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

export function restartBatch(history: BatchHistory): void {
  Object.assign(history, newBatchHistory(history.batch))
}

export function closeBatch(history: BatchHistory, state: 'finished' | 'split'): void {
  Object.assign(history, { state, read: [], drift: newDrift() })
}
