/** How far back an organisation must be asked, from what is wanted of it and what is covered. Pure. */

import { addInterval, type CoveredInterval } from '../journal/coverage.ts'
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

/** The longest window the service takes, in days; beyond it only "everything" is left. */
export const LONGEST_WINDOW_DAYS = 365

/**
 * The window that closes the gap between what is covered and what is wanted, in whole days rounded up, the overlap
 * included; what was read to its end is not bought again. Beyond 365 days the service takes no window, so everything is
 * asked.
 */
export function neededWindow(
  question: WindowQuestion,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): Window {
  const { needed } = uncoveredDays(question, coverage, nowMs)
  return windowFor(question, needed)
}

/** The window that reaches so many days back. @param neededDays Infinity for everything */
export function windowFor({ window }: WindowQuestion, neededDays: number): Window {
  const days = Math.max(1, Math.ceil(neededDays))
  if (typeof window === 'number') return Math.min(days, window)
  return days > LONGEST_WINDOW_DAYS ? 'all' : days
}

/** How long ago, in days, what is wanted and not covered begins; Infinity for everything. */
export interface UncoveredDays {
  /** With the overlap. */
  readonly needed: number
  /** Without it: what is asked for the first time. */
  readonly fresh: number
}

/** How far back one organisation must be asked. */
export function uncoveredDays(
  question: WindowQuestion,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): UncoveredDays {
  const wanted = question.window === 'since-last' ? question.initialWindow : question.window
  const from = wanted === 'all' ? Number.NEGATIVE_INFINITY : nowMs - wanted * DAY
  let neededStart = nowMs
  let freshStart = nowMs
  for (const type of question.eventTypes) {
    const intervals = coverageOf(type, coverage)
    const known =
      question.window === 'since-last' && question.isAfterLoss !== true
        ? oldestWatermark(intervals)
        : watermarkFrom(intervals, from)
    // Nothing that lies ahead was read: the overlap is still asked for.
    const watermark = known === null ? null : Math.min(known, nowMs)
    neededStart = Math.min(
      neededStart,
      watermark === null ? from : watermark - question.overlapHours * HOUR,
    )
    freshStart = Math.min(freshStart, watermark ?? from)
  }
  return { needed: (nowMs - neededStart) / DAY, fresh: (nowMs - freshStart) / DAY }
}

/**
 * What is covered for one event type, whichever types it was asked for together with: else an old answer for `joined`
 * alone would be a gap for ever, though all three were read since. Oldest first, joined where they touch.
 */
export function coverageOf(
  type: EventType,
  coverage: readonly CoveredInterval[],
): CoveredInterval[] {
  const [only] = coverage
  if (only !== undefined && coverage.length === 1 && only.eventTypes.includes(type)) {
    return [{ eventTypes: [type], from: only.from, to: only.to }]
  }
  return coverage
    .filter(({ eventTypes }) => eventTypes.includes(type))
    .reduce<CoveredInterval[]>(
      (joined, { from, to }) => addInterval(joined, { eventTypes: [type], from, to }),
      [],
    )
}

// Since the last time: the end of the oldest unbroken interval. Asking from there also fills a gap after it.
function oldestWatermark(intervals: readonly CoveredInterval[]): number | null {
  return intervals.length === 0 ? null : Math.min(...intervals.map(({ to }) => to))
}

// A window from `from` on: the end of the interval that covers its beginning.
function watermarkFrom(intervals: readonly CoveredInterval[], from: number): number | null {
  const covering = intervals.filter(
    (interval) => (interval.from ?? Number.NEGATIVE_INFINITY) <= from && interval.to > from,
  )
  return covering.length === 0 ? null : Math.max(...covering.map(({ to }) => to))
}
