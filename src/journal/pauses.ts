/** The times before which the service wants no request. Pure. */

import type { Uptime } from '../support/clock.ts'
import { elapsedSince } from './clock-history.ts'
import type { Paused } from './records.ts'

/** A time that the service named. */
export type Pause = Pick<Paused, 'at' | 'not_before' | 'uptime'>

/** Of all pauses the two that may hold the longest: the one with the latest end, and the last one. */
export function addPause(pauses: readonly Pause[], { at, not_before, uptime }: Pause): Pause[] {
  const pause = { at, not_before, ...(uptime === undefined ? {} : { uptime }) }
  return [...pauses.filter((one) => one === pauses[0] && one.not_before > not_before), pause]
}

/**
 * Until when no request may leave, milliseconds since 1970 UTC; 0 for no such time. While the machine is up its uptime tells
 * how much of a pause has passed, whatever was done to its clock.
 */
export function pausedUntil(
  { pauses }: { readonly pauses: readonly Pause[] },
  nowMs: number,
  uptime: Uptime | null,
): number {
  return pauses.reduce((latest, { at, not_before: notBefore, uptime: then = null }) => {
    const isSameBoot = then !== null && then.boot === uptime?.boot
    const until = isSameBoot ? nowMs + (notBefore - at) - elapsedSince(then, uptime) : notBefore
    return Math.max(latest, until)
  }, 0)
}
