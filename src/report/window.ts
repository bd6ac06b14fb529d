/** Parses the window of a report, and formats its dates. All in UTC. */

import { isoInstant } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { DAY } from '../support/units.ts'

/** From one instant up to another, which is excluded; milliseconds since 1970. */
export interface ReportWindow {
  readonly from: number
  readonly to: number
}

/** The options of the command line: one of the three, or none. */
export interface WindowChoice {
  readonly week?: boolean
  readonly days?: number
  readonly from?: string
  readonly to?: string
}

const MONDAY = Date.UTC(1970, 0, 5)
const WEEK = 7 * DAY
const DATE = /^\d{4}-\d{2}-\d{2}$/

/**
 * The requested window: the last whole week, Monday to Sunday, unless days back from now or dates are given. Both dates
 * are included; without the second one it goes up to now.
 * @param now milliseconds since 1970
 * @throws ConfigError for more than one choice, or dates that are invalid or not in order
 */
export function chosenWindow(choice: WindowChoice, now: number): ReportWindow {
  const { week = false, days, from, to } = choice
  const chosen = [week, days !== undefined, from !== undefined || to !== undefined]
  if (chosen.filter(Boolean).length > 1) {
    throw new ConfigError('--week, --days and --from exclude each other', {
      hint: 'Name one of them: --week, --days 7, or --from 2026-11-01 --to 2026-11-30.',
    })
  }
  if (days !== undefined) return { from: now - days * DAY, to: now }
  if (from === undefined && to === undefined) {
    const monday = now - ((((now - MONDAY) % WEEK) + WEEK) % WEEK)
    return { from: monday - WEEK, to: monday }
  }
  if (from === undefined) throw new ConfigError('--to needs --from')
  const window = { from: midnight(from), to: to === undefined ? now : midnight(to) + DAY }
  if (window.from >= window.to) {
    throw new ConfigError(`--from ${from} is not before --to ${to ?? 'now'}`, {
      hint: 'Both dates are part of the report: --from 2026-11-01 --to 2026-11-30.',
    })
  }
  if (window.from >= now) {
    throw new ConfigError(`--from ${from} is in the future`, {
      hint: 'Nothing can be known of it yet: name a date up to today.',
    })
  }
  // The future has no data.
  return { ...window, to: Math.min(window.to, now) }
}

function midnight(date: string): number {
  const at = DATE.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  // A 31st of a month that has 30 days becomes the 1st of the next.
  if (!Number.isNaN(at) && new Date(at).toISOString().startsWith(date)) return at
  throw new ConfigError(`not a date: ${date}`, { hint: 'Write it as 2026-11-30.' })
}

function format(options: Intl.DateTimeFormatOptions): (at: number) => string {
  // Created on demand: the first one takes 20 ms.
  let formatter: Intl.DateTimeFormat | undefined
  return (at) => {
    formatter ??= new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
    return formatter.format(at)
  }
}

/** `23 Nov 2026`. */
export const dayText = format({ day: 'numeric', month: 'short', year: 'numeric' })
/** `Nov 2026`. */
export const monthText = format({ month: 'short', year: 'numeric' })
/** `23 Nov 2026, 06:15`. */
export const momentText = format({
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})

/** The window in words: `16 Nov 2026 to 22 Nov 2026`, to the minute where it does not begin and end at midnight. */
export function windowText({ from, to }: ReportWindow): string {
  if (from % DAY !== 0 || to % DAY !== 0) return `${momentText(from)} to ${momentText(to)}`
  return to - from === DAY ? dayText(from) : `${dayText(from)} to ${dayText(to - DAY)}`
}

/** The window as part of a file name: `2026-11-16-to-2026-11-22`. */
export function windowName({ from, to }: ReportWindow): string {
  const day = (at: number) => isoInstant(at).slice(0, 10)
  return `${day(from)}-to-${day(to - 1)}`
}
