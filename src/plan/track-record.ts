/**
 * How good the forecasts of a pipeline's last runs were. Rates are learnt over months and windows of every length, so a
 * night may always bring somewhat less (events that the service shows late) or more (a lively season), and some
 * nights much more than others: the bills that came say so, and the next forecast is corrected and as wide. Pure.
 */

import type { RunHistory } from '../journal/run-history.ts'
import { DISPERSION } from './expected-pages.ts'

/** What the last forecasts say of the next one. */
export interface TrackRecord {
  /** Events that came, over events that were expected from rates alone. */
  readonly factor: number
  /** Standard deviation of the logarithm of that, from run to run, chance left out. */
  readonly spread: number
}

interface Night {
  /** Events expected from rates alone. */
  readonly expected: number
  readonly came: number
}

// Two weeks of nights: long enough to know a weekend from a weekday, short enough to follow a season.
const RUNS = 14
// The record of few events says little: it is mixed with so many that came as expected.
const EVENTS_AS_EXPECTED = 100
// And the spread with so many runs that were off by 5 %.
const RUNS_WITH_USUAL_SPREAD = 4
const USUAL_SPREAD = 0.05

/** The track record of a pipeline. @param runs in the order of the journal */
export function trackRecord(runs: Iterable<RunHistory>, pipeline: string): TrackRecord {
  const nights: Night[] = []
  for (const run of runs) {
    const { expected_events: expected } = run.started
    if (run.started.pipeline !== pipeline || expected === undefined || !isWhole(run)) continue
    nights.push({ expected, came: run.events })
  }
  const last = nights.slice(-RUNS)
  const sum = (of: (night: Night) => number) => last.reduce((total, night) => total + of(night), 0)
  const expectedInAll = sum(({ expected }) => expected)
  // The middle night, not their sum: one night of a great wave does not make all others expensive.
  const middle = median(last.map((night) => surprise(night, 1)))
  const factor = Math.exp((middle * expectedInAll) / (expectedInAll + EVENTS_AS_EXPECTED))
  const squares = sum(
    (night) => surprise(night, factor) ** 2 - DISPERSION / Math.max(1, factor * night.expected),
  )
  const usual = RUNS_WITH_USUAL_SPREAD * USUAL_SPREAD ** 2
  const variance = (usual + squares) / (RUNS_WITH_USUAL_SPREAD + last.length)
  return { factor, spread: Math.sqrt(Math.max(0, variance)) }
}

/** The logarithm of what came over what was to come; half an event is added, so that a night without any has one. */
function surprise({ expected, came }: Night, factor: number): number {
  return Math.log((came + 0.5) / (factor * expected + 0.5))
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  const [lower = 0, upper = lower] = sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1)
  return sorted.length === 0 ? 0 : (lower + upper) / 2
}

// A run that ended early, or was read on another day, did not ask what was forecast.
function isWhole({ finished, resumed, batchesDone, batchesPlanned }: RunHistory): boolean {
  return finished?.outcome === 'done' && resumed === 0 && batchesDone === batchesPlanned
}
