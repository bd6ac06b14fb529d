/** What a night writes: what changed, beside the files of the snapshot before, and never a wrong row. */

import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { describe, expect, it } from 'vitest'
import type { ManifestTable } from '../../src/publish/manifest.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { openStore } from '../../src/publish/store/open-store.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { readCurrent } from '../../src/publish/read-snapshot.ts'
import { realClock } from '../../src/support/clock.ts'
import { EXIT } from '../../src/support/errors.ts'
import type { TableDefinition } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { rounds } from '../helpers/tier.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { newFolder, contentKeys, publish, readerOf, tableOf } from './fixtures.ts'

const RUNS = rounds('JOBTIDE_WORLDS', 4, 24)

const folderStore = (folder = newFolder()) => openStore(folder, { clock: realClock })

const things: TableDefinition = {
  name: 'things',
  grain: 'One row per thing.',
  key: ['id'],
  partitionByYearOf: null,
  leftOut: [],
}
const byYear: TableDefinition = { ...things, partitionByYearOf: 'on_day' }

/** A table of `rows` rows over some days, each of about 70 bytes that do not compress. */
async function manyThings(rows: number, days = 3650): Promise<Warehouse> {
  const warehouse = await memoryWarehouse()
  await warehouse.run(`
    create table things as
    select i as id, date '2015-01-01' + cast(i % ${days} as integer) as on_day, md5(cast(i as varchar)) as text,
      case when i % 3 = 0 then null else md5(cast(-i as varchar)) end as more
    from range(${rows}) numbers(i)`)
  return warehouse
}

/** The same rows in a table of another name, seen through a view. */
async function behindView(warehouse: Warehouse): Promise<void> {
  await warehouse.run(
    'alter table things rename to stored_things; create view things as select * from stored_things',
  )
}

async function shown(store: ObjectStore): Promise<ManifestTable> {
  const table = (await readCurrent(store))?.manifest.tables[0]
  if (table === undefined) throw new Error('nothing was published')
  return table
}

async function expectReadersToSee(
  warehouse: Warehouse,
  store: ObjectStore,
  definition: TableDefinition,
): Promise<void> {
  expect(await tableOf(await readerOf(store), definition)).toEqual(
    await tableOf(warehouse, definition),
  )
}

async function rowsIn(store: ObjectStore, key: string): Promise<Record<string, unknown>[]> {
  const object = await store.get(key)
  const file = new Uint8Array(object?.bytes ?? []).buffer
  return parquetReadObjects({ file, compressors })
}

const publishThings = (
  warehouse: Warehouse,
  store: ObjectStore,
  options: Partial<PublishOptions> = {},
) => publish(warehouse, store, { tables: [things], ...options })

describe('a publish after 100 of 50,000 rows changed', () => {
  const afterChanges = async () => {
    const warehouse = await manyThings(50_000)
    const store = await folderStore()
    const first = await publishThings(warehouse, store)
    await warehouse.run(`
      update things set text = 'changed' where id % 1000 = 7;
      delete from things where id % 1000 = 500 and id > 25000;
      insert into things select i + 1000000, date '2026-01-01', 'new', null from range(25) numbers(i)`)
    return { warehouse, store, first }
  }

  it('sends 1 small file and 1 list of 75 deleted rows: under 2 % of the bytes', async () => {
    const { warehouse, store, first } = await afterChanges()
    const report = await publishThings(warehouse, store)
    expect(report).toMatchObject({ newFiles: 2, rows: 50_000 })
    expect(report.newBytes / first.bytes).toBeLessThan(0.02)
    const table = await shown(store)
    expect(table.files.map((file) => [file.rows, file.deletes])).toEqual([
      [50_000, 75],
      [75, 0],
    ])
    expect(table.deletion_vector).toMatchObject({ rows: 75 })
    await expectReadersToSee(warehouse, store, things)
  })

  it('gives a reader that is not DuckDB the 50,000 rows, when it skips what is listed as deleted', async () => {
    const { warehouse, store } = await afterChanges()
    await publishThings(warehouse, store)
    const { files, deletion_vector: deleted } = await shown(store)
    const listed = await rowsIn(store, deleted?.key ?? '')
    const skipped = new Set(
      listed.map(({ file, position }) => `${String(file)} ${String(position)}`),
    )
    const rows: Record<string, unknown>[] = []
    for (const { key, sha256 } of files) {
      const stored = await rowsIn(store, key)
      rows.push(...stored.filter((_, position) => !skipped.has(`${sha256} ${position}`)))
    }
    const expected = await warehouse.all<Record<string, unknown>>(
      'select * from things order by id',
    )
    expect(rows.toSorted((a, b) => Number(a['id']) - Number(b['id']))).toEqual(expected)
  })

  it('sends the same keys and bytes from 1 and from 2 threads', async () => {
    const keys: string[][] = []
    for (const threads of [1, 2]) {
      const { warehouse, store } = await afterChanges()
      await warehouse.run(`set threads = ${threads}`)
      await publishThings(warehouse, store)
      keys.push(await contentKeys(store))
    }
    expect(keys[0]).toHaveLength(3)
    expect(keys[1]).toEqual(keys[0])
  })

  it('sends the same keys and bytes for a view as for a table of the same rows, whole and by year', async () => {
    for (const definition of [things, byYear]) {
      const keys: string[][] = []
      for (const isView of [false, true]) {
        const warehouse = await manyThings(50_000, 730)
        const store = await folderStore()
        await publishThings(warehouse, store, { tables: [definition] })
        await warehouse.run(`update things set text = 'changed' where id % 1000 = 7`)
        if (isView) await behindView(warehouse)
        const { newFiles } = await publishThings(warehouse, store, { tables: [definition] })
        keys.push(await contentKeys(store))
        // New rows of 2 years, or of all, and the list of those that are gone.
        expect(newFiles).toBe(definition === byYear ? 3 : 2)
      }
      expect(keys[1]).toEqual(keys[0])
    }
  })

  it('with --compact sends all rows as 1 file again', async () => {
    const { warehouse, store } = await afterChanges()
    await publishThings(warehouse, store)
    const report = await publishThings(warehouse, store, { compact: true })
    expect(report).toMatchObject({ newFiles: 1, files: 1 })
    expect((await shown(store)).deletion_vector).toBeNull()
    await expectReadersToSee(warehouse, store, things)
    expect(await publishThings(warehouse, store, { compact: true })).toMatchObject({
      unchanged: true,
    })
  })

  it('writes the table again where a file of the snapshot before is short or gone', async () => {
    for (const damage of [rmSync, (path: string) => truncateSync(path, 100)]) {
      const { warehouse, store } = await afterChanges()
      damage(store.urlOf((await shown(store)).files[0]?.key ?? ''))
      await publishThings(warehouse, store)
      expect((await shown(store)).files.map((file) => file.rows)).toEqual([50_000])
      await expectReadersToSee(warehouse, store, things)
    }
  })

  it('never believes a list of deleted rows with 1 wrong bit: the table is written again', async () => {
    for (const at of [4, 159, 400]) {
      const { warehouse, store } = await afterChanges()
      await publishThings(warehouse, store)
      const list = store.urlOf((await shown(store)).deletion_vector?.key ?? '')
      const bytes = readFileSync(list)
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
      writeFileSync(list, bytes)
      await warehouse.run(`update things set text = 'changed again' where id = 11`)
      await publishThings(warehouse, store)
      expect((await shown(store)).files.map((file) => file.rows)).toEqual([50_000])
      await expectReadersToSee(warehouse, store, things)
    }
  })

  it('tells null, no element and one null in a list apart', async () => {
    const warehouse = await memoryWarehouse()
    await warehouse.run(
      'create table things as select i as id, cast(null as integer[]) as list from range(3) numbers(i)',
    )
    const store = await folderStore()
    for (const list of ['[]', '[null]', 'null']) {
      await publishThings(warehouse, store)
      await warehouse.run(`update things set list = ${list} where id = 1`)
      expect(await publishThings(warehouse, store)).toMatchObject({ unchanged: false })
      await expectReadersToSee(warehouse, store, things)
    }
  })

  it('puts a file back that was lost, also when nothing changed', async () => {
    const { warehouse, store } = await afterChanges()
    await publishThings(warehouse, store)
    const lost = (await shown(store)).files[0]?.key ?? ''
    rmSync(store.urlOf(lost))
    await publishThings(warehouse, store)
    await expectReadersToSee(warehouse, store, things)
    const whole = await folderStore()
    await publishThings(warehouse, whole)
    rmSync(whole.urlOf((await shown(whole)).files[0]?.key ?? ''))
    expect(await publishThings(warehouse, whole)).toMatchObject({ unchanged: true, newFiles: 0 })
    await expectReadersToSee(warehouse, whole, things)
  })

  it('writes all rows when a column was added, and keeps the snapshot before readable', async () => {
    const { warehouse, store } = await afterChanges()
    const before = await readerOf(store)
    await warehouse.run('alter table things add column added integer')
    await publishThings(warehouse, store)
    expect((await shown(store)).files.map((file) => file.rows)).toEqual([50_000])
    expect(await before.all('select count(*) as n from things')).toEqual([{ n: 50_000n }])
    await expectReadersToSee(warehouse, store, things)
  })

  it.each([
    ['a column went', 'alter table things drop column more', 'things.more is gone'],
    [
      'a type changed',
      'alter table things alter column id type varchar',
      'things.id is VARCHAR, and was BIGINT',
    ],
  ])('is refused when %s, until that is accepted', async (_, change, message) => {
    const { warehouse, store } = await afterChanges()
    await warehouse.run(change)
    const before = await store.list('')
    await expect(publishThings(warehouse, store)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining(message),
      hint: expect.stringContaining('--accept-schema-change'),
    })
    expect(await store.list('')).toEqual(before)
    await publishThings(warehouse, store, { acceptSchemaChange: true })
    await expectReadersToSee(warehouse, store, things)
  })
})

describe('night after night', () => {
  it('30 nights of 50 changes in 50,000 rows send less than the table once, in at most 8 files', async () => {
    const warehouse = await manyThings(50_000)
    const store = await folderStore()
    const first = await publishThings(warehouse, store)
    let sent = 0
    for (let night = 0; night < 30; night += 1) {
      await warehouse.run(
        `update things set text = concat('night ', ${night}) where id % 1000 = ${night * 31}`,
      )
      sent += (await publishThings(warehouse, store)).newBytes
      expect((await shown(store)).files.length).toBeLessThanOrEqual(8)
    }
    expect(sent / first.bytes).toBeLessThan(1)
    await expectReadersToSee(warehouse, store, things)
  })

  it('a row that comes back as it was stands once', async () => {
    const warehouse = await manyThings(20_000)
    const store = await folderStore()
    await publishThings(warehouse, store)
    await warehouse.run(`create table kept as select * from things where id < 5`)
    for (const change of ['delete from things where id < 5', 'insert into things from kept']) {
      await warehouse.run(change)
      await publishThings(warehouse, store)
      await expectReadersToSee(warehouse, store, things)
    }
  })

  const nights = fc.array(
    fc.record({
      update: fc.integer({ min: 0, max: 400 }),
      remove: fc.integer({ min: 0, max: 200 }),
      insert: fc.integer({ min: 0, max: 3_000 }),
      compact: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  )

  it(`readers see the rows of the warehouse after any 1 to 6 nights of changes in a table or behind a view, in ${RUNS} runs`, async () => {
    await fc.assert(
      fc.asyncProperty(
        nights,
        fc.constantFrom(things, byYear),
        fc.boolean(),
        async (changes, definition, isView) => {
          const warehouse = await manyThings(20_000, 730)
          if (isView) await behindView(warehouse)
          const stored = isView ? 'stored_things' : 'things'
          const store = await folderStore(join(newFolder(), 'store'))
          await publish(warehouse, store, { tables: [definition] })
          for (const [night, { update, remove, insert, compact }] of changes.entries()) {
            const drawn = (salt: number) => `hash(id, ${night}, ${salt}) % 12000`
            await warehouse.run(`
            update ${stored} set text = concat(text, '!') where ${drawn(1)} < ${update};
            delete from ${stored} where ${drawn(2)} < ${remove};
            insert into ${stored}
            select ${(night + 1) * 100_000} + i, date '2020-06-01' + cast(i % 900 as integer), md5(cast(i as varchar)), null
            from range(${insert}) numbers(i)`)
            await publish(warehouse, store, {
              tables: [definition],
              compact: compact && night % 3 === 2,
            })
            await expectReadersToSee(warehouse, store, definition)
          }
          warehouse.close()
        },
      ),
      { numRuns: RUNS },
    )
  })
})
