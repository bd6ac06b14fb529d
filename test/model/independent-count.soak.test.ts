/**
 * Compares joiners, leavers and flows of the real events with counts without SQL by the definitions in
 * docs/careers.md, row for row; skipped where ../shared/data is absent.
 */

import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'
import { keyOf, type Act } from './careers-order.ts'
import {
  employerKind,
  expectedMoves,
  expectedStints,
  isPrimary,
  type ExpectedStint,
} from './careers-reference.ts'
import { realEvents, realEventsPath } from './real-events.ts'

let warehouse: Warehouse
let events: readonly GivenEvent[]
let stints: readonly ExpectedStint[]

describe.skipIf(!existsSync(realEventsPath))('of the real events in ../shared/data', () => {
  beforeAll(async () => {
    events = realEvents()
    stints = expectedStints(events)
    warehouse = await memoryWarehouse()
    await insertEvents(warehouse, events)
    await buildModels(warehouse, { buildId: 'real', builtAt: new Date('2024-12-10T03:00:00Z') })
  }, 240_000)
  afterAll(() => warehouse.close())

  it('all joiners are the seen starts of stints', async () => {
    const joiners = await linesOf(
      `select event_key, profile_id, organization_id, joined_on, is_primary from joiners`,
    )
    const expected = stints.flatMap((stint) => lineOf(stint.arrival, stint))
    expect(joiners).toEqual(expected.toSorted())
    expect(joiners.length).toBeGreaterThan(60_000)
  }, 240_000)

  it('all leavers are the seen ends of stints', async () => {
    const leavers = await linesOf(
      `select event_key, profile_id, organization_id, left_on, is_primary from leavers`,
    )
    const expected = stints.flatMap((stint) => lineOf(stint.departure, stint))
    expect(leavers).toEqual(expected.toSorted())
    expect(leavers.length).toBeGreaterThan(60_000)
  }, 240_000)

  it('all flows are moves between employers, without those of a deal', async () => {
    const flows = await linesOf(
      `select from_organization_id, to_organization_id, moves from talent_flows`,
    )
    const transfers = new Set(await linesOf('select left_event_key from moves where is_transfer'))
    const counts = new Map<string, number>()
    for (const { departed, arrived } of expectedMoves(stints)) {
      const [from, to] = [departed, arrived]
      if (departed.departure === null || transfers.has(keyOf(departed.departure.event))) continue
      if (employerOf(from) !== null || employerOf(to) !== null) continue
      const pair = `${from.organization} | ${to.organization}`
      counts.set(pair, (counts.get(pair) ?? 0) + 1)
    }
    expect(flows).toEqual([...counts].map(([pair, moves]) => `${pair} | ${moves}`).toSorted())
    expect(flows.length).toBeGreaterThan(20_000)
  }, 240_000)
})

function employerOf({ acts }: ExpectedStint): string | null {
  return employerKind(acts.toSorted((a, b) => a.at - b.at).at(-1)?.event)
}

function lineOf(act: Act | null, stint: ExpectedStint): string[] {
  if (act === null) return []
  const day = new Date(act.at).toISOString().slice(0, 10)
  return [[keyOf(act.event), stint.person, stint.organization, day, isPrimary(stint)].join(' | ')]
}

async function linesOf(sql: string): Promise<string[]> {
  const rows = await warehouse.all<Record<string, unknown>>(sql)
  return rows
    .map((row) =>
      Object.values(row)
        .map((value) => (value instanceof Date ? value.toISOString().slice(0, 10) : String(value)))
        .join(' | '),
    )
    .toSorted()
}
