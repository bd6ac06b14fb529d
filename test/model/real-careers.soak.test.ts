/** Compares the real careers next to the repository with the references without SQL; skipped without ../shared/data. */

import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { careersIn, careersOf } from './careers-reference.ts'
import { expectGroupTables } from './groups-reference.ts'
import { expectSurvivalTables } from './survival-reference.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'
import { realEvents, realEventsPath } from './real-events.ts'

// The real data has one placeholder title for all people; these titles make vacancies possible.
const titles = [
  'Software Engineer',
  'Software Engineer',
  'Senior Software Engineer',
  'Account Executive',
  'Director of Engineering',
  'CTO',
  'Board Member',
  'Zzyzx',
]

let warehouse: Warehouse
let events: readonly GivenEvent[]

describe.skipIf(!existsSync(realEventsPath))('the real careers in ../shared/data', () => {
  beforeAll(async () => {
    events = realEvents().map((event) => {
      const title = titles[hash(event.profile_id + event.organization_id) % titles.length] ?? ''
      return { ...event, title_current: title, title_previous: null }
    })
    warehouse = await memoryWarehouse()
    await insertEvents(warehouse, events)
    await buildModels(warehouse, { buildId: 'real', builtAt: new Date('2024-12-10T03:00:00Z') })
    await warehouse.run(`set search_path = 'main,detail,service,core'`)
  }, 240_000)
  afterAll(() => warehouse.close())

  it('have the stints and moves of a walk through the events, row for row', async () => {
    const expected = careersOf(events)
    const actual = await careersIn(warehouse)
    expect(actual.moves).toEqual(expected.moves)
    expect(actual.stints).toEqual(expected.stints)

    expect(actual.moves.length).toBeGreaterThan(40_000)
  }, 240_000)

  it('have the successions of a simulated queue', async () => {
    const sizes = await expectGroupTables(warehouse)
    expect(sizes.departures).toBeGreaterThan(3000)
  }, 240_000)

  it('have the vacancies, waits and tenures counted one by one', async () => {
    const sizes = await expectSurvivalTables(warehouse)
    expect(sizes.backfills).toBeGreaterThan(20_000)
    expect(sizes.filled).toBeGreaterThan(3_000)
  }, 240_000)
})

function hash(text: string): number {
  let value = 0
  for (const character of text) value = (value * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003
  return value
}
