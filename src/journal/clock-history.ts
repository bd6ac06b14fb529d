/**
 * Determines the time at the service without believing any one clock: the `Date` of an answer, this machine's clock, and
 * the monotonic clock since an earlier answer. Coverage ends at the earliest of them, and windows are counted from the
 * latest, so a wrong clock never hides an event. If all clocks were ahead, coverage reached too far; a later answer with
 * an earlier time takes that back. Pure.
 */

import { HOUR, MINUTE } from '../support/units.ts'
import type { ClockDispute, PageReceived } from './records.ts'

/**
 * Clocks this close agree: an answer may be on its way for a minute, and clocks that are kept right are off by seconds. The
 * overlap of windows is longer.
 */
export const CLOCK_TOLERANCE_MS = 5 * MINUTE

/** The clocks when an answer arrived. Milliseconds since 1970 UTC. */
export interface ClockWitnesses {
  readonly date: number | null
  readonly ours: number
  /** The last service time believed in this process and the monotonic time since; null before the first answer. */
  readonly expected: number | null
  /**
   * This machine's clock, corrected by how far the service was ahead in the previous run; null before the first run.
   */
  readonly remembered?: number | null
  /** The time that the service has reached, if all earlier answers were right; null before the first one. */
  readonly reached?: number | null
}

export interface ServiceTime {
  readonly at: number
  /** Null if the clocks agree within CLOCK_TOLERANCE_MS. */
  readonly dispute: ClockDispute | null
}

/**
 * Decides which time of the service to believe. Two witnesses that agree outvote the third, except that this machine's
 * clock says nothing against a steady `Date`, by which the service counts windows, and that the monotonic clock cannot
 * rule out that the machine slept.
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

export type ClockHistory = ReturnType<typeof emptyClockHistory>

export function emptyClockHistory() {
  return {
    /**
     * How far the service's clock was ahead of this machine's at the last page, in milliseconds, negative when behind; null
     * before the first page.
     */
    serverAheadMs: null as number | null,
    /** Like serverAheadMs, by the latest time that any witness of that page allowed. */
    serverAheadAtMostMs: 0,
    /** Times that the service's clock had reached according to all known clocks: the latest of each hour, in order. */
    reached: [] as number[],
    /** The last page at which clocks did not agree: its run and their times; null for none. */
    clockDispute: null as ({ runId: string; ours: number } & Omit<ClockDispute, 'jump'>) | null,
  }
}

/**
 * The service's time when it is `nowMs` on this machine. Of several clocks the latest: a window that is counted from too
 * late reaches back too far, and one from too early misses events.
 */
export function serviceTime({ serverAheadAtMostMs, reached }: ClockHistory, nowMs: number): number {
  return Math.max(nowMs, nowMs + serverAheadAtMostMs, reached.at(-1) ?? 0)
}

/** Adds a reached time to `times`. The order of additions does not matter. */
export function noteReached(times: number[], at: number): void {
  const hourOf = (one: number) => Math.floor(one / HOUR)
  const index = times.findLastIndex((one) => hourOf(one) <= hourOf(at))
  const known = times[index]
  if (known === undefined || hourOf(known) < hourOf(at)) times.splice(index + 1, 0, at)
  else times[index] = Math.max(known, at)
}

/**
 * The part of a time (reached, or covered up to) that still holds when an answer says that it was too late: the last time
 * that the answer does not contradict; 0 for none. The answer itself may be too early; the two look the same.
 * @param said the time that it shows, milliseconds since 1970 UTC
 */
export function trustedUntil(times: readonly number[], to: number, said: number): number {
  const known = times.find((at) => at >= to) ?? times.at(-1)
  if (known === undefined || known - said <= CLOCK_TOLERANCE_MS) return to
  return Math.min(to, times.findLast((at) => at <= said + CLOCK_TOLERANCE_MS) ?? 0)
}

/** Adds a page. Returns what remains of a time that was covered up to; null when the page changes nothing of that. */
export function foldClocks(
  history: ClockHistory,
  { run_id: runId, at, server_at, clocks }: PageReceived,
): ((to: number) => number) | null {
  // The last page is the last one in the journal: disputed clocks cannot decide.
  history.serverAheadMs = server_at - at
  history.serverAheadAtMostMs = Math.max(server_at, clocks?.latest ?? server_at) - at
  if (clocks !== undefined) history.clockDispute = { runId, ours: at, ...clocks }
  const said = clocks?.wentBack?.to
  if (said === undefined) {
    noteReached(history.reached, clocks?.earliest ?? server_at)
    return null
  }
  const before = history.reached
  const sound = (to: number) => trustedUntil(before, to, said)
  history.reached = before.filter((one) => sound(one) === one)
  return history.reached.length === before.length ? null : sound
}
