/** What changed between two snapshots: counted exactly, whatever files they share, wherever they are. */

import fc from 'fast-check'
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diffSnapshots, type DiffOptions, type DiffSide } from '../../../src/publish/diff/diff.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { readCurrent, readSnapshot } from '../../../src/publish/read-snapshot.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import type { Warehouse } from '../../../src/warehouse/warehouse.ts'
import { newFolder, publish } from '../fixtures.ts'
import { lakeTables, lakeWarehouse, publishedLake, type Lake } from '../lake-fixtures.ts'

async function current(store: ObjectStore): Promise<DiffSide> {
  const snapshot = await readCurrent(store)
  if (snapshot === null) throw new Error('nothing was published')
  return { store, manifest: snapshot.manifest }
}

async function nightOf(lake: Lake): Promise<{ before: DiffSide; after: DiffSide }> {
  const after = await current(lake.store)
  const id = after.manifest.previous?.snapshot_id ?? ''
  const manifest = await readSnapshot(lake.store, id)
  if (manifest === null) throw new Error(`there is no snapshot ${id}`)
  return { before: { store: lake.store, manifest }, after }
}

async function diff(options: Pick<DiffOptions, 'before' | 'after'> & Partial<DiffOptions>) {
  return diffSnapshots({ scratchFolder: join(newFolder(), 'scratch'), ...options })
}

async function newStore(): Promise<ObjectStore> {
  return openStore(newFolder(), { clock: realClock })
}

describe('the difference of two snapshots', () => {
  it('is 5 people added, 3 removed, 20 changed, and 10 moves changed; 2 of 6 files are read whole', async () => {
    const lake = await publishedLake()
    const { before, after } = await nightOf(lake)
    const read: string[] = []
    const { tables, rows } = await diff({
      before,
      after,
      onProgress: ({ name }) => read.push(name),
    })
    expect(rows).toBeNull()
    expect(tables).toMatchObject([
      {
        name: 'people',
        rowsBefore: 15_000,
        rowsAfter: 15_002,
        counts: { added: 5, removed: 3, changed: 20 },
      },
      {
        name: 'moves',
        rowsBefore: 30_000,
        rowsAfter: 30_000,
        counts: { added: 0, removed: 0, changed: 10 },
      },
    ])
    // Of each table the file in which rows are deleted now, and the one with new rows; not those of 2019 and 2021.
    expect(read).toHaveLength(4)
    const people = await lake.table('people')
    const [, small] = people.files
    expect(tables[0]).toMatchObject({
      bytesAdded: (small?.bytes ?? 0) + (people.deletion_vector?.bytes ?? 0),
      bytesRemoved: 0,
    })
  })

  it('is the other way round when the two are swapped', async () => {
    const { before, after } = await nightOf(await publishedLake())
    const { tables } = await diff({ before: after, after: before })
    expect(tables.map(({ counts }) => counts)).toEqual([
      { added: 3, removed: 5, changed: 20 },
      { added: 0, removed: 0, changed: 10 },
    ])
  })

  it('is nothing, and no file is read, for the same rows in two destinations', async () => {
    const lake = await publishedLake()
    const store = await newStore()
    await publish(lake.warehouse, store, { tables: lakeTables, compact: true })
    const [before, after] = [await current(lake.store), await current(store)]
    expect(after.manifest.tables[0]?.files).toHaveLength(1)
    const read: string[] = []
    const { tables } = await diff({ before, after, onProgress: ({ name }) => read.push(name) })
    expect(tables.map(({ counts }) => counts)).toEqual([
      { added: 0, removed: 0, changed: 0 },
      { added: 0, removed: 0, changed: 0 },
    ])
    expect(read).toEqual([])
  })

  it('shows the first rows of a table by key: the key, and old and new values of what changed', async () => {
    const { before, after } = await nightOf(await publishedLake())
    const { tables, rows } = await diff({ before, after, rows: { table: 'people', limit: 21 } })
    expect(tables).toHaveLength(1)
    expect(rows).toHaveLength(21)
    expect(rows?.[1]).toEqual({
      change: 'changed',
      key: { person_id: 'person_000001' },
      columns: [{ name: 'age', before: 1, after: 2 }],
    })
    expect(rows?.[20]).toMatchObject({
      change: 'removed',
      key: { person_id: 'person_014997' },
      columns: expect.arrayContaining([{ name: 'is_known', before: true, after: null }]),
    })
  })

  it('counts tables that are only in one, and shows their rows', async () => {
    const lake = await publishedLake()
    const store = await newStore()
    await publish(lake.warehouse, store, { tables: lakeTables.slice(1) })
    const [before, after] = [await current(store), await current(lake.store)]
    const { tables } = await diff({ before, after })
    expect(tables[0]).toMatchObject({
      name: 'people',
      rowsBefore: null,
      rowsAfter: 15_002,
      counts: { added: 15_002, removed: 0, changed: 0 },
    })
    const shown = await diff({ before: after, after: before, rows: { table: 'people', limit: 1 } })
    expect(shown.rows).toMatchObject([{ change: 'removed', key: { person_id: 'person_000000' } }])
    expect(shown.tables[0]?.counts).toEqual({ added: 0, removed: 15_002, changed: 0 })
  })

  it('names columns that are only in one or have another type, and compares the others', async () => {
    const lake = await publishedLake()
    const store = await newStore()
    await lake.warehouse.run(`
      alter table people drop column is_known;
      alter table people add column city varchar default 'Ulm';
      alter table people alter column age type bigint;
      update people set name = 'Other' where person_id = 'person_000500'`)
    await publish(lake.warehouse, store, { tables: lakeTables })
    const { tables } = await diff({
      before: await current(lake.store),
      after: await current(store),
    })
    expect(tables[0]).toMatchObject({
      columnsAdded: ['city'],
      columnsRemoved: ['is_known'],
      columnsRetyped: ['age: INTEGER → BIGINT'],
      counts: { added: 0, removed: 0, changed: 1 },
    })
  })

  it('does not tell rows apart where the key is another one', async () => {
    const lake = await publishedLake()
    const store = await newStore()
    const [people, moves] = lakeTables
    if (people === undefined || moves === undefined) throw new Error('there are two')
    const tables = [{ ...people, key: ['name', 'person_id'] }, moves]
    await publish(lake.warehouse, store, { tables })
    const found = await diff({ before: await current(lake.store), after: await current(store) })
    expect(found.tables.map(({ counts }) => counts)).toEqual([
      null,
      { added: 0, removed: 0, changed: 0 },
    ])
  })

  it('ends with 6 when a file it has to read is not there, with 2 for a table that neither has', async () => {
    const lake = await publishedLake()
    const { before, after } = await nightOf(lake)
    await expect(
      diff({ before, after, rows: { table: 'persons', limit: 1 } }),
    ).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: 'neither snapshot has a table persons',
    })
    const [, small] = (await lake.table('people')).files
    rmSync(lake.path(small?.key ?? ''))
    await expect(diff({ before, after })).rejects.toMatchObject({
      exitCode: EXIT.checkFailed,
      message: `the snapshot is damaged: ${small?.key}: it is not there`,
    })
  })

  it('is refused when a data file has a byte that is not as published, at any place of it', async () => {
    const lake = await publishedLake()
    const { before, after } = await nightOf(lake)
    const [, small] = (await lake.table('people')).files
    const path = join(lake.root, small?.key ?? '')
    const bytes = readFileSync(path)
    chmodSync(path, 0o600)
    for (const at of [0, 100, bytes.length - 2]) {
      const changed = Buffer.from(bytes)
      changed[at] = (bytes[at] ?? 0) ^ 1
      writeFileSync(path, changed)
      await expect(diff({ before, after })).rejects.toMatchObject({
        exitCode: EXIT.checkFailed,
        message: expect.stringContaining(`${small?.key}: its bytes are others`) as unknown,
      })
    }
  })

  it('is what SQL over both tables says, after any of 15 nights of random changes', async () => {
    const warehouse = await lakeWarehouse()
    const store = await newStore()
    await publish(warehouse, store, { tables: lakeTables })
    const night = fc.record({
      updated: fc.array(fc.integer({ min: 0, max: 14_999 }), { maxLength: 40 }),
      deleted: fc.array(fc.integer({ min: 0, max: 14_999 }), { maxLength: 40 }),
      inserted: fc.array(fc.integer({ min: 0, max: 14_999 }), { maxLength: 40 }),
      compact: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(night, async ({ updated, deleted, inserted, compact }) => {
        const before = await current(store)
        await warehouse.run('create or replace table people_before as from people')
        await warehouse.run(
          `update people set age = age + 1 where person_id in (${list(updated)});
           delete from people where person_id in (${list(deleted)});
           insert into people select distinct person_id, 1, 'Back', 2, true
             from unnest([${list(inserted)}]::varchar[]) as back(person_id)
             where person_id is not null and person_id not in (select person_id from people)`,
        )
        await publish(warehouse, store, { tables: lakeTables, compact })
        const after = await current(store)
        const { tables } = await diff({ before, after })
        expect(tables[0]?.counts ?? null).toEqual(await expectedCounts(warehouse))
      }),
      { numRuns: 15 },
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
  return Object.fromEntries(Object.entries(counts ?? {}).map(([name, of]) => [name, Number(of)]))
}
