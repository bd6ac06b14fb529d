/**
 * A second implementation of waits and survival without SQL, from events, stints, joiners and leavers: vacancies by
 * repeatedly taking the nearest pair, survival month by month. It is slow and simple on purpose.
 */

import { expect } from 'vitest'
import { DAY } from '../../src/support/units.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import { daysBetween, firstDay, lastDay } from './days.ts'

type Rows = Map<string, Record<string, unknown>>

/** A joining or leaving of a main job. */
interface Change {
  readonly event_key: string
  readonly organization_id: string
  readonly function: string
  readonly level: string
  readonly core: string | null
  readonly at: Date
}

interface Cutoff {
  readonly lagDays: number
  /** Milliseconds since 1970: the first day that is not complete. */
  readonly at: number
  /** Since when the organisation was observed; null from the beginning. */
  readonly from: number | null
  readonly until: number
}

/** Compares the tables of waits and survival with the reference; returns the number of rows. */
export async function expectSurvivalTables(warehouse: Warehouse) {
  const cutoffs = await cutoffsOf(warehouse)
  const backfills = await expectedBackfills(warehouse, cutoffs)
  const speeds = expectedSpeeds(backfills, cutoffs)
  const tenures = await expectedTenures(warehouse, cutoffs)
  const expected = {
    organization_observation: ['organization_id', cutoffRows(cutoffs)],
    time_to_backfill: ['left_event_key', backfills],
    backfill_speed: ['organization_id, function', speeds],
    tenure_survival: ['organization_id, cohort', tenures],
  } as const
  for (const [table, [key, rows]] of Object.entries(expected)) {
    const found = await warehouse.all<Record<string, unknown>>(
      `select concat_ws('|', ${key}) as key_text, * from ${table}`,
    )
    const actual = new Map(found.map((row) => [String(row['key_text']), row]))
    expect(actual.size, table).toBe(rows.size)
    for (const [text, row] of rows) {
      const made = actual.get(text) ?? {}
      // Most are equal, and an assertion for every row takes minutes.
      if (Object.entries(row).every(([column, value]) => isSame(made[column], value))) continue
      expect({ ...made, table, text }).toEqual({ ...made, ...row, table, text })
    }
  }
  return {
    backfills: backfills.size,
    filled: [...backfills.values()].filter((row) => row['is_open'] === false).length,
    speeds: speeds.size,
    tenures: tenures.size,
  }
}

/** Shares are rounded in the tables. */
function isSame(made: unknown, value: unknown): boolean {
  if (value instanceof Date) return made instanceof Date && made.getTime() === value.getTime()
  if (typeof value !== 'number') return made === value
  return typeof made === 'number' && Math.abs(made - value) < 1e-7
}

/** For organisations with one interval, from the beginning or from the first detection. */
async function cutoffsOf(warehouse: Warehouse): Promise<Map<string, Cutoff>> {
  const events = await warehouse.all<{ id: string; type: string; changed: Date; detected: Date }>(
    `select organization_id as id, event_type as type, changed_at as changed, least(first, detected_at) as detected
     from job_change_events
     left join (select event_key, min(detected_at) as first from job_change_event_versions group by 1) using (event_key)`,
  )
  const last = await warehouse.all<{ id: string; first: Date; last: Date }>(
    'select organization_id as id, min(detected_at) as first, max(detected_at) as last from job_change_events group by 1',
  )
  const covered = await warehouse.all<{ id: string; until: Date }>(
    'select organization_id as id, max(covered_to_at) as until from organization_coverage group by 1',
  )
  const lags = groupBy(
    events.filter(({ type }) => type !== 'title_change'),
    ({ id }) => id,
  )
  const ends = new Map<string, { from: number | null; until: number }>()
  for (const one of last) ends.set(one.id, { from: one.first.getTime(), until: one.last.getTime() })
  for (const { id, until } of covered) ends.set(id, { from: null, until: until.getTime() })
  return new Map(
    [...ends].map(([id, { from, until }]) => {
      const sorted = (lags.get(id) ?? [])
        .map(({ changed, detected }) =>
          Math.max(0, daysBetween(firstDay(changed), firstDay(detected))),
        )
        .toSorted((a, b) => a - b)
      const lagDays = Math.min(365, sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0)
      const at = startOfMonth(new Date(firstDay(new Date(until)) - lagDays * DAY))
      return [id, { lagDays, at, from: from === null ? null : wholeMonthAfter(from), until }]
    }),
  )
}

function cutoffRows(cutoffs: ReadonlyMap<string, Cutoff>): Rows {
  return new Map(
    [...cutoffs].map(([id, { lagDays, at }]) => [
      id,
      { lag_days_p90: lagDays, cutoff_on: new Date(at) },
    ]),
  )
}

/** time_to_backfill, by left_event_key. */
async function expectedBackfills(
  warehouse: Warehouse,
  cutoffs: ReadonlyMap<string, Cutoff>,
): Promise<Rows> {
  const changesIn = async (table: string, at: string) =>
    warehouse.all<Change>(
      `select event_key, organization_id, function, level, core, ${at} as at from ${table}
       where is_primary and not is_transfer and level <> 'unknown' and function <> 'unknown'`,
    )
  const leavers = await changesIn('leavers', 'left_at')
  const filled = nearest(leavers, await changesIn('joiners', 'joined_at'))
  return new Map(
    leavers.map((left) => {
      const joined = filled.get(left)
      const cutoff = cutoffs.get(left.organization_id)?.at ?? Number.NaN
      const days =
        joined === undefined
          ? null
          : Math.max(0, daysBetween(firstDay(left.at), firstDay(joined.at)))
      const toCutoff = Math.max(0, (cutoff - firstDay(left.at)) / DAY)
      const isCensored =
        joined === undefined || firstDay(joined.at) >= cutoff || firstDay(left.at) >= cutoff
      const row = {
        organization_id: left.organization_id,
        function: left.function,
        left_at: left.at,
        joined_event_key: joined?.event_key ?? null,
        is_same_core:
          joined === undefined ? null : joined.core !== null && joined.core === left.core,
        days_to_backfill: days,
        is_open: joined === undefined,
        is_expired: joined === undefined && toCutoff >= 365,
        is_censored: isCensored,
        days_observed: isCensored ? Math.min(365, toCutoff) : days,
      }
      return [left.event_key, row]
    }),
  )
}

/** Who fills which place: the nearest of all pairs, then the nearest of the rest; first pairs of the same role. */
function nearest(leavers: readonly Change[], joiners: readonly Change[]): Map<Change, Change> {
  const filled = new Map<Change, Change>()
  const taken = new Set<Change>()
  const place = (one: Change) => [one.organization_id, one.function, one.level].join('|')
  for (const isOfRole of [true, false]) {
    const key = (one: Change) => (isOfRole ? `${place(one)}|${one.core}` : place(one))
    const isFree = (one: Change) =>
      !filled.has(one) && !taken.has(one) && (!isOfRole || one.core !== null)
    const hires = groupBy(joiners.filter(isFree), key)
    const pairs = leavers
      .filter(isFree)
      .flatMap((left) =>
        (hires.get(key(left)) ?? [])
          .map((joined) => ({ left, joined, days: (lastDay(joined.at) - firstDay(left.at)) / DAY }))
          .filter(({ days }) => days >= 0 && days <= 365),
      )
    const byDays = pairs.toSorted(
      (a, b) =>
        a.days - b.days ||
        (a.left.event_key === b.left.event_key
          ? compare(a.joined.event_key, b.joined.event_key)
          : compare(b.left.event_key, a.left.event_key)),
    )
    for (const { left, joined } of byDays) {
      if (filled.has(left) || taken.has(joined)) continue
      filled.set(left, joined)
      taken.add(joined)
    }
  }
  return filled
}

/** backfill_speed, by organisation and function. */
function expectedSpeeds(backfills: Rows, cutoffs: ReadonlyMap<string, Cutoff>): Rows {
  const counted = [...backfills.values()].filter((row) => {
    const { at, from } = cutoffs.get(String(row['organization_id'])) ?? { at: 0, from: null }
    const day = firstDay(row['left_at'] as Date)
    return day < at && (from === null || day >= from)
  })
  const groups = groupBy(
    counted.flatMap((row) => [row, { ...row, function: 'all' }]),
    (row) => `${String(row['organization_id'])}|${String(row['function'])}`,
  )
  return new Map(
    [...groups].map(([key, rows]) => {
      const curve = kaplanMeier(
        rows.map((row) => ({
          at: Number(row['days_observed']),
          isExit: row['is_censored'] === false,
        })),
      )
      const end = 1 - (curve.at(-1)?.survival ?? 1)
      const daysTo = (share: number) =>
        curve.find(({ survival }) => 1 - survival >= share - 1e-9)?.at ?? null
      const row = {
        vacancies: rows.length,
        filled: rows.filter((one) => one['is_censored'] === false).length,
        expired: rows.filter((one) => one['is_expired'] === true).length,
        filled_share: end,
        days_p25: end === 0 ? null : daysTo(0.25 * end),
        days_median: end === 0 ? null : daysTo(0.5 * end),
        days_p75: end === 0 ? null : daysTo(0.75 * end),
        days_to_half_filled: daysTo(0.5),
      }
      return [key, row]
    }),
  )
}

/**
 * tenure_survival, by organisation and cohort. People whom a transfer brought are not followed, and people whom one
 * took along have not left.
 */
async function expectedTenures(
  warehouse: Warehouse,
  cutoffs: ReadonlyMap<string, Cutoff>,
): Promise<Rows> {
  const stints = await warehouse.all<{
    organization_id: string
    joined_at: Date
    left_at: Date | null
    is_open: boolean
    last_event_at: Date
    is_taken_along: boolean
  }>(
    `select stints.* exclude (is_open, last_event_at), coalesce(leavers.is_transfer, false) as is_taken_along,
       stints.is_open and uncertain_from_at is null as is_open, coalesce(uncertain_from_at, last_event_at) as last_event_at
     from stints
     left join core.uncertain_stints using (profile_id, organization_id, stint_number)
     left join leavers on leavers.event_key = left_event_key
     where stints.is_primary and stints.joined_at is not null
       and joined_event_key not in (select event_key from joiners where is_transfer)`,
  )
  const followed = stints.flatMap((stint) => {
    const { at: cutoff, from } = cutoffs.get(stint.organization_id) ?? { at: 0, from: null }
    if (firstDay(stint.joined_at) >= cutoff) return []
    const isGone = stint.left_at !== null && firstDay(stint.left_at) < cutoff
    const isExit = isGone && !stint.is_taken_along
    const lastKnown = !stint.is_open && stint.left_at === null ? stint.last_event_at : null
    const seenUntil = new Date(Math.min(lastKnown?.getTime() ?? Infinity, cutoff - 1))
    const end = isGone && stint.left_at !== null ? stint.left_at : seenUntil
    const year = stint.joined_at.getUTCFullYear()
    const isWhole = from === null || Date.UTC(year, 0, 1) >= from
    const one = { at: monthOf(end) - monthOf(stint.joined_at), isExit, isWhole }
    const organization = stint.organization_id
    const all = isWhole ? [{ ...one, key: `${organization}|all` }] : []
    return [{ ...one, key: `${organization}|${year}` }, ...all]
  })
  return new Map(
    [...groupBy(followed, ({ key }) => key)].map(([key, people]) => {
      const curve = kaplanMeier(people)
      const longest = Math.max(...people.map(({ at }) => at))
      const isGone = curve.at(-1)?.survival === 0
      const after = (months: number) => {
        const { survival } = curve.findLast(({ at }) => at <= months) ?? { survival: 1 }
        return longest >= months || isGone ? survival : null
      }
      const row = {
        joiners: people.length,
        exits: people.filter(({ isExit }) => isExit).length,
        is_fully_observed: people[0]?.isWhole,
        longest_calendar_months: longest,
        survival_12_months: after(12),
        survival_24_months: after(24),
        median_calendar_months: curve.find(({ survival }) => survival <= 0.5 + 1e-9)?.at ?? null,
      }
      return [key, row]
    }),
  )
}

/**
 * The median days to backfill of all organisations together: of the vacancies that are filled within a year (as days_median in
 * backfill_speed), and of all.
 */
export async function backfillMedians(warehouse: Warehouse) {
  const waits = await warehouse.all<{ days: number; is_censored: boolean }>(
    `select days_observed as days, is_censored from time_to_backfill inner join organization_observation using (organization_id)
     where utc_date(left_at) < cutoff_on`,
  )
  const curve = kaplanMeier(
    waits.map(({ days, is_censored: isCensored }) => ({ at: days, isExit: !isCensored })),
  )
  const filledShare = 1 - (curve.at(-1)?.survival ?? 1)
  const daysTo = (share: number) => curve.find(({ survival }) => 1 - survival >= share)?.at ?? null
  return { filledShare, ofFilled: daysTo(filledShare / 2), ofAll: daysTo(0.5) }
}

/** Takes every fourth joining away, as one that the service never saw, and fills the places again. */
export async function fillWithFewerJoinings(warehouse: Warehouse): Promise<void> {
  const filled = readModelFiles().find(({ name }) => name === 'filled_vacancies')
  if (filled === undefined) throw new Error('no model filled_vacancies')
  await warehouse.run(`delete from joiners where md5(event_key) < '4'`)
  await warehouse.run(`create or replace table core.filled_vacancies as ${filled.sql}`)
}

/** Survival after each time at which anyone was last seen. */
export function kaplanMeier(
  people: readonly { readonly at: number; readonly isExit: boolean }[],
): { at: number; survival: number }[] {
  const sorted = people.toSorted((a, b) => a.at - b.at)
  const curve: { at: number; survival: number }[] = []
  let survival = 1
  for (let from = 0; from < sorted.length;) {
    const at = sorted[from]?.at ?? 0
    const upTo = sorted.findIndex((one, index) => index >= from && one.at > at)
    const last = upTo === -1 ? sorted.length : upTo
    const exits = sorted.slice(from, last).filter(({ isExit }) => isExit).length
    survival *= 1 - exits / (sorted.length - from)
    curve.push({ at, survival })
    from = last
  }
  return curve
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function startOfMonth(at: Date): number {
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)
}

function wholeMonthAfter(at: number): number {
  const start = startOfMonth(new Date(at))
  const date = new Date(at)
  return start === at ? at : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** Months since the year 0. */
export function monthOf(at: Date): number {
  return at.getUTCFullYear() * 12 + at.getUTCMonth()
}
