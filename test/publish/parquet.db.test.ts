/** The content of the files of a snapshot, and what is refused. */

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { silentLogger, type Logger } from '../../src/support/logger.ts'
import { describe, expect, it } from 'vitest'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { EXIT } from '../../src/support/errors.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { through } from '../helpers/through.ts'
import {
  contentKeys,
  definitionOf,
  expectReadersToSee,
  manifestIn,
  newStore,
  publish,
  smallWarehouse,
  snapshotTables,
} from './fixtures.ts'

/** A warehouse with one table `things` made by `sql`. */
async function things(sql: string): Promise<Warehouse> {
  const warehouse = await memoryWarehouse()
  await warehouse.run(`create table things as ${sql}`)
  return warehouse
}

describe('the files of a snapshot', () => {
  it('have the same keys with 1 and with 2 threads, and in any order of insertion', async () => {
    const keys = []
    for (const threads of [1, 2]) {
      const warehouse = await smallWarehouse({ threads })
      await warehouse.run(`create table things as select i as id, 'text ' || (i * 7919 % 1000) as text
        from range(300000) numbers(i) order by hash(i + ${threads})`)
      const store = newStore()
      await publish(warehouse, store, { tables: [...snapshotTables, definitionOf('things')] })
      keys.push(await contentKeys(store))
    }
    expect(keys[0]).toHaveLength(8)
    expect(keys[1]).toEqual(keys[0])
  })

  it('lose no row with an unknown year: 2 of 5 rows go to the null partition', async () => {
    const warehouse = await things(`select * from (values
      (1, timestamptz '2023-12-31 23:59:59+00'), (2, timestamptz '2024-01-01 00:00:00+00'),
      (3, null), (4, 'infinity'::timestamptz), (5, timestamptz '2024-12-31 23:59:59+00')) t(id, moved_at)`)
    const definition = definitionOf('things', { partitionByYearOf: 'moved_at' })
    const store = newStore()
    await publish(warehouse, store, { tables: [definition] })
    const [table] = (await manifestIn(store)).tables
    expect(table?.files.map(({ partition, rows }) => [partition, rows])).toEqual([
      ['moved_year=2023', 1],
      ['moved_year=2024', 2],
      ['moved_year=__HIVE_DEFAULT_PARTITION__', 2],
    ])
    await expectReadersToSee(warehouse, store, [definition])
  })

  it('split a table by year above the limit of one file, and stay split until --compact', async () => {
    const warehouse = await things(
      `select i as id, date '2020-02-29' + i::integer * 366 as week_start_on from range(3) numbers(i)`,
    )
    const store = newStore()
    const tables = [definitionOf('things', { partitionByYearOf: 'week_start_on' })]
    const partitions = async (options: Partial<PublishOptions> = {}) => {
      await publish(warehouse, store, { tables, splitAboveRows: 3, acceptShrink: true, ...options })
      const [table] = (await manifestIn(store)).tables
      expect(table?.partition_by?.column).toBe(table?.files[1] && 'week_start_on')
      return table?.files.map(({ partition }) => partition)
    }
    expect(await partitions()).toEqual(['all'])
    await warehouse.run(`insert into things values (4, date '2020-01-01')`)
    const years = [2020, 2021, 2022].map((year) => `week_start_year=${year}`)
    expect(await partitions()).toEqual(years)
    await warehouse.run('delete from things where id = 4')
    expect(await partitions()).toEqual(years)
    expect(await partitions({ compact: true })).toEqual(['all'])
    await expectReadersToSee(warehouse, store, tables)
  })

  it('are readable if the folder has quotes, brackets and stars in its name', async () => {
    const warehouse = await things(`select i as id from range(3) numbers(i)`)
    const folder = join(temporaryFolder(), `it's [a] "folder" * ? {x}`)
    mkdirSync(folder)
    const store = newStore(folder)
    const tables = [definitionOf('things')]
    const { snapshotId } = await publish(warehouse, store, { tables })
    const views = await store.get(`snapshots/${snapshotId}/views.sql`)
    const reader = await memoryWarehouse()
    await reader.run(Buffer.from(views?.bytes ?? []).toString())
    expect(await reader.all('select count(*) as rows from things')).toEqual([{ rows: 3n }])
  })

  it('have no encoding that Spark refuses, in 3 tables with 50,000 distinct numbers', async () => {
    const warehouse = await memoryWarehouse()
    for (const type of ['double', 'float', 'bigint']) {
      await warehouse.run(
        `create table ${type}_things as select i as id, cast(i * 1.37 as ${type}) as number from range(50000) numbers(i)`,
      )
    }
    const folder = temporaryFolder()
    const tables = ['double', 'float', 'bigint'].map((type) => definitionOf(`${type}_things`))
    await publish(warehouse, newStore(folder), { tables })
    const encodings = await warehouse.all<{ table: string; encodings: string }>(
      `select regexp_extract(file_name, '([a-z]+)_things', 1) as table, encodings
       from parquet_metadata('${folder}/tables/*/*/*/*.parquet') where path_in_schema = 'number' order by 1`,
    )
    expect(encodings).toEqual([
      { table: 'bigint', encodings: 'DELTA_BINARY_PACKED' },
      { table: 'double', encodings: 'PLAIN' },
      { table: 'float', encodings: 'PLAIN' },
    ])
  })

  it('keep field ids by name: a new column gets the next id, and the id of a dropped one is never reused', async () => {
    const store = newStore()
    const tables = [definitionOf('things')]
    const fieldIds = async (columns: string) => {
      const warehouse = await things(`select ${columns}`)
      await publish(warehouse, store, { tables, acceptSchemaChange: true })
      const [table] = (await manifestIn(store)).tables
      return Object.fromEntries(table?.schema.map((column) => [column.name, column.field_id]) ?? [])
    }
    expect(await fieldIds(`1 as id, 'a' as a, 'b' as b`)).toEqual({ id: 1, a: 2, b: 3 })
    expect(await fieldIds(`'a' as a, 1 as id`)).toEqual({ a: 2, id: 1 })
    expect(await fieldIds(`1 as id, 'c' as c, 'a' as a`)).toEqual({ id: 1, c: 4, a: 2 })
    const [key] = (await manifestIn(store)).tables[0]?.files.map((file) => file.key) ?? []
    const stored = await (
      await memoryWarehouse()
    ).all(
      `select name, field_id from parquet_schema('${store.urlOf(key ?? '')}') where field_id is not null`,
    )
    expect(stored).toEqual([
      { name: 'id', field_id: 1n },
      { name: 'c', field_id: 4n },
      { name: 'a', field_id: 2n },
    ])
  })

  it('may lose a column by an upgrade, with a warning, but not within one version', async () => {
    const store = newStore()
    const publishing = { tables: [definitionOf('things')] }
    await publish(await things(`select 1 as id, 'a' as a`), store, publishing)
    const fewer = await things('select 1 as id')
    const before = await store.list('')
    await expect(publish(fewer, store, publishing)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('things.a is gone') as string,
      hint: expect.stringContaining('--accept-schema-change') as string,
    })
    expect(await store.list('')).toEqual(before)
    const lines: string[] = []
    const warn = ({ reason }: { reason: string }) => void lines.push(reason)
    const logger = { ...silentLogger, warn } as unknown as Logger
    await publish(fewer, store, { ...publishing, version: '0.2.0', logger })
    expect(lines).toEqual([
      expect.stringMatching(/^since Jobtide 0[.]1[.]0, 1 tables or columns .* things[.]a is gone;/),
    ])
    await expectReadersToSee(fewer, store, publishing.tables)
  })

  it('hold text, decimals of 38 digits, lists and nulls exactly', async () => {
    const warehouse =
      await things(`select i as id, cast(power(10, 30) as decimal(38,0)) + i as exact,
      [i, null] as list, 'naïve "quoted" ''text''' as text, null::varchar as nothing from range(5) numbers(i)`)
    const store = newStore()
    await publish(warehouse, store, { tables: [definitionOf('things')] })
    await expectReadersToSee(warehouse, store, [definitionOf('things')])
  })
})

describe('one moment', () => {
  // Two connections to one file: the second one commits between the two tables of the snapshot.
  it('is the state of all tables, even if rows are committed during the export', async () => {
    const path = join(temporaryFolder(), 'jobtide.duckdb')
    const publisher = await openWarehouse({ path, mode: 'write' })
    const loader = await openWarehouse({ path, mode: 'write' })
    await loader.run('create table first as select 1 as id; create table second as select 1 as id')
    let copies = 0
    const interrupted = through(publisher, async (_, sql, work) => {
      const result = await work()
      if (!String(sql).startsWith('copy')) return result
      copies += 1
      if (copies === 1) {
        await loader.transaction(async () =>
          loader.run('insert into first values (2); insert into second values (2)'),
        )
      }
      return result
    })
    const store = newStore()
    const tables = [definitionOf('first'), definitionOf('second')]
    await publish(interrupted, store, { tables })
    expect(copies).toBe(2)
    expect((await manifestIn(store)).tables.map((table) => table.rows)).toEqual([1, 1])
    await publish(publisher, store, { tables })
    expect((await manifestIn(store)).tables.map((table) => table.rows)).toEqual([2, 2])
    publisher.close()
    loader.close()
  })

  it('is published from a warehouse opened read-only', async () => {
    const path = join(temporaryFolder(), 'jobtide.duckdb')
    const writer = await openWarehouse({ path, mode: 'write' })
    await writer.run('create table things as select 1 as id')
    writer.close()
    const reader = await openWarehouse({ path, mode: 'read' })
    const report = await publish(reader, newStore(), { tables: [definitionOf('things')] })
    reader.close()
    expect(report).toMatchObject({ rows: 1, newFiles: 1 })
  })
})

describe('the manifest', () => {
  it('describes tables, coverage and credits as they were read, and names no person', async () => {
    const store = newStore()
    const warehouse = await smallWarehouse()
    const report = await publish(warehouse, store)
    const manifest = await manifestIn(store)
    expect(manifest).toMatchObject({
      format_version: 5,
      sequence: 1,
      previous: null,
      snapshot_id: report.snapshotId,
      run_id: 'run_2',
      versions: { jobtide: '0.1.0', duckdb: 'v1.5.6' },
      coverage: {
        organizations: 3,
        intervals: 4,
        covered_from: { min: null, max: '2023-01-01T00:00:00.000Z' },
        covered_to: { min: '2024-05-01T00:00:00.000Z', max: '2024-06-02T00:00:00.000Z' },
      },
      credits: { total: 40, of_run: 10 },
    })
    expect(JSON.stringify(manifest)).not.toContain('Zoë')
    const [events, pairs] = manifest.tables
    expect(events).toMatchObject({
      name: 'job_change_events',
      grain: 'One row per job-change event.',
      partition_by: { column: 'changed_at', unit: 'year' },
      rows: 300,
      bytes: events?.files.reduce((total, file) => total + file.bytes, 0),
    })
    expect(events?.schema[0]).toEqual({
      name: 'event_key',
      type: 'VARCHAR',
      field_id: 1,
      comment: 'Stable 128-bit hash of the natural key, 32 hexadecimal digits; unique.',
    })
    expect(events?.schema.map((column) => column.name)).not.toContain('times_seen')
    expect(events?.files[0]).toMatchObject({
      partition: 'changed_year=2019',
      rows: 50,
      min: { changed_at: '2019-01-01 01:02:03+00', detection_lag_days: '0' },
      max: { event_type: 'joined', detection_lag_days: '30' },
    })
    expect(pairs).toMatchObject({
      partition_by: null,
      rows: 20,
      key: ['profile_id', 'organization_id'],
    })
  })

  it('with a changed byte stops the next publish', async () => {
    const folder = temporaryFolder()
    const store = newStore(folder)
    const { snapshotId } = await publish(await smallWarehouse(), store)
    const key = `snapshots/${snapshotId}/manifest.json`
    const text = Buffer.from((await store.get(key))?.bytes ?? []).toString()
    writeFileSync(join(folder, key), text.replace('"rows": 50', '"rows": 51'))
    await expect(publish(await smallWarehouse(), store)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('SHA-256'),
      hint: expect.stringContaining('remove latest.json'),
    })
  })
})

describe('a publish is refused, with exit 7 and nothing in the store,', () => {
  const noKey = definitionOf('things', { key: ['id', 'day'], partitionByYearOf: 'on' })

  const CAST = 'cast(… as decimal(38,0))'

  it.each([
    ['sum(bigint)', 'sum(i) as total', [], 'things.total is a HUGEINT, which', CAST],
    ['UHUGEINT', 'max(i)::uhugeint as total', [], 'things.total is a UHUGEINT, which', CAST],
    ['HUGEINT in a list', '[sum(i)] as totals', [], 'things.totals is a HUGEINT[], which', CAST],
    [
      'a name that is not plain',
      '2 as "a b"',
      [],
      'things."a b" is not a name for',
      'with letters',
    ],
    ['no table', '2 as b', [definitionOf('more')], 'is no table more in the', 'jobtide build'],
    ['no key column', '2 as b', [noKey], 'has no column day, on to sort or split by', ''],
  ])('for %s', async (_, column, more, message, hint) => {
    const warehouse = await things(`select 1 as id, ${column} from range(3) numbers(i)`)
    const store = newStore()
    const tables = [definitionOf('things'), ...more]
    const error: unknown = await publish(warehouse, store, { tables }).catch((thrown) => thrown)
    expect(error).toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining(message),
    })
    expect((error as { hint?: string }).hint ?? '').toContain(hint)
    expect(await store.list('')).toEqual([])
  })
})

it('the scratch folder is emptied before a publish, and gone after one that was stopped half-way', async () => {
  const scratchFolder = join(temporaryFolder(), 'scratch')
  mkdirSync(scratchFolder)
  writeFileSync(join(scratchFolder, 'left-behind.parquet'), 'half a file')
  const stop = new AbortController()
  const reason = new Error('stopped by SIGTERM')
  const steps: string[] = []
  let written = 0
  const stopped = publish(await smallWarehouse(), newStore(), {
    scratchFolder,
    signal: stop.signal,
    onProgress: ({ phase, done, total }) => {
      steps.push(`${phase} ${done}/${total}`)
      if (phase === 'export') written = readdirSync(scratchFolder).length
      if (phase === 'upload' && done === 3) stop.abort(reason)
    },
  })
  await expect(stopped).rejects.toBe(reason)
  expect(written).toBe(7)
  // Uploads that had begun by then are in the store.
  expect(steps.slice(0, 5)).toEqual([
    'export 1/2',
    'export 2/2',
    'upload 1/7',
    'upload 2/7',
    'upload 3/7',
  ])
  expect(steps.length).toBeLessThan(9)
  expect(existsSync(scratchFolder)).toBe(false)
})
