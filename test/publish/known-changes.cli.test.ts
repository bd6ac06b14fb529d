/**
 * What builds noted for the publisher is what a publisher that reads every table finds: over nights of the simulator, with
 * corrections, late and repeated events, both publish the same files.
 */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { computedModels } from '../../src/model/computed-models.ts'
import { withoutOwner } from '../../src/publish/keys.ts'
import type { ManifestTable } from '../../src/publish/manifest.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { createLogger, createScrubber } from '../../src/support/logger.ts'
import { DAY } from '../../src/support/units.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { withWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { done, openSite } from '../helpers/run-cli.ts'
import { IS_SOAK, rounds } from '../helpers/tier.ts'
import { expectReadersToSee, manifestIn, newStore, publish } from './fixtures.ts'

const NIGHTS = rounds('JOBTIDE_NIGHTS', 2, 10)
const EVENTS = rounds('JOBTIDE_EVENTS', 4_000, 40_000)
/** In the soak enough that some tables are split, and files of eight nights stand beside each other and are put together. */
const WORLD = { companies: EVENTS / 400, events: EVENTS }
const SPLIT_ABOVE = 0.75 * EVENTS

/** Beside the soak some of each kind: loaded, by person, by other keys, written in full, a view. */
const FEW =
  'job_change_events job_change_event_versions stints career_changes joiners organization_monthly people talent_flows titles'
const tables = [...publishedTables(readModelFiles()), ...computedModels].filter(
  ({ name }) => IS_SOAK || FEW.split(' ').includes(name),
)

interface Exported {
  readonly msg: string
  readonly table: string
  readonly is_read: boolean
}

/** Publishes, and says what became of each table. */
async function exported(warehouse: Warehouse, store: ObjectStore): Promise<Exported[]> {
  const lines: string[] = []
  const logger = createLogger('debug', createScrubber(), (line) => lines.push(line))
  await publish(warehouse, store, { tables, logger, splitAboveRows: SPLIT_ABOVE })
  const all = lines.map((line) => JSON.parse(line) as Exported)
  expect(all.filter(({ msg }) => /table_(?:compared|rewritten)/.test(msg))).toEqual([])
  return all.filter(({ msg }) => msg === 'publish.table_exported')
}

function withoutOwners(all: readonly ManifestTable[]) {
  return all.map((table) => ({
    ...table,
    deletion_vector: table.deletion_vector && {
      ...table.deletion_vector,
      key: withoutOwner(table.deletion_vector.key),
    },
    files: table.files.map((file) => ({ ...file, key: withoutOwner(file.key) })),
  }))
}

describe('what builds noted', () => {
  it(`gives over ${NIGHTS} nights the files that reading all tables gives`, async () => {
    const site = await openSite(WORLD)
    const [noted, read] = [newStore(), newStore()]
    const known: number[] = []
    const most = new Map<string, number>()
    for (let night = 0; night < NIGHTS; night += 1) {
      const days = String(365 - (night === 0 ? 5 : 0))
      done(await site.run(['run', site.pipeline, '--days', days, '--no-publish']))
      const path = join(site.dataDir, 'jobtide.duckdb')
      await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
        const all = await exported(warehouse, noted)
        known.push(all.filter(({ is_read: isRead }) => !isRead).length)
        // Hashes of another version of the engine are not believed.
        await warehouse.run(`update ops.builds set duckdb = 'another'`)
        const compared = await exported(warehouse, read)
        expect(compared.filter(({ is_read: isRead }) => !isRead)).toEqual([])
        await warehouse.run('update ops.builds set duckdb = version()')
        const [a, b] = [await manifestIn(noted), await manifestIn(read)]
        expect(withoutOwners(a.tables)).toEqual(withoutOwners(b.tables))
        await expectReadersToSee(warehouse, noted, tables)
        for (const { name, files } of a.tables)
          most.set(name, Math.max(most.get(name) ?? 0, files.length))
      })
      site.advance(DAY)
    }
    const [first, ...later] = known
    expect(first).toBe(0)
    for (const count of later) expect(count).toBeGreaterThan(tables.length / 3)
    if (NIGHTS > 8)
      expect([...most.values()].filter((files) => files >= 8).length).toBeGreaterThan(5)
  }, 1_200_000)
})
