/** When a pipeline is due by its cron time. Pure: what was due is asked of the schedule and an instant, never of a timer. */

import { Cron } from 'croner'
import { SECOND } from '../support/units.ts'

/** Five cron fields, and the zone in which they are read, such as `UTC` or `Europe/Berlin`. */
export interface Schedule {
  readonly cron: string
  readonly timezone: string
}

/**
 * The last time the schedule was due, at `nowMs` or before; null when it never was. Of a time that a zone leaves out in
 * spring it is the end of the gap; one that comes twice in autumn is due once.
 */
export function lastDue(schedule: Schedule, nowMs: number): number | null {
  // What croner looks back from is not included, and is taken in whole seconds.
  const reference = (Math.floor(nowMs / SECOND) + 1) * SECOND
  return jobOf(schedule).previousRuns(1, new Date(reference))[0]?.getTime() ?? null
}

/** The next time after `nowMs`; null when there is none. */
export function nextDue(schedule: Schedule, nowMs: number): number | null {
  return jobOf(schedule).nextRun(new Date(nowMs))?.getTime() ?? null
}

/** @throws Error of croner when it is no cron time, or the zone is unknown */
function jobOf({ cron, timezone }: Schedule): Cron {
  return new Cron(cron, { paused: true, timezone })
}

/** Whether text is five cron fields. */
export function isCron(text: string): boolean {
  return text.trim().split(/\s+/).length === 5 && isKnown({ cron: text, timezone: 'UTC' })
}

/** Whether this machine knows a zone of that name. */
export function isTimezone(timezone: string): boolean {
  // Without a name croner takes the machine's own zone.
  return timezone !== '' && isKnown({ cron: '0 0 * * *', timezone })
}

function isKnown(schedule: Schedule): boolean {
  try {
    return nextDue(schedule, 0) !== undefined
  } catch {
    return false
  }
}
