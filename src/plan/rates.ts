/**
 * How many events a day an organisation is expected to have, from what its own reads showed and from what is typical of
 * the list: counts are Poisson, rates of organisations Gamma distributed. Few reads lean on the list, many on
 * themselves; an organisation that was never asked has the list's typical rate. Pure.
 */

import { sum } from '../support/numbers.ts'
import { logGamma } from './log-gamma.ts'

/** What was seen of an organisation: events, and the days of detection time they were looked for in. */
export interface Exposure {
  readonly events: number
  readonly days: number
}

/** A rate and how much is known of it: a Gamma distribution. */
export interface Rate {
  /** Expected events a day. */
  readonly mean: number
  /** Variance of the rate: how little is known of the organisation. */
  readonly variance: number
  /** How much of it is the list's typical rate, from 1 (the organisation was never asked) towards 0. */
  readonly fromList: number
}

/** The rates of a list of organisations. */
export interface RatePrior {
  /** Of the Gamma distribution of rates: how alike the organisations are. */
  readonly shape: number
  /** Typical rate, events a day. */
  readonly mean: number
  /** Standard deviation of the logarithm of `mean`: how little is known of the whole list. */
  readonly meanSpread: number
}

// Chosen for a list of which nothing is known: six events a month, and it may be eight times more or less (90 %).
const UNKNOWN: RatePrior = { shape: 0.5, mean: 0.2, meanSpread: 1.26 }

// Shapes that are tried. Lists mix banks with start-ups, so real ones are far below 1; above 64 all are alike.
const SHAPES = Array.from({ length: 27 }, (_, step) => 0.008 * 2 ** (step / 2))
// As many organisations tell the shape as well as all of them would, in a few milliseconds.
const SAMPLE = 2_000

/** Fits what is typical of a list to those of its organisations that were looked at. */
export function fitPrior(seen: readonly Exposure[]): RatePrior {
  const looked = seen.filter(({ days }) => days > 0)
  const events = sum(looked.map((one) => one.events))
  const days = sum(looked.map((one) => one.days))
  if (days === 0) return UNKNOWN
  // Half an event more, so that a list that was silent so far is not taken to be silent for ever.
  const mean = (events + 0.5) / (days + 0.5 / UNKNOWN.mean)
  const every = Math.ceil(looked.length / SAMPLE)
  const sample = looked.filter((_, index) => index % every === 0)
  const shape = mostLikelyShape(sample, mean)
  const variance = (1 / shape + 1 / (mean * (days / looked.length))) / looked.length
  return { shape, mean, meanSpread: Math.min(UNKNOWN.meanSpread, Math.sqrt(Math.log1p(variance))) }
}

/** The rate of an organisation. */
export function rateOf(prior: RatePrior, seen: Exposure | undefined): Rate {
  const scaleDays = prior.shape / prior.mean
  // Pages of a batch that was not read to its end are events without the days they were looked for in.
  const own = seen === undefined || seen.days === 0 ? { events: 0, days: 0 } : seen
  const shape = prior.shape + own.events
  const days = scaleDays + own.days
  return { mean: shape / days, variance: shape / days ** 2, fromList: scaleDays / days }
}

// By likelihood, not by moments: of a list with a few giants the moments describe the giants.
function mostLikelyShape(sample: readonly Exposure[], mean: number): number {
  let best = UNKNOWN.shape
  let bestLikelihood = Number.NEGATIVE_INFINITY
  for (const shape of SHAPES) {
    const scaleDays = shape / mean
    const constant = shape * Math.log(scaleDays) - logGamma(shape)
    let likelihood = 0
    for (const { events, days } of sample) {
      const counted = shape + events
      likelihood += constant + logGamma(counted) - counted * Math.log(scaleDays + days)
    }
    if (likelihood > bestLikelihood) [best, bestLikelihood] = [shape, likelihood]
  }
  return best
}
