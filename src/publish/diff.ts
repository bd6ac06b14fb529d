/**
 * What changed between two snapshots, of one destination or of two: for each table the rows that were added, removed and
 * changed, by a full join over the key, and the bytes. Files that hold the same rows in both are not read.
 */

import { join } from 'node:path'
import { ConfigError } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { DamagedSnapshotError, fetchWhole, type NamedObject } from './fetch-files.ts'
import { FileCache } from './file-cache.ts'
import { liveRowsSql, localRows, locatedRowsSql } from './live-rows.ts'
import { objectsOf, type Manifest, type ManifestTable } from './manifest.ts'
import { withScratch, withScratchEngine } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'

/** What a comparison needs. */
export interface DiffOptions {
  readonly before: { readonly store: ObjectStore; readonly manifest: Manifest }
  readonly after: { readonly store: ObjectStore; readonly manifest: Manifest }
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  /** Compare only this table, and show so many of its rows. */
  readonly rows?: { readonly table: string; readonly limit: number }
  /** Called after each table: `done` of `total`, the last one was `name`. */
  readonly onProgress?: (step: { done: number; total: number; name: string }) => void
  /** Stops between two tables. */
  readonly signal?: AbortSignal
}

/** What changed in one table. */
export interface TableDiff {
  readonly name: string
  /** Null: the table is not there. */
  readonly rows_before: number | null
  readonly rows_after: number | null
  /** Null, all three: rows cannot be told apart, because the key is another one. */
  readonly rows_added: number | null
  readonly rows_removed: number | null
  /** The same key, other values. */
  readonly rows_changed: number | null
  /** Bytes of objects that only the snapshot after has, and only the one before. */
  readonly bytes_added: number
  readonly bytes_removed: number
  readonly columns_added: readonly string[]
  readonly columns_removed: readonly string[]
  /** `column: type before → type after`; these are compared as text. */
  readonly columns_retyped: readonly string[]
}

/** One row that changed. */
export interface ChangedRow {
  readonly change: 'added' | 'removed' | 'changed'
  /** Column → value, as text where JSON has no such type. */
  readonly key: Readonly<Record<string, unknown>>
  /** Of a changed row the columns that changed, of others all; null on the side that does not have the row. */
  readonly columns: readonly {
    readonly name: string
    readonly before: unknown
    readonly after: unknown
  }[]
}

/** One table in one of the snapshots. */
interface Side {
  readonly table: ManifestTable
  readonly duckdb: string
  readonly files: FileCache
}

/** The columns that both sides have. */
interface Columns {
  readonly key: readonly string[]
  readonly others: readonly string[]
  /** Compared as text. */
  readonly retyped: ReadonlySet<string>
}

/**
 * Compares two snapshots.
 * @returns the tables, and the first changed rows by key where they were asked for
 * @throws ConfigError when neither has the table whose rows are asked for
 * @throws DamagedSnapshotError when a file is missing, is not as it was published, or cannot be read
 * @throws PublishError when a store refuses
 */
export async function diffSnapshots(
  options: DiffOptions,
): Promise<{ tables: TableDiff[]; rows: ChangedRow[] | null }> {
  const { before, after, scratchFolder, rows: wanted, onProgress, signal } = options
  const names = [...after.manifest.tables, ...before.manifest.tables].map(({ name }) => name)
  const all = [...new Set(names)].filter((name) => wanted === undefined || name === wanted.table)
  if (wanted !== undefined && all.length === 0) {
    throw new ConfigError(`neither snapshot has a table ${wanted.table}`, {
      hint: `Tables: ${[...new Set(names)].toSorted().join(', ')}.`,
    })
  }
  const tables: TableDiff[] = []
  let rows: ChangedRow[] | null = null
  await withScratch(scratchFolder, () =>
    withScratchEngine(scratchFolder, async (warehouse) => {
      for (const [at, name] of all.entries()) {
        signal?.throwIfAborted()
        const sideOf = ({ store, manifest }: DiffOptions['before'], folder: string) => {
          const table = manifest.tables.find((one) => one.name === name)
          const files = new FileCache(store, join(scratchFolder, folder), signal)
          return table && { table, duckdb: manifest.versions.duckdb, files }
        }
        const [a, b] = [sideOf(before, 'before'), sideOf(after, 'after')]
        const found = await compare(warehouse, a, b, wanted?.limit ?? 0)
        tables.push({ name, ...describe(a?.table, b?.table), ...found.counts })
        if (wanted !== undefined) rows = found.rows
        for (const side of [a, b]) side?.files.keepOnly([])
        onProgress?.({ done: at + 1, total: all.length, name })
      }
    }),
  )
  return { tables, rows }
}

function describe(before: ManifestTable | undefined, after: ManifestTable | undefined) {
  const typesOf = (table: ManifestTable | undefined) =>
    new Map((before && after ? table : undefined)?.schema.map(({ name, type }) => [name, type]))
  const [was, is] = [typesOf(before), typesOf(after)]
  const bytesOnlyIn = (table: ManifestTable | undefined, other: ManifestTable | undefined) => {
    const [own, others] = [table, other].map((of) => objectsOf({ tables: of ? [of] : [] }))
    const known = new Set(others?.map(({ sha256 }) => sha256))
    return sum((own ?? []).filter(({ sha256 }) => !known.has(sha256)).map(({ bytes }) => bytes))
  }
  return {
    rows_before: before?.rows ?? null,
    rows_after: after?.rows ?? null,
    bytes_added: bytesOnlyIn(after, before),
    bytes_removed: bytesOnlyIn(before, after),
    columns_added: [...is.keys()].filter((name) => !was.has(name)),
    columns_removed: [...was.keys()].filter((name) => !is.has(name)),
    columns_retyped: [...is].flatMap(([name, type]) => {
      const old = was.get(name)
      return old === undefined || old === type ? [] : [`${name}: ${old} → ${type}`]
    }),
  }
}

type Counts = Pick<TableDiff, 'rows_added' | 'rows_removed' | 'rows_changed'>

async function compare(
  warehouse: Warehouse,
  before: Side | undefined,
  after: Side | undefined,
  limit: number,
): Promise<{ counts: Counts; rows: ChangedRow[] }> {
  const [a, b] = [before ?? after, after ?? before]
  const counts = { rows_added: 0, rows_removed: 0, rows_changed: 0 }
  if (a === undefined || b === undefined) return { counts, rows: [] }
  const columns = columnsOf(a.table, b.table)
  if (columns === null) {
    return { counts: { rows_added: null, rows_removed: null, rows_changed: null }, rows: [] }
  }
  if (before === undefined || after === undefined) {
    counts.rows_added = after?.table.rows ?? 0
    counts.rows_removed = before?.table.rows ?? 0
    if (limit === 0) return { counts, rows: [] }
  }
  const rowsA = before === undefined ? null : await rowsToCompare(before, after)
  const rowsB = after === undefined ? null : await rowsToCompare(after, before)
  const columnsFrom = rowsA ?? rowsB
  if (columnsFrom === null) return { counts, rows: [] }
  for (const [name, rows] of [['before', rowsA] as const, ['after', rowsB] as const]) {
    await stage(warehouse, name, columns, rows ?? `select * from (${columnsFrom}) limit 0`)
  }
  const [found] = await warehouse.all<Record<keyof Counts, bigint>>(
    `select count(*) filter (where before.row_hash is null) as rows_added,
       count(*) filter (where after.row_hash is null) as rows_removed,
       count(*) filter (where before.row_hash <> after.row_hash) as rows_changed
     from ${joined(columns)}`,
  )
  for (const name of ['rows_added', 'rows_removed', 'rows_changed'] as const) {
    counts[name] = Number(found?.[name])
  }
  return { counts, rows: limit === 0 ? [] : await changedRows(warehouse, columns, limit) }
}

function columnsOf(before: ManifestTable, after: ManifestTable): Columns | null {
  const types = new Map(before.schema.map(({ name, type }) => [name, type]))
  const common = after.schema.filter(({ name }) => types.has(name))
  const names = common.map(({ name }) => name)
  const { key } = after
  if (before.key.toSorted().join() !== key.toSorted().join()) return null
  if (!key.every((name) => names.includes(name))) return null
  const retyped = common.filter(({ name, type }) => types.get(name) !== type)
  return {
    key,
    others: names.filter((name) => !key.includes(name)),
    retyped: new Set(retyped.map(({ name }) => name)),
  }
}

/**
 * A select of the rows of `side` that `other` may not have; null where there are none. Partitions with the same fingerprint
 * hold the same rows. Of a file that is in both, only rows matter that are deleted in the other.
 */
async function rowsToCompare(side: Side, other: Side | undefined): Promise<string | null> {
  const { table } = side
  const fetch = (object: NamedObject) => fetchWhole(side.files, object)
  const schemaOf = ({ schema }: ManifestTable) =>
    schema.map(({ name, type }) => `${name} ${type}`).join()
  if (other === undefined || schemaOf(table) !== schemaOf(other.table)) {
    return liveRowsSql(await localRows(table, table.files, fetch))
  }
  const isEqual = new Set(
    table.partitions.flatMap(({ name, rows, fingerprint }) => {
      const known = other.table.partitions.find((one) => one.name === name)
      // The hash of a row may differ between versions of the engine.
      const isSameEngine = side.duckdb === other.duckdb
      return isSameEngine && known?.fingerprint === fingerprint && known.rows === rows ? name : []
    }),
  )
  const known = new Map(other.table.files.map((file) => [file.sha256, file]))
  const vector = other.table.deletion_vector
  const isSameVector = vector?.sha256 === table.deletion_vector?.sha256
  const files = table.files.filter(({ partition, sha256 }) => {
    const isElsewhere = known.has(sha256)
    const hasDeletes = (known.get(sha256)?.deletes ?? 0) > 0
    return !isEqual.has(partition) && (!isElsewhere || (!isSameVector && hasDeletes))
  })
  if (files.length === 0) return null
  const source = await localRows(table, files, fetch)
  const shared = files.filter(({ sha256 }) => known.has(sha256))
  if (shared.length === 0 || vector === null) return liveRowsSql(source)
  const hashes = shared.map(({ sha256 }) => quoteText(sha256)).join(', ')
  const path = quoteText(await fetchWhole(other.files, vector))
  return `select * from (${locatedRowsSql(source)}) where stored_in not in (${hashes})
    or (stored_in, stored_at) in (select file, position from read_parquet(${path}, hive_partitioning = false))`
}

async function stage(
  warehouse: Warehouse,
  side: 'before' | 'after',
  { key, others, retyped }: Columns,
  rows: string,
): Promise<void> {
  const told = (name: string) =>
    retyped.has(name) ? `cast(${quoteIdentifier(name)} as varchar)` : quoteIdentifier(name)
  const columns = [...key, ...others].map((name) => `${told(name)} as ${quoteIdentifier(name)}`)
  // The text makes it a hash also where there is nothing but the key.
  const hash = `hash(${["'row'", ...others.map(told)].join(', ')}) as row_hash`
  await warehouse
    .run(
      `create or replace temp table diff_${side} as select ${columns.join(', ')}, ${hash} from (${rows})`,
    )
    .catch((error: unknown) => {
      if (!(error instanceof SqlError)) throw error
      throw new DamagedSnapshotError(`a file cannot be read: ${error.message}`, error)
    })
}

function joined({ key }: Columns): string {
  return `diff_before as before full join diff_after as after using (${key.map(quoteIdentifier).join(', ')})`
}

async function changedRows(
  warehouse: Warehouse,
  columns: Columns,
  limit: number,
): Promise<ChangedRow[]> {
  const { key, others } = columns
  const keys = key.map(quoteIdentifier)
  const { rows } = await warehouse.table(
    `select case when before.row_hash is null then 'added' when after.row_hash is null then 'removed' else 'changed' end,
       ${keys.map((name) => `coalesce(before.${name}, after.${name})`).join(', ')}
       ${others.map((name) => `, before.${quoteIdentifier(name)}, after.${quoteIdentifier(name)}`).join('')}
     from ${joined(columns)}
     where before.row_hash is distinct from after.row_hash
     order by ${keys.map((_, at) => at + 2).join(', ')}
     limit ${limit}`,
  )
  return rows.map(([change, ...values]) => {
    const ofKey = values.splice(0, key.length)
    const found = others.map((name, at) => {
      return { name, before: values[2 * at], after: values[2 * at + 1] }
    })
    return {
      change: change as ChangedRow['change'],
      key: Object.fromEntries(key.map((name, at) => [name, ofKey[at]])),
      columns:
        change === 'changed'
          ? found.filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after))
          : found,
    }
  })
}
