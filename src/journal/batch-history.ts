/**
 * How far a batch was read: pages 1 … n in an unbroken row, and others further down that are kept until the pages before
 * them are there. What a page does to it is in take-page.ts and page-seams.ts. Plain data, kept in checkpoints.
 */

import { DAY, SECOND } from '../support/units.ts'
import type { BatchRecord } from './records.ts'
import type { ClockDispute } from './service-time.ts'

/** Events in one page; a page costs the same at any size, so always the most. */
export const PAGE_EVENTS = 50

/**
 * For how long after a page was read it is known which of its events leave the window. A small budget may read a long
 * batch over weeks.
 */
export const LEAVING_KNOWN_MS = 30 * DAY

/** A batch and how far it was read. */
export interface BatchHistory {
  readonly batch: BatchRecord
  state: 'planned' | 'finished' | 'split'
  /** Pages 1 … n in unbroken order; the next one missing is n + 1. */
  pages: number
  /** Events on pages 1 … n; one that was pushed down to the next page in between is counted twice. */
  events: number
  /** Server time when page 1 was received first; null when nothing was read. */
  firstPageAt: number | null
  /** Whether there is more to ask for after page n. */
  hasMore: boolean
  /** Pages 1 … n, the first one first. */
  readonly read: TakenPage[]
  /** Pages with events after n + 1, by number. */
  readonly ahead: Map<number, TakenPage>
  /** The lowest page after all pages with events that is known to be empty; null when none is. */
  emptyFrom: number | null
  /** What is known of the seams between pages 1 … n. */
  readonly seams: Seams
  /** The latest place in the order of what was asked and received; see TakenPage. */
  order: number
  /** When requests that are not answered yet were sent, in that order, by request_id. */
  readonly asked: Map<string, number>
  /** Numbers of the pages that the journal holds since the batch was begun, or begun anew. */
  readonly recorded: Set<number>
}

/** A page as it came. */
export interface TakenPage {
  readonly page: number
  readonly events: number
  readonly hasMore: boolean
  /** Server time in whole seconds, milliseconds since 1970 UTC. */
  readonly serverAt: number
  /** Where clocks do not agree on `serverAt`: between which times it was. */
  readonly clocks?: Pick<ClockDispute, 'earliest' | 'latest'>
  /** Detection times of its events that leave the window by `leavingUntil`; see leavingSoon. */
  readonly leaving: readonly number[]
  /** Server time. */
  readonly leavingUntil: number
  /** Marks of its events, see page-keys.ts; null where it is the only page, or was bought by 0.1.0. */
  readonly keys: string | null
  /** Numbers that rise with everything that is asked or received for the batch: when this page was asked for, … */
  readonly asked: number
  /** … and when it was received. A page whose `asked` is above another's `received` was certainly read after it. */
  readonly received: number
}

/** What is known of the seams of a batch. */
export interface Seams {
  /** Pages k, rising, where something may have slipped through between k and k + 1. */
  loose: number[]
  /** Where each event was met last, by its key. */
  readonly met: Map<number, Meeting>
  /** The place in the order at which paging last went back. */
  wentBackAt: number
  /** The place in the order of the last page with an event that was pushed down to it; 0 for none. */
  pushedAt: number
  /** Detection times, as TakenPage.leaving, of events on pages that paging went back behind: they may be anywhere now. */
  strays: number[]
  /** No event on a page that was read, and no stray, was detected earlier and has not left; Infinity when none leaves. */
  leavesFirst: number
  /** How often pages were asked for again because events left in the second in which they were read. */
  waits: number
  /** Whether the service shows an event and its correction side by side, so that nothing is removed. */
  keepsVersions: boolean
}

/** The newest version of an event, and the page that it was met on last. */
export interface Meeting {
  readonly detectedAt: number
  readonly page: number
  readonly received: number
}

/** A batch of which nothing was read. */
export function newBatchHistory(batch: BatchRecord): BatchHistory {
  return {
    batch,
    state: 'planned',
    pages: 0,
    events: 0,
    firstPageAt: null,
    hasMore: true,
    read: [],
    ahead: new Map(),
    emptyFrom: null,
    seams: newSeams(),
    order: 0,
    asked: new Map(),
    recorded: new Set(),
  }
}

/**
 * The detection time that a batch covers once it was read to its end: up to its first page, because later events may
 * have come in before pages that were read; back to the window of the page that was read last, because events that were
 * older then may have left before their page was read. Where clocks do not agree, the shortest time that any of them allows:
 * from the later one up to the earlier one, and never past this machine's clock by more than minutes.
 */
export function coveredTime(
  { batch, read }: BatchHistory,
  nowMs: number,
): { from: number | null; to: number } {
  const [only] = read
  const start = only === undefined ? nowMs : earliestOf(only)
  const first = read.reduce((a, page) => Math.min(a, earliestOf(page)), start)
  const last = read.reduce((a, page) => Math.max(a, page.clocks?.latest ?? page.serverAt), first)
  if (batch.days_ago === null) return { from: null, to: first }
  // The service tells its time in whole seconds: by the end of that second other events had left.
  const from = last + SECOND - batch.days_ago * DAY
  return { from: Math.min(from, first), to: first }
}

function earliestOf({ clocks, serverAt }: TakenPage): number {
  return clocks?.earliest ?? serverAt
}

/** Whether the journal holds each of the pages 1 … `pages` of a batch: only then it was read to its end. */
export function isRecorded({ recorded }: BatchHistory, pages: number): boolean {
  for (let page = 1; page <= pages; page += 1) if (!recorded.has(page)) return false
  return true
}

/** Whether a part of it was read. */
export function isBegun({ firstPageAt }: BatchHistory): boolean {
  return firstPageAt !== null
}

/** Pages with events that it has: those that were paid for, and are not asked for again. */
export function pagesBought({ read, ahead }: BatchHistory): number {
  return read.filter(({ events }) => events > 0).length + ahead.size
}

/** Of these detection times, those that leave a window of `daysAgo` days by `untilMs`. */
export function leavingSoon(
  detectedAt: readonly number[],
  daysAgo: number,
  untilMs: number,
): number[] {
  return detectedAt.filter((time) => time + daysAgo * DAY <= untilMs)
}

/**
 * Whether the pages of a batch are still good to be read on. Not when it is unknown which of their events have left the
 * window by now: then everything after those has moved up, and takePage starts the batch anew.
 * @param nowMs server time
 */
export function canGoOn({ batch, read, ahead }: BatchHistory, nowMs: number): boolean {
  if (batch.days_ago === null) return true
  const isKnown = ({ leavingUntil }: TakenPage) => leavingUntil >= nowMs
  return read.every(isKnown) && [...ahead.values()].every(isKnown)
}

/** Forgets the pages of a batch, so that it is read from page 1. */
export function startAnew(history: BatchHistory): void {
  history.pages = 0
  history.events = 0
  history.hasMore = true
  history.firstPageAt = null
  history.read.length = 0
  history.ahead.clear()
  history.recorded.clear()
  history.emptyFrom = null
  forgetSeams(history.seams)
}

/** Ends a batch; what was known of its pages is not needed any more. */
export function closeBatch(history: BatchHistory, state: 'finished' | 'split'): void {
  history.state = state
  history.read.length = 0
  history.ahead.clear()
  history.asked.clear()
  history.recorded.clear()
  forgetSeams(history.seams)
}

function newSeams(): Seams {
  return {
    loose: [],
    met: new Map(),
    wentBackAt: 0,
    pushedAt: 0,
    strays: [],
    leavesFirst: Infinity,
    waits: 0,
    keepsVersions: false,
  }
}

function forgetSeams(seams: Seams): void {
  seams.met.clear()
  Object.assign(seams, { ...newSeams(), met: seams.met })
}
