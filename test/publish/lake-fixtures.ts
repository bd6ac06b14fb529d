/** Shared by tests of a whole snapshot: a lake of two snapshots, and functions that damage it. */

import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  POINTER_KEY,
  formatJson,
  parseManifest,
  pointerTo,
  snapshotKeys,
  viewsSql,
  type Manifest,
  type ManifestTable,
} from '../../src/publish/manifest.ts'
import type { ObjectStore } from '../../src/publish/store/object-store.ts'
import type { TableDefinition } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { definitionOf, manifestIn, newStore, publish } from './fixtures.ts'

/** A table in one file, and one with a file for each year, whose key does not contain the year. */
export const lakeTables: readonly TableDefinition[] = [
  definitionOf('people', { grain: 'One row per person.', key: ['person_id'] }),
  definitionOf('moves', { key: ['move_id'], partitionByYearOf: 'moved_at' }),
]

/** 15,000 people and 30,000 moves of 2019 to 2021. */
export async function lakeWarehouse(): Promise<Warehouse> {
  const warehouse = await memoryWarehouse()
  onTestFinished(() => warehouse.close())
  await warehouse.run(`
    create table people as
    select 'person_' || lpad(cast(i as varchar), 6, '0') as person_id, cast(i % 50 as integer) as age,
      md5(cast(i as varchar)) as name, cast(i as decimal(18, 3)) / 7 as score, i % 3 = 0 as is_known
    from range(15000) numbers(i);
    comment on column people.name is 'The name as written.';
    create table moves as
    select 'move_' || md5(cast(i as varchar)) as move_id, timestamptz '2019-01-01 00:00:00+00' + to_minutes(i * 52) as moved_at,
      case when i % 5 > 0 then 'person_' || lpad(cast(i % 15000 as varchar), 6, '0') end as person_id, md5('x' || i) as title
    from range(30000) numbers(i)`)
  return warehouse
}

/** A night: 20 people are a year older, 3 are gone, 5 came; 10 moves of 2020 have another title. */
export const aNight = `
  update people set age = age + 1 where person_id <= 'person_000019';
  delete from people where person_id >= 'person_014997';
  insert into people select 'person_1' || i, 30, 'New ' || i, 1.5, true from range(5) numbers(i);
  update moves set title = 'Corrected' where move_id in (
    select move_id from moves where year(moved_at) = 2020 order by move_id limit 10)`

/** A lake in a folder, or in the given store. */
export type Lake = Awaited<ReturnType<typeof publishedLake>>

let template: Promise<string> | undefined

/** A lake that was published twice, the second time after a night. */
export async function publishedLake(elsewhere?: ObjectStore) {
  template ??= publishTemplate()
  const from = newStore(await template)
  const root = temporaryFolder()
  const store = elsewhere ?? newStore(root)
  const isTold = (key: string) => key.startsWith('snapshots/') || key === POINTER_KEY
  for (const { key } of await from.list('')) {
    if (!isTold(key)) await store.put(key, readFileSync(from.urlOf(key)))
  }
  // As if it had been published there: manifests name their destination and the hash of the previous manifest.
  const second = await manifestIn(from)
  const previous = snapshotKeys(second.previous?.snapshot_id ?? '')
  const first = parseManifest(readFileSync(from.urlOf(previous.manifest)), '') as Manifest
  first.destination = store.destination
  second.destination = store.destination
  const { snapshot_id, manifest_sha256 } = pointerTo(first.snapshot_id, formatJson(first))
  second.previous = { snapshot_id, manifest_sha256 }
  for (const manifest of [first, second]) {
    const keys = snapshotKeys(manifest.snapshot_id)
    await store.put(keys.manifest, Buffer.from(formatJson(manifest)))
    await store.put(keys.views, Buffer.from(viewsSql(manifest)))
  }
  const text = formatJson(pointerTo(second.snapshot_id, formatJson(second)))
  await store.put(POINTER_KEY, Buffer.from(text))
  const manifest = () => manifestIn(store)
  return {
    root,
    store,
    /** The manifest that readers see. */
    manifest,
    async table(name: string): Promise<ManifestTable> {
      const found = (await manifest()).tables.find((table) => table.name === name)
      if (found === undefined) throw new Error(`there is no table ${name}`)
      return found
    },
    /** Path of an object. */
    path: (key: string) => join(root, key),
  }
}

async function publishTemplate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'jobtide-lake-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const warehouse = await lakeWarehouse()
  const store = newStore(folder)
  await publish(warehouse, store, { tables: lakeTables })
  await warehouse.run(aNight)
  await publish(warehouse, store, { tables: lakeTables })
  return folder
}

/** Turns one bit in the middle of an object. */
export function flipByte(lake: Lake, key: string): void {
  const bytes = readFileSync(lake.path(key))
  const at = bytes.length >> 1
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  overwrite(lake, key, bytes)
}

/** Replaces the bytes of an object. */
export function overwrite(lake: Lake, key: string, bytes: Uint8Array): void {
  rmSync(lake.path(key), { force: true })
  writeFileSync(lake.path(key), bytes)
}

/** Forges a snapshot: changes the manifest that readers see, and adapts views and pointer to it. */
export async function forge(lake: Lake, change: (manifest: Manifest) => void): Promise<void> {
  const manifest = await lake.manifest()
  const { snapshot_id: id } = manifest
  const keys = snapshotKeys(id)
  change(manifest)
  const text = formatJson(manifest)
  overwrite(lake, keys.manifest, Buffer.from(text))
  overwrite(lake, keys.views, Buffer.from(viewsSql(manifest)))
  const pointer = formatJson(pointerTo(id, text))
  overwrite(lake, POINTER_KEY, Buffer.from(pointer))
}

/** Replaces the last data file of a table and names the new one in the manifest; `sql` selects its rows. */
export async function replaceFile(lake: Lake, table: string, sql: string): Promise<void> {
  const path = join(temporaryFolder(), 'forged.parquet')
  const { schema } = await lake.table(table)
  const ids = schema.map(({ name, field_id: id }) => `${name}: ${id}`).join(', ')
  const engine = await memoryWarehouse()
  await engine.run(
    `copy (${sql}) to '${path}' (format parquet, compression zstd, field_ids {${ids}})`,
  )
  const bytes = readFileSync(path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await forge(lake, (manifest) => {
    const forged = manifest.tables.find(({ name }) => name === table)
    const file = forged?.files.at(-1)
    if (forged === undefined || file === undefined) throw new Error(`${table} has no file`)
    const key = `tables/${table}/${file.partition}/${sha256}.parquet`
    overwrite(lake, key, bytes)
    rmSync(lake.path(file.key))
    forged.bytes += bytes.length - file.bytes
    Object.assign(file, { key, sha256, bytes: bytes.length })
  })
}
