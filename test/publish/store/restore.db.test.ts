/** A warehouse restored from a snapshot: it has the published rows, and load and build continue with it. */

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { describeAsBuilt } from '../../../src/cli/proof-commands.ts'
import type { Journal } from '../../../src/journal/journal.ts'
import { load } from '../../../src/load/load.ts'
import { buildModels } from '../../../src/model/build.ts'
import { computedModels } from '../../../src/model/computed-models.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import {
  proveSnapshot,
  restoreSnapshot,
  type RestoreOptions,
} from '../../../src/publish/restore.ts'
import { worldSightings } from '../../../src/simulator/world.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { DAY } from '../../../src/support/units.ts'
import {
  IN_TIERS,
  publishedTables,
  readModelFiles,
  type TableDefinition,
} from '../../../src/warehouse/catalog.ts'
import { openWarehouse, type Warehouse } from '../../../src/warehouse/warehouse.ts'
import { askEveryEndpoint, memoryWarehouse } from '../../helpers/warehouse.ts'
import { signInTo } from '../../helpers/s3-client.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { START, aPage, dumpTables, journalOfPages } from '../../load/load-fixture.ts'
import { emptyWarehouse, publish } from '../fixtures.ts'
import { aNight, forge, lakeTables, lakeWarehouse, publishedLake } from '../lake-fixtures.ts'

let server: S3Server
let folder: string
let journal: Journal
/** The warehouse that load and build make from the journal. */
let warehouse: Warehouse
/** Its published rows. */
let store: ObjectStore

beforeAll(async () => {
  server = await startS3Server()
  signInTo(server)
  folder = mkdtempSync(join(tmpdir(), 'jobtide-restore-'))
  journal = await journalOfTwoYears(join(folder, 'journal'))
  warehouse = await memoryWarehouse()
  await load({ warehouse, journal })
  await askEveryEndpoint(warehouse)
  await build(warehouse)
  store = await openStore(join(folder, 'published'), { clock: realClock })
  await publish(warehouse, store, { tables, scratchFolder: join(folder, 'scratch') })
})

afterAll(async () => {
  vi.unstubAllEnvs()
  warehouse.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const tables = [...publishedTables(readModelFiles()), ...computedModels]

async function restore(from: ObjectStore, options: Partial<RestoreOptions> = {}) {
  const snapshot = await proveSnapshot({
    store: from,
    snapshotId: null,
    scratchFolder: join(temporaryFolder(), 'proof'),
  })
  const path = join(temporaryFolder(), 'jobtide.duckdb')
  const scratchFolder = join(temporaryFolder(), 'scratch')
  const report = await restoreSnapshot({
    snapshot,
    path,
    scratchFolder,
    describe: describeAsBuilt,
    ...options,
  })
  expect(existsSync(scratchFolder)).toBe(false)
  return report
}

async function open(path: string): Promise<Warehouse> {
  const warehouse = await openWarehouse({ path, mode: 'write' })
  onTestFinished(() => warehouse.close())
  return warehouse
}

async function build(of: Warehouse): Promise<void> {
  await buildModels(of, { buildId: 'build', builtAt: new Date(START) })
}

/** Two years of 6 organisations, with corrections, in pages of 50 that came a day apart. */
async function journalOfTwoYears(path: string): Promise<Journal> {
  const world = { seed: 5, organizations: 6, startAt: START - 730 * DAY, endAt: START }
  const events = [...worldSightings(world)].map(({ event }) => event)
  const pages = []
  for (let from = 0; from < events.length; from += 50) {
    const page = from / 50 + 1
    pages.push(aPage(events.slice(from, from + 50), { page, at: START + (page - 100) * DAY }))
  }
  return journalOfPages(path, [pages.slice(0, 5), pages.slice(5)])
}

/** All comments on the published tables; a view in one warehouse may be a table in the other. */
async function commentsOf(of: Warehouse) {
  return of.all(
    `select name, column_name, comment from (
       select database_name, schema_name, view_name as name, null as column_name, comment from duckdb_views()
       union all select database_name, schema_name, table_name, null, comment from duckdb_tables()
       union all select database_name, schema_name, table_name, column_name, comment from duckdb_columns())
     where database_name = current_database() and schema_name in ${IN_TIERS}
       and name in (${tables.map(({ name }) => `'${name}'`).join(', ')}) order by all`,
  )
}

/** The number of rows of a table, and their content. */
async function contentOf(of: Warehouse, { name, leftOut }: TableDefinition) {
  const rows = leftOut.length === 0 ? '*' : `* exclude (${leftOut.join(', ')})`
  return of.all(
    `select count(*) as rows, md5(string_agg(line, chr(10) order by line)) as content
     from (select cast(to_json(t) as varchar) as line from (select ${rows} from ${name}) as t)`,
  )
}

describe('a restored warehouse', () => {
  it('has the published rows and comments of every table, all of them proved', async () => {
    const report = await restore(store)
    expect(report.tables).toHaveLength(tables.length)
    const restored = await open(report.path)
    for (const table of tables) {
      expect(await contentOf(restored, table), table.name).toEqual(
        await contentOf(warehouse, table),
      )
    }
    expect(await commentsOf(restored)).toEqual(await commentsOf(warehouse))
    expect(
      await restored.all(`select distinct times_seen, last_seen_at = first_seen_at as at_first,
        attributes_seen_at = first_seen_at as attributes_at_first, last_run_id = first_run_id as by_first
        from job_change_events`),
    ).toEqual([{ times_seen: 1, at_first: true, attributes_at_first: true, by_first: true }])
  })

  it('equals a replay once the journal is loaded and the models are built', async () => {
    const restored = await open((await restore(store)).path)
    const counts = `select count(*) > 500 as events, (select count(*) > 10 from job_change_event_versions) as versions
      from job_change_events`
    expect(await restored.all(counts)).toEqual([{ events: true, versions: true }])
    expect(await load({ warehouse: restored, journal })).toMatchObject({ inserted: 0, rejected: 0 })
    await build(restored)
    // Restored events count as seen once, so they are seen once more than in the journal.
    await restored.run('update job_change_events set times_seen = times_seen - 1')
    expect(await dumpTables(restored)).toEqual(await dumpTables(warehouse))
  })

  it('is made from files on S3 without keeping local copies', async () => {
    const destination = `s3://${server.bucket}/restored`
    const bucket = await openStore(destination, { clock: realClock, s3Endpoint: server.endpoint })
    await publishedLake(bucket)
    const scratchFolder = join(temporaryFolder(), 'scratch')
    const here: number[] = []
    const report = await restore(bucket, {
      scratchFolder,
      onProgress: () => here.push(readdirSync(scratchFolder).length),
    })
    expect(here).toEqual([0, 0])
    expect(report).toMatchObject({ rows: 45_002 })
    const restored = await open(report.path)
    const lakeNow = await lakeWarehouse()
    await lakeNow.run(aNight)
    for (const table of lakeTables) {
      expect(await contentOf(restored, table)).toEqual(await contentOf(lakeNow, table))
    }
  })

  it('loses tables without a model at the next build, which replaces the others', async () => {
    const before = await lakeWarehouse()
    await before.run('create table old_figures as select i from range(3) numbers(i)')
    const oldFigures = { ...lakeTables[0], name: 'old_figures', grain: 'One row.', key: ['i'] }
    const from = await openStore(temporaryFolder(), { clock: realClock })
    await publish(before, from, {
      tables: [...lakeTables, { ...oldFigures, partitionByYearOf: null, leftOut: [] }],
    })
    const restored = await open((await restore(from)).path)
    const left = () =>
      restored.all(`select table_name, comment from duckdb_tables()
        where database_name = current_database() and table_name in ('people', 'old_figures') order by 1`)
    expect(await left()).toEqual([
      { table_name: 'old_figures', comment: 'One row. Key: i. Model: marts/old_figures.sql' },
      {
        table_name: 'people',
        comment: 'One row per person. Key: person_id. Model: marts/people.sql',
      },
    ])
    await build(restored)
    expect(await left()).toEqual([
      { table_name: 'people', comment: expect.stringMatching(/ Model: marts\/people\.sql$/) },
    ])
    expect(await restored.all('select profile_id from people')).toEqual([])
  })
})

describe('a restore', () => {
  it('refuses a snapshot with a column of a newer Jobtide', async () => {
    const newer = await emptyWarehouse()
    await newer.run(`
      alter table job_change_events add column person_pronouns varchar;
      insert into ops.coverage values ('org_1', 'joined', null, timestamptz '2024-06-01 00:00:00+00')`)
    const from = await openStore(temporaryFolder(), { clock: realClock })
    await publish(newer, from)
    newer.close()
    await expect(restore(from)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: 'the snapshot was made by a newer Jobtide: it has job_change_events.person_pronouns',
      hint: 'Restore it with Jobtide 0.1.0.',
    })
  })

  it('refuses a table that has a row fewer than the manifest says', async () => {
    const lake = await publishedLake()
    await forge(lake, ({ tables: [people] }) => {
      if (people !== undefined) people.rows += 1
    })
    await expect(restore(lake.store)).rejects.toMatchObject({
      exitCode: EXIT.checkFailed,
      message: 'the snapshot is damaged: people has 15002 rows where 15003 belong',
    })
  })

  it('replaces the leftovers of a killed restore', async () => {
    const lake = await publishedLake()
    const data = temporaryFolder()
    const path = join(data, 'jobtide.duckdb')
    writeFileSync(`${path}.restore`, 'half a database')
    writeFileSync(`${path}.restore.wal`, 'half a log')
    await restore(lake.store, { path })
    expect(readdirSync(data)).toEqual(['jobtide.duckdb'])
  })
})
