/**
 * Forecasts the result of a request: events from the rate of each organisation, pages from events. Pure. It is used to
 * pack batches and to name a likely bill. The last runs of a pipeline show how far off its forecasts were.
 */

import { PAGE_EVENTS } from '../journal/batch-history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import type { Sightings } from '../journal/coverage.ts'
import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import { sum } from '../support/numbers.ts'

// Events a day if nothing in the list was read yet: chosen.
const UNKNOWN_RATE = 0.2
// Lists mix banks with start-ups: a fifth of an event says as much about an organisation as the rest of its list does.
const TYPICAL_EVENTS = 0.2

/** Events a day: the organisation's own rate, mixed with a little of the list's, which stands for the unread. */
export function ratesOf(list: readonly (Sightings | undefined)[]) {
  const looked = list.filter((one) => one !== undefined).filter(({ days }) => days > 0)
  // Adds half an event, so that a list without events so far is not forecast to stay empty forever.
  const typical =
    (sum(looked.map(({ events }) => events)) + 0.5) /
    (sum(looked.map(({ days }) => days)) + 0.5 / UNKNOWN_RATE)
  return (seen: Sightings | undefined) => {
    // A batch that was not read to its end has events, but not the days that they belong to.
    const { events, days } = seen === undefined || seen.days === 0 ? { events: 0, days: 0 } : seen
    return (events + TYPICAL_EVENTS) / (days + TYPICAL_EVENTS / typical)
  }
}

// Variance of an organisation's count in a window, divided by its expectation: job changes come in bursts. Measured on
// the public events of 2018 of 10,650 organisations: 1.27 for windows of one and two days, 1.24 for a week, 1.10 for a
// month.
const DISPERSION = 1.25
// Counts beyond this many standard deviations are ignored.
const REACH = 5
// A logistic curve with this steepness equals the normal distribution within 0.01.
const STEEPNESS = 1.702

/**
 * Expected pages with events, ⌈N / 50⌉, if only the expectation of the count N is known: the sum of the probabilities
 * of a first page, a second, and so on. Within 0.02 pages of the exact sum over a negative binomial distribution.
 */
export function expectedPages(events: number): number {
  if (events <= 0) return 0
  const deviation = Math.sqrt(DISPERSION * events)
  const sure = Math.max(0, Math.floor((events - REACH * deviation) / PAGE_EVENTS))
  const last = (events + REACH * deviation) / PAGE_EVENTS
  let pages = sure
  for (let before = sure; before < last; before += 1) {
    pages +=
      before === 0
        ? 1 - DISPERSION ** (-events / (DISPERSION - 1))
        : 1 / (1 + Math.exp((STEEPNESS * (before * PAGE_EVENTS + 0.5 - events)) / deviation))
  }
  return pages
}

/** The range of a bill in credits, if the forecast is off as much as it was in the last runs of the pipeline. */
export interface BillRange {
  readonly low: number
  readonly high: number
  /** How many runs it is based on: the next one is within the range in (n - 1) of (n + 1) cases. */
  readonly runs: number
}

/** Fewer runs give no range. */
export const FEWEST_RUNS = 5
const MOST_RUNS = 19

/** Null while too few runs of the pipeline had a forecast. @param runs in the order of the journal */
export function billRange(
  expectedCredits: number,
  runs: Iterable<RunHistory>,
  pipeline: string,
): BillRange | null {
  // Adds one page on both sides, so that a night without pages can be compared.
  const factors = [...runs]
    .filter(({ started }) => started.pipeline === pipeline)
    .filter(isWhole)
    .flatMap(({ started: { expected_credits: expected }, creditsCommitted: came }) =>
      expected === undefined ? [] : (came + CREDITS_PER_PAGE) / (expected + CREDITS_PER_PAGE),
    )
    .slice(-MOST_RUNS)
  if (factors.length < FEWEST_RUNS) return null
  const pages = (factor: number) => (factor * expectedCredits) / CREDITS_PER_PAGE + factor - 1
  return {
    low: Math.max(0, Math.floor(pages(Math.min(...factors)))) * CREDITS_PER_PAGE,
    high: Math.ceil(pages(Math.max(...factors))) * CREDITS_PER_PAGE,
    runs: factors.length,
  }
}

// A run that ended early, or read on another day, did not ask what was forecast.
function isWhole({ finished, resumed, batchesDone, batchesPlanned }: RunHistory): boolean {
  return finished?.outcome === 'done' && resumed === 0 && batchesDone === batchesPlanned
}
