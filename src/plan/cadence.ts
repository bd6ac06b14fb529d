/** How often to ask: credits against freshness, from the rates of a plan alone. Pure. */

import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { DAY, HOUR } from '../support/units.ts'
import type { CostedPlan } from './plan.ts'
import { makeBatches } from './batches.ts'

/** What it costs to ask at a regular distance. */
export interface CadenceFigures {
  /** Days from one run to the next. */
  readonly everyDays: number
  /** The window of each run, in days, the overlap included. */
  readonly days: number
  readonly requestsPerWeek: number
  readonly creditsPerWeek: number
  /** Age of an event when it is bought: from its detection to the run, in days. */
  readonly meanAgeDays: number
  readonly ninetiethPercentileAgeDays: number
}

/** Nightly, every second night, weekly. */
const CADENCES = [1, 2, 7] as const

/**
 * Compares cadences once every organisation is covered up to the run before.
 * @param overlapHours what each run reads again before the watermark
 */
export function compareCadences(
  { needs, requestsPerForecast: requests }: CostedPlan,
  overlapHours: number,
): CadenceFigures[] {
  return CADENCES.map((everyDays) => {
    const days = Math.ceil(everyDays + (overlapHours * HOUR) / DAY)
    const due = needs.map(({ rate }) => ({ days, rate }))
    const batches = makeBatches(due, { requests, workers: 1, widest: null })
    const pages = batches.reduce((sum, batch) => sum + batch.pages, 0)
    const asked = batches.reduce((sum, batch) => sum + batch.pages + batch.empty, 0)
    return {
      everyDays,
      days,
      requestsPerWeek: (asked * 7) / everyDays,
      creditsPerWeek: (pages * CREDITS_PER_PAGE * 7) / everyDays,
      // Events are detected at any time between two runs.
      meanAgeDays: everyDays / 2,
      ninetiethPercentileAgeDays: 0.9 * everyDays,
    }
  })
}
