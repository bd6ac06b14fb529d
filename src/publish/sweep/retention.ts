/** Which snapshots are kept: the last few, and the newest of each of so many days, weeks and months (UTC). Pure. */

import { ConfigError } from '../../support/errors.ts'
import { isoInstant } from '../../support/clock.ts'
import { DAY } from '../../support/units.ts'

/** How many snapshots are kept by each rule, 0 to 100,000; a snapshot stays as long as one rule keeps it. */
export interface Keep {
  /** The newest so many. */
  readonly last: number
  /** The newest of each of the last so many days that have a snapshot. */
  readonly daily: number
  /** The same by ISO week, which begins on Monday. */
  readonly weekly: number
  /** The same by calendar month. */
  readonly monthly: number
}

/** A snapshot as retention sees it. */
export interface DatedSnapshot {
  readonly id: string
  /** Milliseconds since 1970 UTC. */
  readonly createdAt: number
}

const RULES = ['last', 'daily', 'weekly', 'monthly'] as const
const MOST = 100_000
const HINT = 'Say how many, such as 30, or by rule: last=7,daily=30,weekly=12,monthly=24.'

/**
 * Reads what to keep: a number (the last so many), an object such as `{last: 7, daily: 30}`, or either as text, as
 * `--keep` takes it: `30` or `last=7,daily=30`.
 * @throws ConfigError when it is neither, or keeps nothing
 */
export function parseKeep(value: unknown): Keep {
  if (typeof value === 'number') return checked({ last: value })
  if (typeof value === 'string') return checked(fromText(value))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return checked(value as Record<string, unknown>)
  }
  throw badKeep(`expected a number or rules, got ${JSON.stringify(value)}`)
}

function fromText(text: string): Record<string, unknown> {
  if (/^\s*\d+\s*$/.test(text)) return { last: Number(text) }
  const rules: Record<string, unknown> = {}
  for (const part of text.split(',')) {
    const [, name = '', digits = ''] = /^\s*([a-z]+)\s*=\s*(\d+)\s*$/.exec(part) ?? []
    if (name === '') throw badKeep(`expected rule=number, got ${JSON.stringify(part)}`)
    if (name in rules) throw badKeep(`${name} is there twice`)
    rules[name] = Number(digits)
  }
  return rules
}

function checked(rules: Readonly<Record<string, unknown>>): Keep {
  const unknown = Object.keys(rules).find((name) => !RULES.some((rule) => rule === name))
  if (unknown !== undefined) {
    throw badKeep(`there is no rule ${JSON.stringify(unknown)}, only ${RULES.join(', ')}`)
  }
  const numberOf = (name: (typeof RULES)[number]): number => {
    const number = rules[name] ?? 0
    if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MOST) {
      return number
    }
    throw badKeep(`${name} must be a whole number from 0 to ${MOST}, got ${JSON.stringify(number)}`)
  }
  const keep: Keep = {
    last: numberOf('last'),
    daily: numberOf('daily'),
    weekly: numberOf('weekly'),
    monthly: numberOf('monthly'),
  }
  if (RULES.every((rule) => keep[rule] === 0)) throw badKeep('at least 1 snapshot must be kept')
  return keep
}

function badKeep(what: string): ConfigError {
  return new ConfigError(`which snapshots to keep: ${what}`, { hint: HINT })
}

/**
 * The ids that no rule keeps, oldest first. `currentId`, which readers see, counts as the newest whatever the clocks of
 * its publishers say, and is never among them. Days without a snapshot do not count, so a publisher that stood still loses
 * nothing; the same call on what is left names nothing more.
 */
export function expiredSnapshots(
  snapshots: readonly DatedSnapshot[],
  keep: Keep,
  currentId: string,
): string[] {
  const newestFirst = snapshots.toSorted(
    (a, b) =>
      Number(b.id === currentId) - Number(a.id === currentId) ||
      b.createdAt - a.createdAt ||
      (a.id < b.id ? 1 : -1),
  )
  const kept = new Set([
    currentId,
    ...newestFirst.slice(0, keep.last).map(({ id }) => id),
    ...newestOfEach(newestFirst, keep.daily, dayOf),
    ...newestOfEach(newestFirst, keep.weekly, weekOf),
    ...newestOfEach(newestFirst, keep.monthly, monthOf),
  ])
  return newestFirst.flatMap(({ id }) => (kept.has(id) ? [] : [id])).toReversed()
}

function newestOfEach(
  newestFirst: readonly DatedSnapshot[],
  periods: number,
  periodOf: (epochMs: number) => string | number,
): string[] {
  const newest = new Map<string | number, string>()
  for (const { id, createdAt } of newestFirst) {
    const period = periodOf(createdAt)
    if (newest.has(period)) continue
    if (newest.size >= periods) break
    newest.set(period, id)
  }
  return [...newest.values()]
}

function dayOf(epochMs: number): number {
  return Math.floor(epochMs / DAY)
}

// 1970-01-01 was a Thursday, three days after a Monday.
function weekOf(epochMs: number): number {
  return Math.floor((dayOf(epochMs) + 3) / 7)
}

function monthOf(epochMs: number): string {
  return isoInstant(epochMs).slice(0, 7)
}
