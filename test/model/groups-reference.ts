/**
 * Vacancies and who filled them a second time, without SQL, from rows of joiners and leavers: by simulating the queue day by
 * day, slow and plain on purpose.
 */

import { expect } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { groupBy } from './careers-reference.ts'
import { daysBetween, firstDay, lastDay } from './days.ts'
import { expectedSeats } from './seats-reference.ts'

/** A joining or a leaving. */
interface Change {
  readonly event_key: string
  readonly organization_id: string
  readonly profile_id: string
  readonly at: Date
  readonly function: string
  readonly level: string
  readonly is_primary: boolean
}

/** Everything that the group tables are made from. */
interface Careers {
  readonly joiners: readonly Change[]
  readonly leavers: readonly Change[]
  /** organization_id → first day of the month until which it was looked at. */
  readonly observedUntil: ReadonlyMap<string, string>
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
    const days =
      joined === null ? null : Math.max(0, daysBetween(firstDay(left.at), firstDay(joined.at)))
    const until = Date.parse(careers.observedUntil.get(left.organization_id) ?? '')
    rows.set(left.event_key, {
      joined_event_key: joined?.event_key ?? null,
      days_to_backfill: days,
      days_to_backfill_min:
        joined && Math.max(0, daysBetween(lastDay(left.at), firstDay(joined.at))),
      days_to_backfill_max: joined && daysBetween(firstDay(left.at), lastDay(joined.at)),
      is_open: joined === null,
      days_observed: days ?? Math.max(0, daysBetween(firstDay(left.at), until)),
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
      ...vacated.map((one) => ({ one, day: firstDay(one.at), opens: true })),
      ...(hires.get(key) ?? []).map((one) => ({ one, day: lastDay(one.at), opens: false })),
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

/** Compares the tables about organisations with the computation; gives how many rows there were. */
export async function expectGroupTables(warehouse: Warehouse) {
  const careers = await careersIn(warehouse)
  const backfills = expectedBackfills(careers)
  const { changes, seats } = await expectedSeats(warehouse, careers.observedUntil)
  for (const [table, key, expected] of [
    ['time_to_backfill', 'left_event_key', backfills],
    ['executive_changes', 'event_key', changes],
    ['executive_seats', 'event_key, seat, is_interim', seats],
  ] as const) {
    expectSame(await rowsIn(warehouse, table, key), expected, table)
  }
  const count = (rows: Rows, column: string, value: unknown) =>
    [...rows.values()].filter((row) => row[column] === value).length
  const followed = [...changes.values()].filter((row) => row['successor_event_key'] !== null)
  return {
    backfills: backfills.size,
    filled: count(backfills, 'is_open', false),
    departures: count(changes, 'change', 'departed'),
    steppedDown: count(changes, 'change', 'stepped_down'),
    followed: followed.length,
    interim: followed.filter((row) => row['successor_is_interim'] === true).length,
  }
}

/** Compares in the columns that are expected. */
function expectSame(actual: Rows, expected: Rows, table: string): void {
  expect(actual.size, table).toBe(expected.size)
  for (const [key, row] of expected) {
    expect({ ...actual.get(key), key: table }).toMatchObject({ ...row, key: table })
  }
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
  return {
    joiners: await changesIn(warehouse, 'joiners', 'joined_at'),
    leavers: await changesIn(warehouse, 'leavers', 'left_at'),
    observedUntil: new Map(
      observed.map((row) => [row.organization_id, monthOf(new Date(row.observed_until_on))]),
    ),
  }
}

async function changesIn(warehouse: Warehouse, table: string, at: string): Promise<Change[]> {
  return warehouse.all<Change>(
    `select event_key, organization_id, profile_id, ${at} as at, function, level, is_primary
     from ${table}`,
  )
}
