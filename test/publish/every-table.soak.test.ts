/** All tables of two nights, from a folder and from S3, read by other engines: they equal the warehouse row for row. */

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/journal/journal.ts'
import { load } from '../../src/load/load.ts'
import { buildModels } from '../../src/model/build.ts'
import { computedModels } from '../../src/model/computed-models.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { realClock } from '../../src/support/clock.ts'
import { stableJson } from '../../src/support/json.ts'
import { publishedTables, readModelFiles } from '../../src/warehouse/catalog.ts'
import { quoteIdentifier } from '../../src/warehouse/sql-text.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { writeBackfill, writeNight } from '../bench/made-journal.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { askEveryEndpoint, memoryWarehouse } from '../helpers/warehouse.ts'
import { expectReadersToSee, manifestIn, publish, readByHand } from './fixtures.ts'
import { folderAndS3 } from './places.ts'

const tables = [...publishedTables(readModelFiles()), ...computedModels]
const SIZE = { people: 6_000, organizations: 100 }
const NIGHT = 60

/** Publishes about 24,000 events, and then a night of 60 more. */
async function twoNights(warehouse: Warehouse, store: ObjectStore): Promise<void> {
  const journal = openJournal(join(temporaryFolder(), 'journal'), realClock)
  const night = async (buildId: string) => {
    await load({ warehouse, journal })
    if (buildId === 'first') await askEveryEndpoint(warehouse)
    await buildModels(warehouse, { buildId, builtAt: new Date('2024-12-02T03:00:00Z') })
    await publish(warehouse, store, { tables })
  }
  await writeBackfill(journal, SIZE)
  await night('first')
  await writeNight(journal, SIZE, NIGHT)
  await night('second')
}

type Row = Record<string, unknown>

function asText(rows: readonly Row[]): string[] {
  const plain = (row: Row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'bigint' ? `${value}n` : value,
      ]),
    )
  return rows.map((row) => stableJson(plain(row))).toSorted()
}

describe.each(folderAndS3())('every table of two nights in $place', ({ open }) => {
  it('has the rows of the warehouse, for DuckDB over views.sql and for a reader in JavaScript', async () => {
    const [warehouse, store] = [await memoryWarehouse(), await open()]
    await twoNights(warehouse, store)
    const shown = (await manifestIn(store)).tables
    expect(shown.map(({ name }) => name).toSorted()).toEqual(
      tables.map(({ name }) => name).toSorted(),
    )
    await expectReadersToSee(warehouse, store, tables)
    for (const definition of tables) {
      const table = shown.find(({ name }) => name === definition.name)
      const columns = table?.schema.map(({ name }) => quoteIdentifier(name)).join(', ')
      const expected = await warehouse.all<Row>(`select ${columns} from ${definition.name}`)
      const found = table === undefined ? [] : await readByHand(store, table)
      expect(asText(found), definition.name).toEqual(asText(expected))
    }
    warehouse.close()
  }, 240_000)
})
