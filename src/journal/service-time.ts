/**
 * Determines the time at the service without believing any one clock: the `Date` of an answer, this machine's clock,
 * and the monotonic clock since an earlier answer. A wrong `Date` must not make coverage reach past what was read, and
 * no clock may shorten a later window: coverage ends at the earlier time, windows are counted from the later one. Pure.
 */

import { MINUTE } from '../support/units.ts'

/**
 * Clocks this close agree: an answer may be on its way for a minute, and clocks that are kept right are off by seconds. The
 * overlap of windows is longer.
 */
export const CLOCK_TOLERANCE_MS = 5 * MINUTE

/** The clocks when an answer was here. Milliseconds since 1970 UTC. */
export interface ClockWitnesses {
  /** The `Date` of the answer; null where it has none. */
  readonly date: number | null
  readonly ours: number
  /** The last service time believed in this process and the monotonic time since; null before the first answer. */
  readonly expected: number | null
  /** This machine's clock put right by how far the service was ahead in the run before; null before the first run. */
  readonly remembered?: number | null
  /** The time that the service has reached, if all answers before were right; null before the first one. */
  readonly reached?: number | null
}

/** A step back of all clocks, milliseconds since 1970 UTC. */
export interface WentBack {
  /** The time that they would show if answers before were right. */
  readonly from: number
  readonly to: number
}

/** Clocks that do not agree. Milliseconds since 1970 UTC. */
export interface ClockDispute {
  /** The answer's `Date`; this machine's clock where it has none. */
  readonly date: number
  /** The service's time was not before this. */
  readonly earliest: number
  /** The service's time was not after this. */
  readonly latest: number
  /** The `Date` left the course of those before it, and was not believed. */
  readonly jump?: true
  /**
   * The clocks show less than the time that earlier answers had reached: they were wrong, or are. Coverage after
   * `earliest` is void.
   */
  readonly wentBack?: WentBack
}

/** The service's time when an answer was made. */
export interface ServiceTime {
  /** The believed time, milliseconds since 1970 UTC. */
  readonly at: number
  /** Null when the clocks agree within CLOCK_TOLERANCE_MS. */
  readonly dispute: ClockDispute | null
}

/**
 * Decides what is believed of the service's time. Two witnesses that agree outvote the third; only that this machine's clock
 * differs from a steady `Date` decides nothing, because the service counts windows by its own clock. Neither can the
 * monotonic clock rule out that time has passed: a machine may have slept.
 */
export function resolveServerTime(witnesses: ClockWitnesses): ServiceTime {
  const { date, ours, expected, remembered = null, reached = null } = witnesses
  const isAgreed = date !== null && isNear(date, ours)
  const own = isAgreed ? [date, ours] : [date ?? ours, ours, remembered ?? ours]
  if (reached !== null && Math.max(...own) < reached - CLOCK_TOLERANCE_MS) {
    const at = date ?? ours
    const dispute = disputeOf(at, own)
    return { at, dispute: { ...dispute, wentBack: { from: reached, to: dispute.earliest } } }
  }
  if (date === null) {
    const course = expected ?? remembered ?? ours
    const at = Math.max(expected ?? ours, ours)
    return { at, dispute: isNear(course, ours) ? null : disputeOf(at, [course, ours]) }
  }
  if (isAgreed) return { at: date, dispute: null }
  if (expected === null || isNear(date, expected)) {
    return { at: date, dispute: disputeOf(date, [date, ours, remembered ?? ours]) }
  }
  const possible = isNear(expected, ours)
    ? [expected, Math.max(date, expected)]
    : [date, ours, expected, remembered ?? ours]
  return { at: expected, dispute: { ...disputeOf(date, possible), jump: true } }
}

function disputeOf(date: number, possible: readonly number[]): ClockDispute {
  return { date, earliest: Math.min(...possible), latest: Math.max(...possible) }
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= CLOCK_TOLERANCE_MS
}
