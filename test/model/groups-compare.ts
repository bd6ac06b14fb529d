/** Compares the tables about organisations with what groups-reference.ts computes without SQL. */

import { expect } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import {
  expectedBackfills,
  expectedDepartures,
  expectedPeriods,
  expectedRestatements,
  expectedShares,
  expectedSurvival,
  monthOf,
  type Careers,
  type Change,
  type Move,
  type Rows,
  type Stint,
} from './groups-reference.ts'

/** How many rows were compared. */
export interface Sizes {
  readonly flows: number
  readonly backfills: number
  readonly filled: number
  readonly departures: number
  readonly restatements: number
}

/** Compares every table about organisations with the computation; the sizes of what was compared. */
export async function expectGroupTables(warehouse: Warehouse): Promise<Sizes> {
  const careers = await careersIn(warehouse)
  for (const [table, column, period] of [
    ['organization_weekly', 'week_start_on', 'week'],
    ['organization_monthly', 'month_start_on', 'month'],
  ] as const) {
    expectSame(
      await rowsIn(warehouse, table, `organization_id, ${column}, function, level`),
      expectedPeriods(careers, period),
      table,
    )
  }
  const flows = expectedShares(careers)
  expectSame(
    await rowsIn(warehouse, 'talent_flows', 'from_organization_id, to_organization_id'),
    flows,
    'talent_flows',
  )
  const backfills = expectedBackfills(careers)
  expectSame(
    await rowsIn(warehouse, 'time_to_backfill', 'left_event_key'),
    backfills,
    'time_to_backfill',
  )
  const rises = await changesIn(warehouse, 'promotions', 'promoted_at', 'level <> previous_level')
  const departures = expectedDepartures(careers, rises)
  expectSame(
    await rowsIn(warehouse, "executive_changes where change = 'departed'", 'event_key'),
    departures,
    'executive_changes',
  )
  expectSame(
    await rowsIn(warehouse, 'tenure_at_exit', 'organization_id, cohort_year, tenure_months'),
    expectedSurvival(careers),
    'tenure_at_exit',
  )
  const restatements = expectedRestatements(careers)
  expectSame(
    await rowsIn(
      warehouse,
      'restatements where joiners_added + leavers_added + promotions_added > 0',
      'organization_id, month_start_on, known_to, known_month_on',
    ),
    restatements,
    'restatements',
  )
  return {
    flows: flows.size,
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
    moves: await warehouse.all<Move>(
      'select profile_id, from_organization_id, to_organization_id, is_direct, direction from moves',
    ),
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
  const isPromotion = table === 'promotions'
  return warehouse.all<Change>(
    `select event_key, organization_id, profile_id, ${at} as at, function, level, is_primary,
            ${isPromotion ? 'false' : 'is_boomerang'} as is_boomerang,
            ${isPromotion ? 'false' : 'known_same_month'} as known_same_month
     from ${table}
     where ${condition}`,
  )
}
