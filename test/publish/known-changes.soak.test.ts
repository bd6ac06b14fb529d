/**
 * Builds note for the publisher exactly what changed: over nights of the simulator, with corrections, late and repeated
 * events, it publishes the same files as one that copies every table.
 */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { computedModels } from '../../src/model/computed-models.ts'
import { withoutOwner, type ManifestTable } from '../../src/publish/manifest.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { createJsonLog } from '../../src/support/json-log.ts'
import { createScrubber } from '../../src/support/logger.ts'
import { DAY } from '../../src/support/units.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { isOfEndpoints } from '../../src/warehouse/endpoint-tables.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { IS_SOAK, rounds } from '../helpers/tier.ts'
import { expectReadersToSee, manifestIn, newStore, publish } from './fixtures.ts'

const NIGHTS = rounds('JOBTIDE_NIGHTS', 2, 10)
const EVENTS = rounds('JOBTIDE_EVENTS', 4_000, 40_000)
/** The soak tier has enough rows to split some tables. */
const WORLD = { companies: EVENTS / 400, events: EVENTS }
const SPLIT_ABOVE = 0.75 * EVENTS

/** Outside the soak tier, some tables of each kind: loaded, by person, by other keys, written in full, a view. */
const FEW =
  'job_change_events job_change_event_versions stints career_changes joiners organization_monthly people talent_flows titles'
const tables = [...publishedTables(readModelFiles()), ...computedModels].filter(
  (table) => (IS_SOAK && !isOfEndpoints(table)) || FEW.split(' ').includes(table.name),
)

/** Publishes, and returns the tables that were copied. */
async function copiedTables(
  warehouse: Warehouse,
  store: ObjectStore,
  compact = false,
): Promise<string[]> {
  const lines: string[] = []
  const logger = createJsonLog('debug', createScrubber(), (line) => lines.push(line))
  await publish(warehouse, store, { tables, logger, splitAboveRows: SPLIT_ABOVE, compact })
  return lines
    .map((line) => JSON.parse(line) as { readonly msg: string; readonly table: string })
    .flatMap(({ msg, table }) => (msg === 'publish.table_copied' ? table : []))
}

function withoutOwners(all: readonly ManifestTable[]) {
  return all.map((table) => ({
    ...table,
    files: table.files.map((file) => ({ ...file, key: withoutOwner(file.key) })),
  }))
}

describe('the notes of builds', () => {
  it(`give the same files over ${NIGHTS} nights as copying all tables`, async () => {
    const site = await openSite(WORLD)
    const [noted, read] = [newStore(), newStore()]
    const copied: number[] = []
    for (let night = 0; night < NIGHTS; night += 1) {
      const days = String(365 - (night === 0 ? 5 : 0))
      done(await site.run(['run', site.pipeline, '--days', days, '--no-publish']))
      const path = join(site.dataDir, 'jobtide.duckdb')
      await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
        copied.push((await copiedTables(warehouse, noted)).length)
        expect(await copiedTables(warehouse, noted)).toEqual([])
        expect(await copiedTables(warehouse, read, true)).toHaveLength(tables.length)
        const [a, b] = [await manifestIn(noted), await manifestIn(read)]
        expect(withoutOwners(a.tables)).toEqual(withoutOwners(b.tables))
        await expectReadersToSee(warehouse, noted, tables)
      })
      site.advance(DAY)
    }
    expect(copied[0]).toBe(tables.length)
    if (IS_SOAK) expect(Math.max(...copied.slice(1))).toBeLessThan(tables.length)
  }, 1_200_000)
})
