/** A second implementation without SQL of the tables about executives. */

import { expect } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { expectedSeats } from './seats-reference.ts'

type Rows = Map<string, Record<string, unknown>>

/** Compares the tables about executives with the reference; returns the number of rows. */
export async function expectGroupTables(warehouse: Warehouse) {
  const { changes, seats } = await expectedSeats(warehouse, await observedUntil(warehouse))
  for (const [table, key, expected] of [
    ['executive_changes', 'event_key', changes],
    ['executive_seats', 'event_key, seat, is_interim', seats],
  ] as const) {
    expectSame(await rowsIn(warehouse, table, key), expected, table)
  }
  const count = (rows: Rows, column: string, value: unknown) =>
    [...rows.values()].filter((row) => row[column] === value).length
  const followed = [...changes.values()].filter((row) => row['successor_event_key'] !== null)
  return {
    departures: count(changes, 'change', 'departed'),
    steppedDown: count(changes, 'change', 'stepped_down'),
    followed: followed.length,
    interim: followed.filter((row) => row['successor_is_interim'] === true).length,
  }
}

/** Compares only the expected columns. */
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

/** organization_id → first day of the month until which it was observed, such as `2024-03-01`. */
async function observedUntil(warehouse: Warehouse): Promise<ReadonlyMap<string, string>> {
  const observed = await warehouse.all<{ organization_id: string; until: string }>(
    'select organization_id, cast(observed_until_on as text) as until from organization_observation',
  )
  return new Map(observed.map((row) => [row.organization_id, row.until]))
}
