/** Says when a pipeline is due by its cron time. Pure: the schedule and an instant decide, never a timer. */

import { Cron } from 'croner'
import { SECOND } from '../support/units.ts'

/** Five cron fields, and the time zone that they are read in, such as `UTC` or `Europe/Berlin`. */
export interface Schedule {
  readonly cron: string
  readonly timezone: string
}

/** Null for never. A time that a zone skips in spring is due after the gap; one that comes twice, once. */
export function lastDue(schedule: Schedule, nowMs: number): number | null {
  // croner looks back from a time in whole seconds, and excludes it.
  const reference = (Math.floor(nowMs / SECOND) + 1) * SECOND
  return jobOf(schedule).previousRuns(1, new Date(reference))[0]?.getTime() ?? null
}

/** After `nowMs`; null when there is none. */
export function nextDue(schedule: Schedule, nowMs: number): number | null {
  return jobOf(schedule).nextRun(new Date(nowMs))?.getTime() ?? null
}

/** @throws croner's Error if it is not a cron time, or the zone is unknown */
function jobOf({ cron, timezone }: Schedule): Cron {
  // A time zone costs each command 10 ms: croner asks Intl about it.
  const zone = timezone === 'UTC' ? { utcOffset: 0 } : { timezone }
  return new Cron(cron, { paused: true, ...zone })
}

const CRON =
  'expected five cron fields (minute, hour, day of the month, month, day of the week), such as "15 2 * * *"'

/** The fault of a text that should be five cron fields; null for none. */
export function cronFault(text: string): string | null {
  const fields = text.trim().split(/\s+/)
  return fields.length === 5 && isKnown({ cron: text, timezone: 'UTC' }) ? null : CRON
}

export function isTimezone(timezone: string): boolean {
  // Without a name croner takes the machine's own zone.
  return timezone !== '' && isKnown({ cron: '0 0 * * *', timezone })
}

function isKnown(schedule: Schedule): boolean {
  try {
    return nextDue(schedule, 0) !== null
  } catch {
    return false
  }
}
