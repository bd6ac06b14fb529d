/**
 * A warehouse from a published snapshot: for when journal and warehouse are lost, or to work with a day of the past. It is
 * made under another name and takes its own when every table has been counted and compared with the manifest. What is not
 * in snapshots is not in it: journal, ledger, coverage, and how often and when last an event was seen.
 */

import { existsSync, mkdirSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { ConfigError, EXIT, JobtideError, asStorageError } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { MIB } from '../support/units.ts'
import { loadedTables } from '../warehouse/catalog.ts'
import { removeDatabase, replaceDatabase } from '../warehouse/database-file.ts'
import {
  quoteIdentifier,
  quoteText,
  withWarehouse,
  type Warehouse,
} from '../warehouse/warehouse.ts'
import { DamagedSnapshotError, fetchWhole } from './fetch-files.ts'
import { FileCache } from './file-cache.ts'
import { liveRowsSql } from './live-rows.ts'
import { POINTER_KEY, type Manifest, type ManifestFile, type ManifestTable } from './manifest.ts'
import { engineVersion, partitionsOf } from './partitions.ts'
import { withScratch } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'
import type { Finding } from './verify/verify-findings.ts'
import { verifySnapshot, type VerifyOptions } from './verify/verify.ts'

/** A snapshot that {@link proveSnapshot} found nothing wrong with. */
export interface ProvedSnapshot {
  readonly store: ObjectStore
  readonly manifest: Manifest
}

/** What a restore needs. */
export interface RestoreOptions {
  readonly snapshot: ProvedSnapshot
  /** The warehouse file to make. Whoever calls holds the lock of its folder. */
  readonly path: string
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  /** Says in comments what the tables of models hold, as a build would; called when all are filled. */
  readonly describe: (warehouse: Warehouse, tables: readonly ManifestTable[]) => Promise<void>
  /** Called with the path of the finished warehouse, closed, before it takes its name. */
  readonly beforeUse?: (path: string) => Promise<void>
  readonly onProgress?: (step: RestoreStep) => void
  /** Stops between two files; there is no warehouse then. */
  readonly signal?: AbortSignal
}

/** `done` of `total` data files are in the warehouse; the last one was `name`. */
export interface RestoreStep {
  readonly done: number
  readonly total: number
  readonly name: string
}

/** What a restore made. */
export interface RestoreReport {
  readonly snapshotId: string
  readonly path: string
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  readonly rows: number
  /** Whether rows were compared by content; else, written by another version of DuckDB, they were counted. */
  readonly isCompared: boolean
}

/**
 * Proves a snapshot before anything is made of it, as `verify` does; findings about what only stands beside it are left out.
 * @throws DamagedSnapshotError naming the first findings
 * @throws PublishError when there is no such snapshot, or the store refuses
 */
export async function proveSnapshot(options: VerifyOptions): Promise<ProvedSnapshot> {
  const { store } = options
  const { snapshotId, manifest, findings } = await verifySnapshot(options)
  const isBeside = ({ kind, object }: Finding) =>
    kind === 'stale' ||
    kind === 'extra' ||
    (object === POINTER_KEY && options.snapshotId !== null) ||
    (object.startsWith('snapshots/') && !object.startsWith(`snapshots/${snapshotId ?? ''}/`))
  const own = manifest === null ? findings : findings.filter((finding) => !isBeside(finding))
  if (manifest !== null && own.length === 0) return { store, manifest }
  const told = own.slice(0, FINDINGS_SHOWN).map(({ object, message }) => `${object}: ${message}`)
  if (own.length > told.length) told.push(`and ${own.length - told.length} more`)
  throw new DamagedSnapshotError(told.join('; '), { context: { findings: own } })
}

const FINDINGS_SHOWN = 3

/** @throws ConfigError when there is a warehouse already */
export function refuseExisting(path: string): void {
  if (!existsSync(path)) return
  throw new ConfigError(`there is a warehouse already: ${path}`, {
    hint: 'Name another folder with --data-dir, or move that file away.',
  })
}

/**
 * Makes a warehouse from a snapshot.
 * @throws ConfigError when there is a warehouse already, or a newer Jobtide made the snapshot
 * @throws DamagedSnapshotError when an object is not what the manifest says
 * @throws PublishError when the store refuses
 * @throws StorageError when the disk refuses
 */
export async function restoreSnapshot(options: RestoreOptions): Promise<RestoreReport> {
  const { path, scratchFolder } = options
  const { manifest } = options.snapshot
  const unborn = `${path}.restore`
  try {
    refuseExisting(path)
    mkdirSync(dirname(path), { recursive: true })
    removeDatabase(unborn)
    const isCompared = await withScratch(scratchFolder, () => fill(options, unborn))
    await options.beforeUse?.(unborn)
    await replaceDatabase(path, unborn)
    const tables = manifest.tables.map(({ name, rows }) => ({ name, rows }))
    const rows = sum(tables.map((table) => table.rows))
    return { snapshotId: manifest.snapshot_id, path, tables, rows, isCompared }
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    removeDatabase(unborn)
  }
}

/** @returns whether rows were compared by content */
async function fill(options: RestoreOptions, path: string): Promise<boolean> {
  const memoryLimit = `${Math.floor(Math.min(MOST_MEMORY, totalmem() / 2) / MIB)}MiB`
  return withWarehouse({ path, mode: 'write', memoryLimit }, async (warehouse) => {
    // Row groups as they come: in order they would all be held until the first one is done.
    await warehouse.run('set preserve_insertion_order = false')
    const isCompared = await new Restore(options, warehouse).run()
    await warehouse.run('checkpoint')
    return isCompared
  })
}

// A new file would get what suits its size, and that is nothing yet: half a million events ran out of 192 MiB.
const MOST_MEMORY = 1_536 * MIB

// What stays out of snapshots, from what is in them: the nearest that is surely true.
const NEAREST: ReadonlyMap<string, string> = new Map([
  ['attributes_seen_at', 'first_seen_at'],
  ['last_seen_at', 'first_seen_at'],
  ['last_run_id', 'first_run_id'],
  ['times_seen', '1'],
])

interface WarehouseColumn {
  readonly name: string
  readonly is_nullable: boolean
}

class Restore {
  readonly #options: RestoreOptions
  readonly #warehouse: Warehouse
  readonly #files: FileCache
  #done = 0

  constructor(options: RestoreOptions, warehouse: Warehouse) {
    this.#options = options
    this.#warehouse = warehouse
    const { snapshot, scratchFolder, signal } = options
    this.#files = new FileCache(snapshot.store, join(scratchFolder, 'files'), signal)
  }

  /** Fills every table. @returns whether their content was compared */
  async run(): Promise<boolean> {
    const { snapshot, describe } = this.#options
    const { manifest } = snapshot
    for (const table of manifest.tables) await this.#fill(table)
    await describe(this.#warehouse, manifest.tables)
    const isSameEngine = (await engineVersion(this.#warehouse)) === manifest.versions.duckdb
    for (const table of manifest.tables) await this.#compare(table, isSameEngine)
    return isSameEngine
  }

  async #fill(table: ManifestTable): Promise<void> {
    const { snapshot, signal, onProgress } = this.#options
    const { manifest } = snapshot
    const isLoaded = loadedTables.some(({ name }) => name === table.name)
    const total = sum(manifest.tables.map(({ files }) => files.length))
    const list =
      table.deletion_vector === null ? null : await fetchWhole(this.#files, table.deletion_vector)
    let isMade = isLoaded
    for (const file of table.files) {
      signal?.throwIfAborted()
      const path = await fetchWhole(this.#files, file)
      const rows = liveRowsSql({
        table,
        urlOf: (key) => (key === file.key ? path : (list ?? key)),
        files: [file],
      })
      if (!isMade) await this.#make(table, rows)
      isMade = true
      await this.#insert(table, file, isLoaded ? await this.#loadedRows(table, rows) : rows)
      this.#files.keepOnly(table.deletion_vector === null ? [] : [table.deletion_vector.key])
      this.#done += 1
      onProgress?.({ done: this.#done, total, name: file.key })
    }
    this.#files.keepOnly([])
    if (!isLoaded) await this.#comment(table)
  }

  /** Makes an empty table with the columns of `rows`. */
  async #make({ name }: ManifestTable, rows: string): Promise<void> {
    await this.#warehouse.run(
      `create or replace table main.${quoteIdentifier(name)} as select * from (${rows}) limit 0`,
    )
  }

  async #insert({ name }: ManifestTable, file: ManifestFile, rows: string): Promise<void> {
    const inserted = await this.#warehouse
      .all<{ Count: bigint }>(`insert into main.${quoteIdentifier(name)} by name ${rows}`)
      .catch((error: unknown) => {
        if (!(error instanceof JobtideError) || error.exitCode !== EXIT.defect) throw error
        throw new DamagedSnapshotError(`${file.key}: ${error.message}`, { cause: error })
      })
    const count = Number(inserted[0]?.Count ?? 0)
    const said = file.rows - file.deletes
    if (count === said) return
    throw new DamagedSnapshotError(`${file.key}: it has ${count} rows that count, and not ${said}`)
  }

  /** The rows of a loaded table with what snapshots leave out. */
  async #loadedRows({ name, schema }: ManifestTable, rows: string): Promise<string> {
    const columns = await this.#warehouse.all<WarehouseColumn>(
      `select column_name as name, is_nullable from duckdb_columns()
       where database_name = current_database() and schema_name = 'main' and table_name = $1`,
      [name],
    )
    const published = new Set(schema.map((column) => column.name))
    const unknown = [...published].find((column) => !columns.some((own) => own.name === column))
    if (unknown !== undefined) {
      throw new ConfigError(`the snapshot was made by a newer Jobtide: it has ${name}.${unknown}`, {
        hint: `Restore it with Jobtide ${this.#options.snapshot.manifest.versions.jobtide}.`,
      })
    }
    const added = columns
      .filter((column) => !published.has(column.name) && !column.is_nullable)
      .map((column) => {
        const nearest = NEAREST.get(column.name)
        if (nearest !== undefined) return `${nearest} as ${quoteIdentifier(column.name)}`
        throw new DamagedSnapshotError(`${name} has no ${column.name}`)
      })
    return `select ${['*', ...added].join(', ')} from (${rows})`
  }

  // The mark at the end lets the next build put its own table in place of this one, or drop it where it makes none.
  async #comment({ name, grain, key, schema }: ManifestTable): Promise<void> {
    const table = `main.${quoteIdentifier(name)}`
    const text = `${grain} Key: ${key.join(', ')}. Model: marts/${name}.sql`
    const columns = schema
      .filter(({ comment }) => comment !== null)
      .map((column) => {
        const target = `${table}.${quoteIdentifier(column.name)}`
        return `comment on column ${target} is ${quoteText(column.comment ?? '')};`
      })
    await this.#warehouse.run(
      `comment on table ${table} is ${quoteText(text)};\n${columns.join('\n')}`,
    )
  }

  async #compare(table: ManifestTable, isSameEngine: boolean): Promise<void> {
    const { name, grain, key, schema, partitions, partition_by: split } = table
    const definition = {
      name,
      grain,
      key,
      partitionByYearOf: split?.column ?? null,
      leftOut: [],
    }
    const source = `main.${quoteIdentifier(name)}`
    const found = await partitionsOf(this.#warehouse, definition, schema, source)
    const rows = sum(found.map((partition) => partition.rows))
    if (rows !== table.rows) {
      throw new DamagedSnapshotError(`${name} has ${rows} rows, and not ${table.rows}`)
    }
    for (const partition of partitions) {
      const own = found.find((one) => one.name === partition.name)
      const isSame =
        own?.rows === partition.rows &&
        (!isSameEngine ||
          partition.fingerprint === null ||
          own.fingerprint === partition.fingerprint)
      if (!isSame) {
        throw new DamagedSnapshotError(`${name} ${partition.name} has other rows than it had`)
      }
    }
  }
}
