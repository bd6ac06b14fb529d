/**
 * Which snapshots are kept: the last few, and the newest of each of so many days, weeks and months (UTC); and which were
 * never published. Pure.
 */

import { ConfigError } from '../../support/errors.ts'
import { isoInstant } from '../../support/clock.ts'
import { sum } from '../../support/numbers.ts'
import { DAY } from '../../support/units.ts'
import type { StoredManifest } from '../manifest.ts'

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

export interface DatedSnapshot {
  readonly id: string
  readonly createdAt: number
}

const RULES = ['last', 'daily', 'weekly', 'monthly']
const MOST = 100_000
const HINT = 'Say how many, such as 30, or by rule: last=7,daily=30,weekly=12,monthly=24.'

type Rules = { readonly [Rule in keyof Keep]?: number | undefined }

/** What to keep, as a pipeline file says it, whose schema has checked it, or `--keep`: `30` or `last=7,daily=30`. */
export function parseKeep(value: number | Rules | string): Keep {
  const said = typeof value === 'string' ? rulesFromText(value) : value
  const {
    last = 0,
    daily = 0,
    weekly = 0,
    monthly = 0,
  } = typeof said === 'number' ? { last: said } : said
  return { last, daily, weekly, monthly }
}

function rulesFromText(text: string): Rules {
  const rules = new Map<string, number>()
  for (const part of /^\s*\d+\s*$/.test(text) ? [`last=${text}`] : text.split(',')) {
    const [, name = '', digits] = /^\s*([a-z]+)\s*=\s*(\d+)\s*$/.exec(part) ?? []
    if (name === '') throw badKeep(`expected rule=number, got ${JSON.stringify(part)}`)
    if (!RULES.includes(name)) {
      throw badKeep(`there is no rule ${JSON.stringify(name)}, only ${RULES.join(', ')}`)
    }
    if (rules.has(name)) throw badKeep(`${name} is there twice`)
    if (Number(digits) > MOST) {
      throw badKeep(`${name} must be a whole number from 0 to ${MOST}, got ${digits}`)
    }
    rules.set(name, Number(digits))
  }
  if (sum([...rules.values()]) === 0) throw badKeep('at least 1 snapshot must be kept')
  return Object.fromEntries(rules)
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
    if (!newest.has(period)) newest.set(period, id)
  }
  return [...newest.values()].slice(0, periods)
}

const dayOf = (epochMs: number) => Math.floor(epochMs / DAY)
// 1970-01-01 was a Thursday, three days after a Monday.
const weekOf = (epochMs: number) => Math.floor((dayOf(epochMs) + 3) / 7)
const monthOf = (epochMs: number) => isoInstant(epochMs).slice(0, 7)

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
  const byId = new Map(manifests.map((manifest) => [manifest.snapshot_id, manifest]))
  const chain = new Set<string>()
  const followed = new Set([currentId])
  for (let at = byId.get(currentId); at !== undefined && !chain.has(at.snapshot_id);) {
    chain.add(at.snapshot_id)
    if (at.previous === null) break
    followed.add(at.previous.snapshot_id)
    at = byId.get(at.previous.snapshot_id)
  }
  const published = new Set(manifests.flatMap(({ previous }) => previous?.snapshot_id ?? []))
  const never = manifests.filter(
    ({ snapshot_id: id, previous }) =>
      !chain.has(id) &&
      !published.has(id) &&
      previous !== null &&
      followed.has(previous.snapshot_id),
  )
  return new Set(never.map(({ snapshot_id: id }) => id))
}
