/**
 * Makes a warehouse from a published snapshot, under another name until every file has been proved and every table
 * counted. It lacks everything that snapshots leave out: journal, ledger, coverage, and how often and when last an
 * event was seen.
 */

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolders } from '../support/atomic-file.ts'
import { ConfigError, EXIT, JobtideError, asStorageError } from '../support/errors.ts'
import { loadedTables, schemasOfModels } from '../warehouse/catalog.ts'
import { removeDatabase, replaceDatabase } from '../warehouse/database-file.ts'
import { commentsOn } from '../warehouse/export-tables.ts'
import { quoteIdentifier, quotePath } from '../warehouse/sql-text.ts'
import { withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { DamagedSnapshotError } from './errors.ts'
import { listOfColumns } from './export.ts'
import { firstOf } from './guard.ts'
import { POINTER_KEY, totalsOf, type Manifest, type ManifestTable } from './manifest.ts'
import { withScratch, type ObjectSource, type Step } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'
import { verifySnapshot, withProven, type VerifyOptions } from './verify.ts'

export interface RestoreOptions {
  /** As {@link proveSnapshot} gives it. */
  readonly snapshot: { readonly store: ObjectStore; readonly manifest: Manifest }
  /** The warehouse file to make. The caller holds the lock of its folder. */
  readonly path: string
  /** Used by this alone: emptied before, removed after. */
  readonly scratchFolder: string
  /** Sets the comments of the tables of models, as a build would; called when all are filled. */
  readonly describe: (warehouse: Warehouse, tables: readonly ManifestTable[]) => Promise<void>
  /** Called with the path of the finished warehouse, closed, before it takes its name. */
  readonly beforeUse?: (path: string) => Promise<void>
  readonly onProgress?: (step: Step) => void
  /** Stops between two tables; there is no warehouse then. */
  readonly signal?: AbortSignal
}

/** As `verify` does, without what is next to it. @throws DamagedSnapshotError; PublishError if there is none */
export async function proveSnapshot(options: VerifyOptions): Promise<RestoreOptions['snapshot']> {
  const { store } = options
  const { snapshotId, manifest, findings } = await verifySnapshot(options)
  const own = findings.filter(({ kind, object }) => {
    const isPointer = object === POINTER_KEY && options.snapshotId !== null
    const isOther = object.startsWith('snapshots/') && !object.includes(`/${snapshotId}/`)
    return manifest === null || !(kind === 'current' || kind === 'delta' || isPointer || isOther)
  })
  if (manifest !== null && own.length === 0) return { store, manifest }
  const faults = own.map(({ object, message }) => `${object}: ${message}`)
  throw new DamagedSnapshotError(firstOf(faults, 3), { context: { findings: own } })
}

export function refuseExisting(path: string): void {
  if (!existsSync(path)) return
  throw new ConfigError(`there is a warehouse already: ${path}`, {
    hint: 'Name another folder with --data-dir, or move that file away.',
  })
}

/** @throws ConfigError if there is a warehouse, or a newer Jobtide made the snapshot; DamagedSnapshotError */
export async function restoreSnapshot(options: RestoreOptions) {
  const { path, scratchFolder, snapshot } = options
  const { manifest } = snapshot
  const tempPath = `${path}.restore`
  try {
    refuseExisting(path)
    makeFolders(dirname(path))
    removeDatabase(tempPath)
    await withScratch(scratchFolder, () => fill(options, tempPath))
    await options.beforeUse?.(tempPath)
    await replaceDatabase(path, tempPath)
    const tables = manifest.tables.map(({ name, rows }) => ({ name, rows }))
    return { snapshotId: manifest.snapshot_id, path, tables, rows: totalsOf(manifest).rows }
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    removeDatabase(tempPath)
  }
}

async function fill(options: RestoreOptions, path: string): Promise<void> {
  const { snapshot, describe, onProgress, signal } = options
  const { tables, versions } = snapshot.manifest
  await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
    // Row groups as they come: in order they would all be held until the first one is done.
    await warehouse.run('set preserve_insertion_order = false')
    const source = { ...options, store: snapshot.store }
    const schemas = schemasOfModels()
    for (const [at, table] of tables.entries()) {
      signal?.throwIfAborted()
      // A table that this version does not know stays in `main` until the next build drops it.
      const target = `${schemas.get(table.name) ?? 'main'}.${quoteIdentifier(table.name)}`
      await fillTable(warehouse, table, target, source, versions.jobtide)
      onProgress?.({ done: at + 1, total: tables.length, name: table.name })
    }
    await describe(warehouse, tables)
    await warehouse.run('checkpoint')
  })
}

/** Fills a table from its files, each of them proved. @throws DamagedSnapshotError also where it has other rows then */
async function fillTable(
  warehouse: Warehouse,
  table: ManifestTable,
  target: string,
  source: ObjectSource,
  jobtide: string,
): Promise<void> {
  const isLoaded = loadedTables.some(({ name }) => name === table.name)
  for (const [at, file] of table.files.entries()) {
    const onFault = (_: string, message: string) => {
      throw new DamagedSnapshotError(`${file.key}: ${message}`)
    }
    await withProven(source, file, onFault, async (path) => {
      const stored = `select ${listOfColumns(table.schema)} from read_parquet(${quotePath(path)}, hive_partitioning = false)`
      const rows = isLoaded ? await withLeftOut(warehouse, table, stored, jobtide) : stored
      const verb =
        isLoaded || at > 0
          ? `insert into ${target} by name`
          : `create or replace table ${target} as`
      await warehouse.run(`${verb} ${rows}`).catch((error: unknown) => {
        if (!(error instanceof JobtideError) || error.exitCode !== EXIT.defect) throw error
        throw new DamagedSnapshotError(`${table.name}: ${error.message}`, { cause: error })
      })
    })
  }
  const rows = await warehouse.number(`select count(*) from ${target}`)
  if (rows !== table.rows)
    throw new DamagedSnapshotError(`${table.name} has ${rows} rows where ${table.rows} belong`)
  if (isLoaded) return
  // The mark at the end lets the next build put its own table in place of this one, or drop it where it makes none.
  const text = `${table.grain} Key: ${table.key.join(', ')}. Model: marts/${table.name}.sql`
  await warehouse.run(commentsOn(target, { comment: text, columns: table.schema }))
}

// The reason why data stays out of snapshots, from their content: the closest that is certain.
const NEAREST: Readonly<Record<string, string>> = {
  attributes_seen_at: 'first_seen_at',
  last_seen_at: 'first_seen_at',
  last_run_id: 'first_run_id',
  times_seen: '1',
}

async function withLeftOut(
  warehouse: Warehouse,
  { name, schema }: ManifestTable,
  rows: string,
  jobtide: string,
): Promise<string> {
  const columns = await warehouse.all<{ name: string; is_nullable: boolean }>(
    `select column_name as name, is_nullable from duckdb_columns()
     where database_name = current_database() and schema_name = 'main' and table_name = $1`,
    [name],
  )
  const unknown = schema.find((column) => !columns.some((own) => own.name === column.name))
  if (unknown !== undefined) {
    const what = `the snapshot was made by a newer Jobtide: it has ${name}.${unknown.name}`
    throw new ConfigError(what, { hint: `Restore it with Jobtide ${jobtide}.` })
  }
  const added = columns
    .filter((own) => !own.is_nullable && !schema.some((column) => column.name === own.name))
    .map((own) => {
      const nearest = NEAREST[own.name]
      if (nearest === undefined) throw new DamagedSnapshotError(`${name} has no ${own.name}`)
      return `${nearest} as ${quoteIdentifier(own.name)}`
    })
  return `select ${['*', ...added].join(', ')} from (${rows})`
}
