/**
 * Tables about organisations computed a second time, without SQL, from rows of joiners, leavers, promotions and stints: vacancies
 * by simulating the queue day by day, survival by going through everybody again for each month, restatements by when each event was
 * known. Slow and plain on purpose. Sums by week, month and pair of organisations are proved by checks instead.
 */

import { expect } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { DAY } from '../../src/support/units.ts'
import { groupBy } from './careers-reference.ts'

/** A joining, a leaving or a promotion. */
interface Change {
  readonly event_key: string
  readonly organization_id: string
  readonly profile_id: string
  readonly at: Date
  readonly function: string
  readonly level: string
  readonly is_primary: boolean
}

interface Stint {
  readonly organization_id: string
  readonly joined_at: Date | null
  readonly left_at: Date | null
  readonly is_primary: boolean
}

/** Everything that the group tables are made from. */
interface Careers {
  readonly joiners: readonly Change[]
  readonly leavers: readonly Change[]
  readonly promotions: readonly Change[]
  readonly stints: readonly Stint[]
  /** organization_id → first day of the month until which it was looked at. */
  readonly observedUntil: ReadonlyMap<string, string>
  /** event_key → when it was known first, to each who can know it. */
  readonly firstKnown: ReadonlyMap<string, Readonly<Record<'service' | 'warehouse', Date>>>
  /** event_key of a joining → of the leaving without which it is no internal move or no return. */
  readonly leavingsBefore: ReadonlyMap<string, string>
}

type Rows = Map<string, Record<string, unknown>>

/** `2024-03-01` for any moment of March 2024. */
function monthOf(at: Date): string {
  return `${at.toISOString().slice(0, 7)}-01`
}

/** time_to_backfill, by left_event_key. */
function expectedBackfills(careers: Careers): Rows {
  const isPlace = (one: Change) =>
    one.is_primary && one.level !== 'unknown' && one.function !== 'unknown'
  const rows: Rows = new Map()
  for (const [left, joined] of queue(
    careers.leavers.filter(isPlace),
    careers.joiners.filter(isPlace),
  )) {
    const days = joined === null ? null : Math.max(0, daysBetween(firstDay(left), firstDay(joined)))
    const until = Date.parse(careers.observedUntil.get(left.organization_id) ?? '')
    rows.set(left.event_key, {
      joined_event_key: joined?.event_key ?? null,
      days_to_backfill: days,
      days_to_backfill_min: joined && Math.max(0, daysBetween(lastDay(left), firstDay(joined))),
      days_to_backfill_max: joined && daysBetween(firstDay(left), lastDay(joined)),
      is_open: joined === null,
      days_observed: days ?? Math.max(0, daysBetween(firstDay(left), until)),
    })
  }
  return rows
}

const TOP = ['director', 'vp', 'cxo']

/** The departures of executive_changes, by event_key. @param rises promotions from one level to another */
function expectedDepartures(careers: Careers, rises: readonly Change[]): Rows {
  const isTop = (one: Change) => one.is_primary && TOP.includes(one.level)
  const departures = careers.leavers.filter(isTop)
  const matched = new Map(
    queue(
      departures.filter((one) => one.function !== 'unknown'),
      [...careers.joiners, ...rises].filter((one) => isTop(one) && one.function !== 'unknown'),
    ),
  )
  const byOrganization = groupBy(departures, (one) => one.organization_id)
  const rows: Rows = new Map()
  for (const one of departures) {
    const successor = matched.get(one)
    const end = successor
      ? firstDay(successor)
      : Date.parse(careers.observedUntil.get(one.organization_id) ?? '')
    const recent = (byOrganization.get(one.organization_id) ?? []).filter((other) => {
      const days = daysBetween(firstDay(other), firstDay(one))
      return days >= 0 && days <= 90
    }).length
    rows.set(one.event_key, {
      successor_event_key: successor?.event_key ?? null,
      vacancy_days: successor === undefined ? null : Math.max(0, daysBetween(firstDay(one), end)),
      is_vacant: successor === undefined ? null : successor === null,
      departures_in_90_days: recent,
      is_cluster: recent >= 2,
    })
  }
  return rows
}

/** Who fills which place: every day first the leavings, then those joinings that cannot have been earlier. */
function queue(
  leavings: readonly Change[],
  joinings: readonly Change[],
): [Change, Change | null][] {
  const place = (one: Change) => [one.organization_id, one.function, one.level].join('|')
  const hires = groupBy(joinings, place)
  return [...groupBy(leavings, place)].flatMap(([key, vacated]) => {
    const steps = [
      ...vacated.map((one) => ({ one, day: firstDay(one), opens: true })),
      ...(hires.get(key) ?? []).map((one) => ({ one, day: lastDay(one), opens: false })),
    ].toSorted(
      (a, b) =>
        a.day - b.day ||
        Number(b.opens) - Number(a.opens) ||
        (a.one.event_key < b.one.event_key ? -1 : 1),
    )
    const open: Change[] = []
    const filled = new Map<Change, Change>()
    for (const { one, opens } of steps) {
      if (opens) {
        open.push(one)
        continue
      }
      const oldest = open.shift()
      if (oldest !== undefined) filled.set(oldest, one)
    }
    return vacated.map((one): [Change, Change | null] => [one, filled.get(one) ?? null])
  })
}

/** tenure_at_exit, by organisation, cohort and months. */
function expectedSurvival(careers: Careers): Rows {
  const lives = careers.stints.flatMap(({ organization_id, is_primary, joined_at, left_at }) => {
    const until = careers.observedUntil.get(organization_id) ?? ''
    if (!is_primary || joined_at === null || monthOf(joined_at) > until) return []
    const isExit = left_at !== null && monthOf(left_at) <= until
    const months = monthNumber(isExit ? monthOf(left_at) : until) - monthNumber(monthOf(joined_at))
    return [{ cohort: `${organization_id}|${joined_at.getUTCFullYear()}`, months, isExit }]
  })
  const rows: Rows = new Map()
  for (const [cohort, people] of groupBy(lives, (life) => life.cohort)) {
    for (const months of new Set(people.map((life) => life.months))) {
      let survival = 1
      for (let month = 0; month <= months; month += 1) {
        const staying = people.filter((life) => life.months >= month).length
        const gone = people.filter((life) => life.isExit && life.months === month).length
        survival *= 1 - gone / staying
      }
      rows.set(`${cohort}|${months}`, {
        exits: people.filter((life) => life.months === months && life.isExit).length,
        censored: people.filter((life) => life.months === months && !life.isExit).length,
        at_risk: people.filter((life) => life.months >= months).length,
        survival: Math.round(survival * 1e6) / 1e6,
      })
    }
  }
  return rows
}

const NEVER = new Date(0)

/** restatements without their corrections, by organisation, month, who knew, and month of knowing. */
function expectedRestatements(careers: Careers): Rows {
  const facts = [
    ...careers.joiners.filter((one) => one.is_primary).map((one) => ({ one, name: 'joiners' })),
    ...careers.leavers.filter((one) => one.is_primary).map((one) => ({ one, name: 'leavers' })),
    ...careers.promotions
      .filter((one) => one.is_primary)
      .map((one) => ({ one, name: 'promotions' })),
  ]
  const rows: Rows = new Map()
  for (const knownTo of ['service', 'warehouse'] as const) {
    const knownMonth = (key: string) => monthOf(careers.firstKnown.get(key)?.[knownTo] ?? NEVER)
    const dated = facts.map(({ one, name }) => ({
      name,
      group: `${one.organization_id}|${monthOf(one.at)}|${knownTo}`,
      month: monthOf(one.at),
      known: [one.event_key, careers.leavingsBefore.get(one.event_key) ?? one.event_key]
        .map(knownMonth)
        .reduce((a, b) => (a > b ? a : b)),
    }))
    for (const [group, ofMonth] of groupBy(dated, (fact) => fact.group)) {
      const later = ofMonth.filter((fact) => fact.known > fact.month).map((fact) => fact.known)
      for (const known of new Set(later)) {
        const row: Record<string, number> = {}
        for (const name of ['joiners', 'leavers', 'promotions']) {
          const named = ofMonth.filter((fact) => fact.name === name)
          row[`${name}_before`] = named.filter((fact) => fact.known < known).length
          row[`${name}_added`] = named.filter((fact) => fact.known === known).length
        }
        rows.set(`${group}|${known}`, row)
      }
    }
  }
  return rows
}

function firstDay(change: Change): number {
  return Math.floor(change.at.getTime() / DAY) * DAY
}

/** The last day a change can have been on: the end of the month where only the month is known. */
function lastDay(change: Change): number {
  const isMonth = change.at.getUTCDate() === 1 && change.at.getTime() % DAY === 0
  if (!isMonth) return firstDay(change)
  return Date.UTC(change.at.getUTCFullYear(), change.at.getUTCMonth() + 1, 0)
}

function daysBetween(from: number, to: number): number {
  return (to - from) / DAY
}

function monthNumber(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7))
}

/** Compares the tables about organisations with the computation; gives how many rows there were. */
export async function expectGroupTables(warehouse: Warehouse) {
  const careers = await careersIn(warehouse)
  const rises = await changesIn(warehouse, 'promotions', 'promoted_at', 'level <> previous_level')
  const backfills = expectedBackfills(careers)
  const departures = expectedDepartures(careers, rises)
  const restatements = expectedRestatements(careers)
  for (const [table, key, expected] of [
    ['time_to_backfill', 'left_event_key', backfills],
    ["executive_changes where change = 'departed'", 'event_key', departures],
    ['tenure_at_exit', 'organization_id, cohort_year, tenure_months', expectedSurvival(careers)],
    [
      'restatements where joiners_added + leavers_added + promotions_added > 0',
      'organization_id, month_start_on, known_to, known_month_on',
      restatements,
    ],
  ] as const) {
    expectSame(await rowsIn(warehouse, table, key), expected, table)
  }
  return {
    backfills: backfills.size,
    filled: [...backfills.values()].filter((row) => row['is_open'] === false).length,
    departures: departures.size,
    restatements: restatements.size,
  }
}

/** Compares in the columns that are expected, numbers to a millionth. */
function expectSame(actual: Rows, expected: Rows, table: string): void {
  expect(actual.size, table).toBe(expected.size)
  for (const [key, row] of expected) {
    const found = actual.get(key) ?? {}
    for (const [column, value] of Object.entries(row)) {
      if (found[column] !== value) {
        expect({ key, [column]: rounded(found[column]) }, table).toEqual({
          key,
          [column]: rounded(value),
        })
      }
    }
  }
}

function rounded(value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value
}

async function rowsIn(warehouse: Warehouse, table: string, key: string): Promise<Rows> {
  const rows = await warehouse.all<Record<string, unknown>>(
    `select concat_ws('|', ${key}) as key_text, * from ${table}`,
  )
  return new Map(rows.map((row) => [String(row['key_text']), row]))
}

async function careersIn(warehouse: Warehouse): Promise<Careers> {
  const observed = await warehouse.all<{ organization_id: string; observed_until_on: Date }>(
    'select organization_id, observed_until_on from organization_observation',
  )
  const known = await warehouse.all<{ event_key: string; service: Date; warehouse: Date }>(
    `select event_key, min(detected_at) as service, min(first_seen_at) as warehouse
     from (select event_key, detected_at, first_seen_at from job_change_events
           union all select event_key, detected_at, first_seen_at from job_change_event_versions)
     group by event_key`,
  )
  const before = await warehouse.all<{ joined_event_key: string; left_event_key: string }>(
    `select event_key as joined_event_key, partner_event_key as left_event_key
     from core.stint_events where event_type = 'joined' and part = 'interruption'
     union all
     select stints.joined_event_key, earlier.left_event_key
     from stints inner join stints as earlier using (profile_id, organization_id)
     where earlier.stint_number = stints.stint_number - 1 and stints.joined_event_key is not null`,
  )
  return {
    joiners: await changesIn(warehouse, 'joiners', 'joined_at'),
    leavers: await changesIn(warehouse, 'leavers', 'left_at'),
    promotions: await changesIn(warehouse, 'promotions', 'promoted_at'),
    stints: await warehouse.all<Stint>(
      'select organization_id, joined_at, left_at, is_primary from stints where joined_at is not null',
    ),
    observedUntil: new Map(
      observed.map((row) => [row.organization_id, monthOf(new Date(row.observed_until_on))]),
    ),
    firstKnown: new Map(known.map((row) => [row.event_key, row])),
    leavingsBefore: new Map(before.map((row) => [row.joined_event_key, row.left_event_key])),
  }
}

async function changesIn(
  warehouse: Warehouse,
  table: string,
  at: string,
  condition = 'true',
): Promise<Change[]> {
  return warehouse.all<Change>(
    `select event_key, organization_id, profile_id, ${at} as at, function, level, is_primary
     from ${table}
     where ${condition}`,
  )
}
