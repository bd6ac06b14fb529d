/**
 * Which snapshots are kept: the last few, and the newest of each of so many days, weeks and months (UTC); and which were
 * never published. Pure.
 */

import { isoInstant } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import type { StoredManifest } from './manifest.ts'

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

const NONE: Keep = { last: 0, daily: 0, weekly: 0, monthly: 0 }
const MOST = 100_000

/** What to keep, as a pipeline file says it, whose schema has checked it, or `--keep`: `30` or `last=7,daily=30`. */
export function parseKeep(
  value: number | string | { readonly [Rule in keyof Keep]?: number | undefined },
): Keep {
  if (typeof value === 'number') return { ...NONE, last: value }
  if (typeof value === 'object') {
    const { last = 0, daily = 0, weekly = 0, monthly = 0 } = value
    return { last, daily, weekly, monthly }
  }
  const rules = new Map<string, number>()
  for (const part of /^\s*\d+\s*$/.test(value) ? [`last=${value}`] : value.split(',')) {
    const [, name = '', digits] = /^\s*([a-z]+)\s*=\s*(\d+)\s*$/.exec(part) ?? []
    if (name === '') throw badKeep(`expected rule=number, got ${JSON.stringify(part)}`)
    if (!Object.hasOwn(NONE, name)) {
      const known = Object.keys(NONE).join(', ')
      throw badKeep(`there is no rule ${JSON.stringify(name)}, only ${known}`)
    }
    if (rules.has(name)) throw badKeep(`${name} is there twice`)
    if (Number(digits) > MOST) {
      throw badKeep(`${name} must be a whole number from 0 to ${MOST}, got ${digits}`)
    }
    rules.set(name, Number(digits))
  }
  if (sum([...rules.values()]) === 0) throw badKeep('at least 1 snapshot must be kept')
  return { ...NONE, ...Object.fromEntries(rules) }
}

function badKeep(what: string): ConfigError {
  return new ConfigError(`which snapshots to keep: ${what}`, {
    hint: 'Say how many, such as 30, or by rule: last=7,daily=30,weekly=12,monthly=24.',
  })
}

/**
 * The ids that no rule keeps, oldest first. `currentId`, which readers see, counts as the newest whatever the clocks of
 * its publishers say, and is never among them. Days without a snapshot do not count, so a publisher that stood still loses
 * nothing; the same call on what is left names nothing more.
 */
export function expiredSnapshots(
  snapshots: readonly { readonly id: string; readonly createdAt: number }[],
  keep: Keep,
  currentId: string,
): string[] {
  const newestFirst = snapshots.toSorted(
    (a, b) =>
      Number(b.id === currentId) - Number(a.id === currentId) ||
      b.createdAt - a.createdAt ||
      (a.id < b.id ? 1 : -1),
  )
  const newestOfEach = (periods: number, periodOf: (epochMs: number) => string | number) => {
    const newest = new Map<string | number, string>()
    for (const { id, createdAt } of newestFirst) {
      const period = periodOf(createdAt)
      if (!newest.has(period)) newest.set(period, id)
    }
    return [...newest.values()].slice(0, periods)
  }
  const dayOf = (epochMs: number) => Math.floor(epochMs / DAY)
  const kept = new Set([
    currentId,
    ...newestFirst.slice(0, keep.last).map(({ id }) => id),
    ...newestOfEach(keep.daily, dayOf),
    // 1970-01-01 was a Thursday, three days after a Monday.
    ...newestOfEach(keep.weekly, (epochMs) => Math.floor((dayOf(epochMs) + 3) / 7)),
    ...newestOfEach(keep.monthly, (epochMs) => isoInstant(epochMs).slice(0, 7)),
  ])
  return newestFirst.flatMap(({ id }) => (kept.has(id) ? [] : [id])).toReversed()
}

/**
 * Finds snapshots that are whole but were never what the pointer named: their publisher was killed, or another one won.
 * They follow the current snapshot, or one that a snapshot of its chain follows, and no other follows them: a publisher follows
 * what the pointer names. Anything less certain counts as published, such as the snapshots of before `latest.json` was removed
 * or set back by hand.
 */
export function neverPublished(
  manifests: readonly Pick<StoredManifest, 'snapshot_id' | 'previous'>[],
  currentId: string,
): ReadonlySet<string> {
  const previousOf = new Map(
    manifests.map((one) => [one.snapshot_id, one.previous?.snapshot_id ?? null]),
  )
  const chain = new Set<string>()
  for (let at: string | null = currentId; at !== null && !chain.has(at);) {
    chain.add(at)
    at = previousOf.get(at) ?? null
  }
  const followed = new Set(previousOf.values())
  const never = [...previousOf].filter(
    ([id, previous]) =>
      !chain.has(id) && !followed.has(id) && previous !== null && chain.has(previous),
  )
  return new Set(never.map(([id]) => id))
}
