/**
 * The events of an organisation so far, according to the journal's headers: enough to estimate the cost of its next
 * request. Events and the days they were looked for in have the same weight by their age, so that a rate follows an
 * organisation whose activity changes, and repeated sightings change nothing. Pure.
 */

import { isConfirmed, type CoveredInterval } from './coverage.ts'
import { DAY } from '../support/units.ts'

export interface Sightings {
  /** Events in all pages ever read, repeated sightings counted each time. */
  readonly total: number
  /** When an event was last received, milliseconds since 1970 UTC; 0 for never. */
  readonly lastAt: number
  /** Events of the last 365 days of detection time, weighted by their age at `at`. */
  readonly events: number
  /** Requested days of detection time, with the same weights. */
  readonly days: number
  /** The time of the weights, milliseconds since 1970 UTC. */
  readonly at: number
}

/**
 * Events detected longer ago, in days, do not count for a rate; a read of everything counts as one of this many days.
 */
export const RATE_DAYS = 365

/** The half-life of the weights. */
export const RATE_HALF_LIFE_MS = 90 * DAY

const NOTHING: Sightings = { total: 0, lastAt: 0, events: 0, days: 0, at: 0 }

/** The days of detection time of an answer, except days already answered without events. */
export function lookedDays(
  known: readonly CoveredInterval[],
  { eventTypes, to }: CoveredInterval,
  days: number,
): number {
  const before = known
    .filter((one) => !isConfirmed(one) && one.eventTypes.some((type) => eventTypes.includes(type)))
    .map((one) => one.to)
  if (before.length === 0) return days
  return Math.min(days, Math.max(1, Math.ceil((to - Math.max(...before)) / DAY)))
}

/** Adds one observation to what is known; the order of observations does not matter. */
export function addSightings(known: Sightings | undefined, added: Sightings): Sightings {
  const before = known ?? NOTHING
  const at = Math.max(before.at, added.at)
  const weight = (of: Sightings) => 2 ** ((of.at - at) / RATE_HALF_LIFE_MS)
  return {
    total: before.total + added.total,
    lastAt: Math.max(before.lastAt, added.lastAt),
    events: before.events * weight(before) + added.events * weight(added),
    days: before.days * weight(before) + added.days * weight(added),
    at,
  }
}
