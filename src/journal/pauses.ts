/** The times before which the service accepts no request. Pure. */

import type { Uptime } from '../support/clock.ts'
import { obeyedWait } from '../support/waits.ts'
import type { Paused } from './records.ts'

export type Pause = Pick<Paused, 'at' | 'not_before' | 'uptime' | 'reason'>

/** The two pauses that may last longest: the one with the latest end, and the last one. */
export function addPause(pauses: readonly Pause[], record: Paused): Pause[] {
  if (record.lifts_earlier === true) return []
  const { at, not_before, uptime, reason } = record
  const pause = { at, not_before, reason, ...(uptime === undefined ? {} : { uptime }) }
  return [...pauses.filter((one) => one === pauses[0] && endOf(one) > endOf(pause)), pause]
}

// Jobtide up to 0.12 recorded the wait that was sent, up to 30 days.
function endOf({ at, not_before: notBefore }: Pause): number {
  return at + obeyedWait(notBefore - at)
}

/** Until when no request may leave. */
export interface Hold {
  /** Milliseconds since 1970 UTC; 0 if the service never named a time. */
  readonly until: number
  readonly pause: Pause | null
}

/** While the machine is up, its uptime shows how much of a pause has passed, whatever happened to its clock. */
export function holdOf(
  { pauses }: { readonly pauses: readonly Pause[] },
  nowMs: number,
  uptime: Uptime | null,
): Hold {
  return pauses.reduce<Hold>(
    (latest, pause) => {
      const { at, uptime: then = null } = pause
      const end = endOf(pause)
      const until =
        then !== null && then.boot === uptime?.boot
          ? nowMs + (end - at) - Math.max(0, uptime.ms - then.ms)
          : end
      return until > latest.until ? { until, pause } : latest
    },
    { until: 0, pause: null },
  )
}

export function pausedUntil(...of: Parameters<typeof holdOf>): number {
  return holdOf(...of).until
}
