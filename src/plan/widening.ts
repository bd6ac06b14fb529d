/**
 * How far back a batch may look for nothing: its last page is part empty anyway, and what fits on it costs no more. A
 * longer look catches events that the service shows hours or days after it detected them. Pure.
 */

import { forecastPages } from './expected-pages.ts'

/** Windows are not widened beyond this, in days: what is shown later than that is for a backfill to find. */
const WIDEST_FREE_DAYS = 30

// In pages: one hundredth of a credit for a batch.
const FREE = 0.001
/**
 * Variance over mean: more than was measured for one organisation (expected-pages.ts), because a lively week is lively for
 * many at once, and what is called free must be so in that week too.
 */
export const CAUTIOUS_DISPERSION = 1.6

/**
 * The longest window, in days, that is expected to cost no more than `days`.
 * @param rate expected events a day of the whole request
 * @param days the window that is needed
 * @param widest no window longer than this is taken
 */
export function widenForFree(rate: number, days: number, widest: number): number {
  const needed = forecastPages(rate * days, CAUTIOUS_DISPERSION).pages
  let longest = days
  let tooLong = Math.min(widest, WIDEST_FREE_DAYS) + 1
  while (tooLong - longest > 1) {
    const middle = Math.floor((longest + tooLong) / 2)
    const { pages } = forecastPages(rate * middle, CAUTIOUS_DISPERSION)
    if (pages - needed <= FREE) longest = middle
    else tooLong = middle
  }
  return longest
}
