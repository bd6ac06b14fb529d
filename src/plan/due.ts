/** Says when a pipeline is due by its cron time. Pure: the schedule and an instant decide, never a timer. */

import { Cron } from 'croner'
import { SECOND } from '../support/units.ts'

/** Five cron fields, and the time zone that they are read in, such as `UTC` or `Europe/Berlin`. */
export interface Schedule {
  readonly cron: string
  readonly timezone: string
}

/**
 * The last time the schedule was due, at `nowMs` or before; null if it never was. A time that a zone skips in spring is
 * due at the end of the gap; one that comes twice in autumn is due once.
 */
export function lastDue(schedule: Schedule, nowMs: number): number | null {
  // croner looks back from a time in whole seconds, and excludes it.
  const reference = (Math.floor(nowMs / SECOND) + 1) * SECOND
  return jobOf(schedule).previousRuns(1, new Date(reference))[0]?.getTime() ?? null
}

/** The next time after `nowMs`; null when there is none. */
export function nextDue(schedule: Schedule, nowMs: number): number | null {
  return jobOf(schedule).nextRun(new Date(nowMs))?.getTime() ?? null
}

/** @throws croner's Error if it is not a cron time, or the zone is unknown */
function jobOf({ cron, timezone }: Schedule): Cron {
  return new Cron(cron, { paused: true, timezone })
}

const FIELDS = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of the month', '1 to 31'],
  ['month', '1 to 12 or jan to dec'],
  ['day of the week', '0 to 7 or sun to sat'],
] as const

/** The fault of a text that should be five cron fields; null for none. */
export function cronFault(text: string): string | null {
  const fields = text.trim().split(/\s+/)
  if (fields.length !== FIELDS.length) {
    return `expected five cron fields, such as "15 2 * * *", got ${fields.length}`
  }
  if (isKnown({ cron: text, timezone: 'UTC' })) return null
  const at = fields.findIndex((field, index) => {
    const alone = FIELDS.map((_, other) => (other === index ? field : '*'))
    return !isKnown({ cron: alone.join(' '), timezone: 'UTC' })
  })
  const [name, allowed] = FIELDS[at] ?? ['day', 'a day that the month has']
  return `the ${name} is ${JSON.stringify((fields[at] ?? text).slice(0, 40))}: expected ${allowed}, with * , - and /`
}

/** Whether this machine knows a zone of that name. */
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
