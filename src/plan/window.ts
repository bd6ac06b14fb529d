/** Decides how far back to ask for an organisation, from the wanted time and the covered time. Pure. */

import { addInterval, isConfirmed, startOf, type CoveredInterval } from '../journal/coverage.ts'
import type { EventType } from '../journal/records.ts'
import { DAY, HOUR } from '../support/units.ts'

/** A window: whole days of detection time (1 to 365), or everything. */
export type Window = number | 'all'

export interface WindowQuestion {
  readonly eventTypes: readonly EventType[]
  readonly window: Window | 'since-last'
  readonly initialWindow: Window
  /** Hours before the watermark that are read again. */
  readonly overlapHours: number
  /** Records of the journal were lost, so the first read may be gone and the initial window is requested again. */
  readonly isAfterLoss?: boolean
}

/** The service accepts no longer window, so beyond it everything is requested. */
export const LONGEST_WINDOW_DAYS = 365

/**
 * The window that closes the gap between covered and wanted time, in whole days rounded up, including the overlap. Time
 * that was read to its end is not bought again. Time that was answered without events for all types is requested again,
 * which is free while there is nothing.
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
  // Types that are requested one by one share a window: a type without events costs nothing to request again.
  const start = Math.min(...unread, unconfirmed.length === 0 ? Infinity : Math.max(...unconfirmed))
  const days = Math.max(1, Math.ceil((nowMs - start) / DAY))
  if (typeof window === 'number') return Math.min(days, window)
  return days > LONGEST_WINDOW_DAYS ? 'all' : days
}

function startFor(question: WindowQuestion, intervals: readonly CoveredInterval[], nowMs: number) {
  const { window, overlapHours, isAfterLoss } = question
  const wanted = window === 'since-last' ? question.initialWindow : window
  const from = wanted === 'all' ? Number.NEGATIVE_INFINITY : nowMs - wanted * DAY
  // For since-last: the end of the oldest unbroken interval, so that a gap after it is closed as well. For a window
  // that begins at `from`: the end of the interval that covers its beginning.
  const reached =
    window === 'since-last' && isAfterLoss !== true
      ? intervals[0]
      : intervals.find((one) => startOf(one) <= from && one.to > from)
  // Nothing that lies ahead was read, so the overlap is still requested.
  return reached === undefined ? from : Math.min(reached.to, nowMs) - overlapHours * HOUR
}

/** Since when all answers were empty; for an organisation without any event, as far back as it was ever requested. */
function unconfirmedStart(
  question: WindowQuestion,
  type: EventType,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): number {
  const confirmed = coverageOf(type, coverage.filter(isConfirmed))
  const start = startFor(question, confirmed, nowMs)
  // A window without an end would buy again what was bought before it.
  const oldest = nowMs - LONGEST_WINDOW_DAYS * DAY
  if (confirmed.length > 0 && Number.isFinite(start)) return Math.max(start, oldest)
  const [first] = question.window === 'since-last' ? coverageOf(type, coverage) : []
  if (first === undefined) return start
  return first.from === null
    ? Number.NEGATIVE_INFINITY
    : Math.min(start, Math.max(first.from, oldest))
}

/**
 * The covered time of one event type, whatever was requested with it: an old answer for `joined` alone would
 * leave a gap forever. Oldest first; adjacent intervals are joined.
 */
export function coverageOf(type: EventType, coverage: readonly CoveredInterval[]) {
  return coverage
    .filter(({ eventTypes }) => eventTypes.includes(type))
    .map(({ from, to }) => ({ eventTypes: [type], from, to }))
    .reduce<CoveredInterval[]>(addInterval, [])
}
