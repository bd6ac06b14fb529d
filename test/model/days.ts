/** Calendar days of a change, in UTC, as milliseconds. */

import { DAY } from '../../src/support/units.ts'

export function firstDay(at: Date): number {
  return Math.floor(at.getTime() / DAY) * DAY
}

/** The last possible day of a change: the end of the month where only the month is known. */
export function lastDay(at: Date): number {
  const isMonth = at.getUTCDate() === 1 && at.getTime() % DAY === 0
  if (!isMonth) return firstDay(at)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)
}

export function daysBetween(from: number, to: number): number {
  return (to - from) / DAY
}
