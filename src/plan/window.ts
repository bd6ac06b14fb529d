/** How far back an organisation must be asked, from what is wanted of it and what is covered. Pure. */

import { addInterval, isConfirmed, startOf, type CoveredInterval } from '../journal/coverage.ts'
import type { EventType } from '../journal/records.ts'
import { DAY, HOUR } from '../support/units.ts'

/** A window: whole days of detection time (1 to 365), or everything. */
export type Window = number | 'all'

/** The part of a question that says how far back to ask. */
export interface WindowQuestion {
  readonly eventTypes: readonly EventType[]
  readonly window: Window | 'since-last'
  /** Of an organisation that was never covered. */
  readonly initialWindow: Window
  /** Hours that are read again before the watermark. */
  readonly overlapHours: number
  /** Records of the journal were lost: the first read may be gone, so that the initial window is asked for again. */
  readonly isAfterLoss?: boolean
}

/** The service takes no longer window, so everything is requested then. */
export const LONGEST_WINDOW_DAYS = 365

/**
 * The window that closes the gap between covered and wanted time, in whole days rounded up, including the overlap; time
 * that was read to its end is not bought again. Time that was answered without events for all types is requested again: that is free while there is nothing.
 */
export function neededWindow(
  question: WindowQuestion,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): Window {
  const { eventTypes, window } = question
  const unread = eventTypes.map((type) => startFor(question, coverageOf(type, coverage), nowMs))
  const unconfirmed = coverage.every(isConfirmed)
    ? []
    : eventTypes.map((type) => unconfirmedStart(question, type, coverage, nowMs))
  // Types that are requested one by one get one window: nothing is bought again for a type without events.
  const start = Math.min(...unread, unconfirmed.length === 0 ? Infinity : Math.max(...unconfirmed))
  const days = Math.max(1, Math.ceil((nowMs - start) / DAY))
  if (typeof window === 'number') return Math.min(days, window)
  return days > LONGEST_WINDOW_DAYS ? 'all' : days
}

function startFor(
  question: WindowQuestion,
  intervals: readonly CoveredInterval[],
  nowMs: number,
): number {
  const { window, overlapHours, isAfterLoss } = question
  const from = wantedFrom(question, nowMs)
  // Since the last time: the end of the oldest unbroken interval. Asking from there also fills a gap after it. A window
  // from `from` on: the end of the interval that covers its beginning.
  const reached =
    window === 'since-last' && isAfterLoss !== true
      ? intervals[0]
      : intervals.find((one) => startOf(one) <= from && one.to > from)
  // Nothing that lies ahead was read: the overlap is still asked for.
  return reached === undefined ? from : Math.min(reached.to, nowMs) - overlapHours * HOUR
}

function wantedFrom({ window, initialWindow }: WindowQuestion, nowMs: number): number {
  const wanted = window === 'since-last' ? initialWindow : window
  return wanted === 'all' ? Number.NEGATIVE_INFINITY : nowMs - wanted * DAY
}

/** From when on there were only answers without an event; of one that never sent any, as far back as it was ever asked. */
function unconfirmedStart(
  question: WindowQuestion,
  type: EventType,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): number {
  const confirmed = coverageOf(type, coverage.filter(isConfirmed))
  const start = startFor(question, confirmed, nowMs)
  // A window without an end would buy what was bought before it.
  const oldest = nowMs - LONGEST_WINDOW_DAYS * DAY
  if (confirmed.length > 0 && Number.isFinite(start)) return Math.max(start, oldest)
  const [first] = question.window === 'since-last' ? coverageOf(type, coverage) : []
  if (first === undefined) return start
  return first.from === null
    ? Number.NEGATIVE_INFINITY
    : Math.min(start, Math.max(first.from, oldest))
}

/**
 * The covered time of one event type, whichever types it was requested together with: otherwise an old answer for
 * `joined` alone would leave a gap forever, although all three types were read since. Oldest first, joined where they
 * touch.
 */
export function coverageOf(
  type: EventType,
  coverage: readonly CoveredInterval[],
): CoveredInterval[] {
  return coverage
    .filter(({ eventTypes }) => eventTypes.includes(type))
    .map(({ from, to }) => ({ eventTypes: [type], from, to }))
    .reduce<CoveredInterval[]>(addInterval, [])
}
