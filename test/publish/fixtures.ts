/** What the publish tests share: a small warehouse over several years, and a publish with defaults. */

import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { expect } from 'vitest'
import {
  POINTER_KEY,
  isOfThisFormat,
  snapshotKeys,
  withoutOwner,
  readCurrent,
  type Manifest,
  type ManifestTable,
} from '../../src/publish/manifest.ts'
import { publishSnapshot, type PublishOptions } from '../../src/publish/publish.ts'
import { openFolderStore } from '../../src/publish/store/folder-store.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import { isoInstant, realClock } from '../../src/support/clock.ts'
import { silentLogger } from '../../src/support/logger.ts'
import { newUlid } from '../../src/support/ulid.ts'
import { loadedTables, type TableDefinition } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { insertEvents, memoryWarehouse, type GivenEvent } from '../helpers/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { through } from '../helpers/through.ts'

/** A table to publish, by default in one file and sorted by `id`. */
export function definitionOf(name: string, fields: Partial<TableDefinition> = {}): TableDefinition {
  const grain = 'One row per thing.'
  return { name, grain, key: ['id'], partitionByYearOf: null, leftOut: [], ...fields }
}

/** The published tables: one with a file for each year, and one in a single file. */
export const snapshotTables: readonly TableDefinition[] = [
  ...loadedTables.filter(({ name }) => name === 'job_change_events'),
  definitionOf('person_organizations', { key: ['profile_id', 'organization_id'] }),
]

/** An empty store in a folder, by default in a new one. */
export function newStore(folder = temporaryFolder()): ObjectStore {
  return openFolderStore(folder, realClock)
}

/** The manifest of the snapshot that readers see. */
export async function manifestIn(store: ObjectStore): Promise<Manifest> {
  const current = await readCurrent(store)
  if (current === null) throw new Error('nothing was published')
  if (!isOfThisFormat(current.manifest)) throw new Error('it is of an older format')
  return current.manifest
}

const TYPES = ['joined', 'left', 'title_change'] as const

/** 300 events in the years 2019 to 2024, 50 a year, with text that needs quoting and with nulls. */
function eventsOfSixYears(): GivenEvent[] {
  return Array.from({ length: 300 }, (_, index) => ({
    profile_id: `person_${index % 97}`,
    organization_id: `org_${index % 7}`,
    event_type: TYPES[index % 3] ?? 'joined',
    changed_at: isoInstant(
      Date.UTC(2019 + (index % 6), index % 12, 1 + (index % 28), 1, 2, 3, index),
    ),
    title_current: index % 5 === 0 ? null : `Head of "R&D", it's №${index}`,
    person_full_name: index % 4 === 0 ? null : `Zoë Ünal ${index}`,
    detection_lag_days: index % 9 === 0 ? null : index % 31,
  }))
}

/** A warehouse without rows in which person_organizations was built. */
export async function emptyWarehouse(options: { threads?: number } = {}): Promise<Warehouse> {
  const warehouse = await memoryWarehouse(options)
  await warehouse.run(
    'create table person_organizations (profile_id varchar, organization_id varchar, is_current boolean, events bigint)',
  )
  return warehouse
}

/** A warehouse with those events, 20 pairs, coverage of 3 organisations and a ledger of 40 credits. */
export async function smallWarehouse(options: { threads?: number } = {}): Promise<Warehouse> {
  const warehouse = await emptyWarehouse(options)
  await insertEvents(warehouse, eventsOfSixYears())
  await warehouse.run(`
    insert into person_organizations
    select 'person_' || i, 'org_' || (i % 7), i % 2 = 0, i from range(20) numbers(i);
    insert into ops.coverage values
      ('org_1', 'joined', null, timestamptz '2024-06-01 00:00:00+00'),
      ('org_2', 'joined', timestamptz '2023-01-01 00:00:00+00', timestamptz '2024-06-02 00:00:00+00'),
      ('org_3', 'joined', timestamptz '2022-01-01 00:00:00+00', timestamptz '2022-02-01 00:00:00+00'),
      ('org_3', 'joined', timestamptz '2023-01-01 00:00:00+00', timestamptz '2024-05-01 00:00:00+00');
    insert into ops.pages (run_id, batch_id, page, request_id, requested_at, outcome, credits_used)
    select case when i = 3 then 'run_2' else 'run_1' end, 's', i, 'r' || i,
      timestamptz '2024-06-01 00:00:00+00', 'received', 10
    from range(4) numbers(i);
  `)
  return warehouse
}

/** The owner of the snapshots of a test: one journal without erasures. */
export const oneJournal = {
  journalId: '01M82GZFCDS2H9RXZ13JAAZES0',
  notKept: { people: 0, events_before: null, list: null },
  lists: [],
} as const

/** Publishes those tables; `options` overrides any part. */
export async function publish(
  warehouse: Warehouse,
  store: ObjectStore,
  { scratchFolder = join(temporaryFolder(), 'scratch'), ...options }: Partial<PublishOptions> = {},
) {
  return publishSnapshot({
    warehouse,
    store,
    tables: snapshotTables,
    scratchFolder,
    clock: realClock,
    snapshotId: newUlid(realClock.now()),
    runId: 'run_2',
    splitAboveRows: 0,
    ...oneJournal,
    version: '0.1.0',
    logger: silentLogger,
    ...options,
  })
}

/** The `views.sql` of the snapshot that readers see; of a bucket it reads copies in a new folder. */
async function viewsOf(store: ObjectStore): Promise<string> {
  const { snapshot_id: id } = await manifestIn(store)
  const text = Buffer.from((await store.get(snapshotKeys(id).views))?.bytes ?? []).toString()
  if (store.localPath(POINTER_KEY) !== null) return text
  const folder = temporaryFolder()
  for (const { key } of await store.list('tables/')) {
    mkdirSync(dirname(join(folder, key)), { recursive: true })
    await store.download(key, join(folder, key))
  }
  return text.replace(store.destination, folder)
}

/**
 * Expects that readers of `views.sql` see the columns and rows of the warehouse's tables, except those left out of
 * snapshots.
 */
export async function expectReadersToSee(
  warehouse: Warehouse,
  store: ObjectStore,
  definitions: readonly TableDefinition[] = snapshotTables,
): Promise<void> {
  const views = (await viewsOf(store)).replaceAll('replace view ', 'replace view reader.')
  await warehouse.run(`create schema if not exists reader; ${views}`)
  for (const { name, leftOut, schema = 'main' } of definitions) {
    const left = leftOut.length === 0 ? '' : `exclude (${leftOut.join(', ')})`
    const [now, seen] = [`select * ${left} from ${schema}.${name}`, `select * from reader.${name}`]
    expect(await columnsOf(warehouse, seen), name).toEqual(await columnsOf(warehouse, now))
    const different = `from ((${now} except all ${seen}) union all (${seen} except all ${now})) limit 3`
    expect(await warehouse.all(different), name).toEqual([])
  }
  await warehouse.run('drop schema reader cascade')
}

async function columnsOf(warehouse: Warehouse, select: string) {
  return warehouse.all(`select column_name, column_type from (describe ${select})`)
}

/** The keys of the data files in a store. */
export async function parquetKeys(store: ObjectStore): Promise<string[]> {
  const keys = (await store.list('tables/')).map(({ key }) => key)
  return keys.filter((key) => !key.includes('/_delta_log/'))
}

/** The same without the ids of the snapshots that wrote them: equal for two publishes of the same rows. */
export async function contentKeys(store: ObjectStore): Promise<string[]> {
  return (await parquetKeys(store)).map(withoutOwner).toSorted()
}

/** The rows of a Parquet object, read without DuckDB. */
export async function rowsIn(store: ObjectStore, key: string): Promise<Record<string, unknown>[]> {
  const object = await store.get(key)
  const file = new Uint8Array(object?.bytes ?? []).buffer
  return parquetReadObjects({ file, compressors })
}

/** The rows of a table, read without DuckDB. */
export async function readByHand(
  store: ObjectStore,
  { files }: ManifestTable,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  for (const { key } of files) rows.push(...(await rowsIn(store, key)))
  return rows
}

/**
 * A store whose owner dies before or after operation `at` (from 1). Nothing works after that. `operations()` counts
 * them.
 */
export function dyingStore(store: ObjectStore, at: number, when: 'before' | 'after') {
  let count = 0
  const dying = through(store, async (_, __, work) => {
    count += 1
    if (count > at || (count === at && when === 'before')) throw new Error('killed')
    const result = await work()
    if (count === at) throw new Error('killed')
    return result
  })
  return { store: dying, operations: () => count }
}

/** Stores that delay the replacement of the pointer until `writers` callers ask for it, through any of them. */
export function meetAtPointer(writers: number): (store: ObjectStore) => ObjectStore {
  let waiting = 0
  let open: () => void = () => undefined
  const allHere = new Promise<void>((resolve) => {
    open = resolve
  })
  return (store) =>
    through(store, async (name, key, work) => {
      if (name === 'replace' && key === POINTER_KEY) {
        waiting += 1
        if (waiting === writers) open()
        await allHere
      }
      return work()
    })
}
