import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { expectGroupTables } from './groups-compare.ts'
import { anyHistory, Worlds } from './histories.ts'

const builtAt = new Date('2024-12-10T03:00:00Z')
let warehouse: Warehouse
beforeEach(async () => {
  warehouse = await openWarehouse({ path: ':memory:', mode: 'write' })
})
afterEach(() => warehouse.close())

describe('tables about organisations', () => {
  it('equal counting, a simulated queue and survival by hand for 400 random worlds of 3 organisations', async () => {
    const worlds = new Worlds(fc.sample(anyHistory, { numRuns: 400, seed: 20_241_201 }))
    for (const night of [0, 1, 2, 3]) worlds.take(night)
    await worlds.put(warehouse, false)
    await buildModels(warehouse, { buildId: 'worlds', builtAt })
    const sizes = await expectGroupTables(warehouse)
    expect(sizes.backfills).toBeGreaterThan(300)
    expect(sizes.filled).toBeGreaterThan(20)
    expect(sizes.departures).toBeGreaterThan(300)
    expect(sizes.restatements).toBeGreaterThan(300)
    const [corrected] = await warehouse.all<{ events: bigint }>(
      'select sum(corrected_events)::bigint as events from restatements',
    )
    expect(Number(corrected?.events)).toBeGreaterThan(20)
  })
})
