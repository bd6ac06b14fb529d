/** What changed between two snapshots: counted exactly, whatever files they share, wherever they are. */

import fc from 'fast-check'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diffSnapshots, type DiffOptions, type TableDiff } from '../../src/publish/diff.ts'
import { openSnapshot, type OpenSnapshot } from '../../src/publish/read-snapshot.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import type { TableDefinition } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { newStore, publish } from './fixtures.ts'
import { aNight, lakeTables, lakeWarehouse, publishedLake, type Lake } from './lake-fixtures.ts'

const open = (url: string) => openSnapshot(url, { clock: realClock })

async function nightOf(lake: Lake): Promise<{ before: OpenSnapshot; after: OpenSnapshot }> {
  const after = await open(lake.root)
  const id = after.manifest.previous?.snapshot_id
  return { before: await open(`${lake.root}/snapshots/${id}`), after }
}

async function diff(options: Pick<DiffOptions, 'before' | 'after'> & Partial<DiffOptions>) {
  return diffSnapshots({ scratchFolder: join(temporaryFolder(), 'scratch'), ...options })
}

/** Publishes to a folder of its own. */
async function publishedTo(
  warehouse: Warehouse,
  tables: readonly TableDefinition[] = lakeTables,
  folder = temporaryFolder(),
): Promise<OpenSnapshot> {
  await publish(warehouse, newStore(folder), { tables, acceptSchemaChange: true })
  return open(folder)
}

const counted = (tables: readonly TableDiff[]) =>
  tables.map((table) => [table.rows_added, table.rows_removed, table.rows_changed])

describe('the difference of two snapshots', () => {
  it('is nothing, and no file is read, for the same rows in two destinations', async () => {
    const [lake, warehouse] = [await publishedLake(), await lakeWarehouse()]
    await warehouse.run(aNight)
    const [before, after] = [await open(lake.root), await publishedTo(warehouse)]
    expect(after.manifest.tables[0]?.files).toHaveLength(1)
    rmSync(join(lake.root, 'tables'), { recursive: true })
    expect(counted((await diff({ before, after })).tables)).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ])
  })

  it('counts tables that are only in one, names columns that only one has, and does not tell rows apart by another key', async () => {
    const [lake, warehouse] = [await publishedLake(), await lakeWarehouse()]
    await warehouse.run(aNight)
    const [people, moves] = lakeTables
    if (people === undefined || moves === undefined) throw new Error('there are two')
    const after = await open(lake.root)
    const without = await diff({ before: await publishedTo(warehouse, [moves]), after })
    expect(without.tables[0]).toMatchObject({ rows_before: null, rows_after: 15_002 })
    expect(counted(without.tables)[0]).toEqual([15_002, 0, 0])

    const before = after
    const rekeyed = await publishedTo(warehouse, [{ ...people, key: ['name', 'person_id'] }, moves])
    expect(counted((await diff({ before, after: rekeyed })).tables)).toEqual([
      [null, null, null],
      [0, 0, 0],
    ])
    await warehouse.run(`
      alter table people drop column is_known;
      alter table people add column city varchar default 'Ulm';
      alter table people alter column age type bigint;
      update people set name = 'Other', age = 99 where person_id = 'person_000500'`)
    const changed = (await diff({ before, after: await publishedTo(warehouse) })).tables
    expect(changed[0]).toMatchObject({
      columns_added: ['age BIGINT', 'city VARCHAR'],
      columns_removed: ['age INTEGER', 'is_known BOOLEAN'],
    })
    expect(counted(changed)[0]).toEqual([0, 0, 1])
  })

  it('is refused with 6 for a file that is missing or has a byte that is not as published, with 2 for an unknown table', async () => {
    const lake = await publishedLake()
    const { before, after } = await nightOf(lake)
    const unknown = diff({ before, after, rows: { table: 'persons', limit: 1 } })
    await expect(unknown).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: 'neither snapshot has a table persons',
    })
    const [, small] = (await lake.table('people')).files
    const path = lake.path(small?.key ?? '')
    const bytes = readFileSync(path)
    const expectDamage = async (message: string) =>
      expect(diff({ before, after })).rejects.toMatchObject({
        exitCode: EXIT.checkFailed,
        message: expect.stringContaining(`the snapshot is damaged: ${small?.key}: ${message}`),
      })
    rmSync(path)
    await expectDamage('it is not there')
    writeFileSync(path, bytes.with(100, (bytes[100] ?? 0) ^ 1))
    await expectDamage('its bytes are others')
  })

  it('is what SQL over both tables says, after any of 8 nights of random changes', async () => {
    const warehouse = await lakeWarehouse()
    const people = lakeTables.slice(0, 1)
    const folder = temporaryFolder()
    let before = await publishedTo(warehouse, people, folder)
    const ids = fc.array(fc.integer({ min: 0, max: 14_999 }), { maxLength: 40 })
    const night = fc.record({ updated: ids, deleted: ids, inserted: ids })
    await fc.assert(
      fc.asyncProperty(night, async ({ updated, deleted, inserted }) => {
        await warehouse.run(
          `create or replace table people_before as from people;
           update people set age = age + 1 where person_id in (${list(updated)});
           delete from people where person_id in (${list(deleted)});
           insert into people select distinct person_id, 1, 'Back', 2, true
             from unnest([${list(inserted)}]::varchar[]) as back(person_id)
             where person_id is not null and person_id not in (select person_id from people)`,
        )
        const after = await publishedTo(warehouse, people, folder)
        const { tables } = await diff({ before, after })
        expect(counted(tables)[0]).toEqual(await expectedCounts(warehouse))
        before = after
      }),
      { numRuns: 8 },
    )
  })
})

function list(numbers: readonly number[]): string {
  const quoted = numbers.map((number) => `'person_${String(number).padStart(6, '0')}'`)
  return quoted.length === 0 ? 'null' : quoted.join(', ')
}

async function expectedCounts(warehouse: Warehouse) {
  const [counts] = await warehouse.all<Record<'added' | 'removed' | 'changed', bigint>>(
    `select count(*) filter (where b is null) as added, count(*) filter (where a is null) as removed,
       count(*) filter (where a is not null and b is not null and a <> b) as changed
     from (select person_id, a, b from (select person_id, p as a from people as p) full join
       (select person_id, q as b from people_before as q) using (person_id))`,
  )
  return [counts?.added, counts?.removed, counts?.changed].map(Number)
}
