/** How far back an organisation must be asked, from what is wanted of it and what is covered. Pure. */

import { addInterval, startOf, type CoveredInterval } from '../journal/coverage.ts'
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

const LONGEST_WINDOW_DAYS = 365

/**
 * The window that closes the gap between what is covered and what is wanted, in whole days rounded up, the overlap
 * included; what was read to its end is not bought again. Beyond 365 days the service takes no window, so everything is
 * asked.
 */
export function neededWindow(
  { eventTypes, window, initialWindow, overlapHours, isAfterLoss }: WindowQuestion,
  coverage: readonly CoveredInterval[],
  nowMs: number,
): Window {
  const wanted = window === 'since-last' ? initialWindow : window
  const from = wanted === 'all' ? Number.NEGATIVE_INFINITY : nowMs - wanted * DAY
  const starts = eventTypes.map((type) => {
    const intervals = coverageOf(type, coverage)
    // Since the last time: the end of the oldest unbroken interval. Asking from there also fills a gap after it. A window
    // from `from` on: the end of the interval that covers its beginning.
    const reached =
      window === 'since-last' && isAfterLoss !== true
        ? intervals[0]
        : intervals.find((one) => startOf(one) <= from && one.to > from)
    // Nothing that lies ahead was read: the overlap is still asked for.
    return reached === undefined ? from : Math.min(reached.to, nowMs) - overlapHours * HOUR
  })
  const days = Math.max(1, Math.ceil((nowMs - Math.min(...starts)) / DAY))
  if (typeof window === 'number') return Math.min(days, window)
  return days > LONGEST_WINDOW_DAYS ? 'all' : days
}

/**
 * What is covered for one event type, whichever types it was asked for together with: else an old answer for `joined`
 * alone would be a gap for ever, though all three were read since. Oldest first, joined where they touch.
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
