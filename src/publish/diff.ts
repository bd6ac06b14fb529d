/**
 * What changed between two snapshots, of one destination or of two: for each table how many rows were added, removed and
 * changed, by a full join over the key. Tables whose partitions have the same fingerprints in both are not read.
 */

import { join } from 'node:path'
import { ConfigError } from '../support/errors.ts'
import { stableJson } from '../support/json.ts'
import { SqlError } from '../warehouse/errors.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { columnText } from './columns.ts'
import { DamagedSnapshotError, FileCache } from './file-cache.ts'
import { liveRowsSql, localRows } from './live-rows.ts'
import type { ManifestTable } from './manifest.ts'
import type { OpenSnapshot } from './read-snapshot.ts'
import { withScratchEngine, type Step } from './scratch.ts'

export interface DiffOptions {
  readonly before: OpenSnapshot
  readonly after: OpenSnapshot
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  /** Compare only this table, and show so many of its rows. */
  readonly rows?: { readonly table: string; readonly limit: number }
  readonly onProgress?: (step: Step) => void
  readonly signal?: AbortSignal
}

export interface TableDiff {
  readonly name: string
  /** Null: the table is not there. */
  readonly rows_before: number | null
  readonly rows_after: number | null
  /** Null, all three: rows cannot be told apart, because the key is another one. */
  readonly rows_added: number | null
  readonly rows_removed: number | null
  /** The same key, other values in columns that both have. */
  readonly rows_changed: number | null
  /** `column TYPE` of the columns that only one has, by name and type. */
  readonly columns_added: readonly string[]
  readonly columns_removed: readonly string[]
}

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

/**
 * Compares two snapshots.
 * @returns the tables, and the first changed rows by key where they were asked for and both have the table
 * @throws ConfigError when neither has the table whose rows are asked for
 * @throws DamagedSnapshotError when a file is missing, is not as it was published, or cannot be read
 */
export async function diffSnapshots(
  options: DiffOptions,
): Promise<{ tables: TableDiff[]; rows: ChangedRow[] | null }> {
  const { before, after, scratchFolder, rows: wanted, onProgress, signal } = options
  const all = [...after.manifest.tables, ...before.manifest.tables].map(({ name }) => name)
  const names = [...new Set(all)].filter((name) => wanted === undefined || name === wanted.table)
  if (wanted !== undefined && names.length === 0) {
    throw new ConfigError(`neither snapshot has a table ${wanted.table}`, {
      hint: `Tables: ${[...new Set(all)].toSorted().join(', ')}.`,
    })
  }
  const tables: TableDiff[] = []
  let rows: readonly ChangedRow[] | null = null
  await withScratchEngine(scratchFolder, async (warehouse) => {
    for (const name of names) {
      signal?.throwIfAborted()
      const sideOf = ({ store, manifest }: OpenSnapshot): Side => ({
        table: manifest.tables.find((table) => table.name === name),
        duckdb: manifest.versions.duckdb,
        files: new FileCache(store, join(scratchFolder, 'files'), signal),
      })
      const [a, b] = [sideOf(before), sideOf(after)]
      const found = await compare(warehouse, a, b, wanted?.limit ?? 0)
      tables.push({
        name,
        rows_before: a.table?.rows ?? null,
        rows_after: b.table?.rows ?? null,
        ...found.counts,
        columns_added: columnsOnlyIn(b.table, a.table),
        columns_removed: columnsOnlyIn(a.table, b.table),
      })
      if (wanted !== undefined) rows = found.rows
      onProgress?.({ done: tables.length, total: names.length, name })
    }
  })
  return { tables, rows }
}

interface Side {
  readonly table: ManifestTable | undefined
  readonly duckdb: string
  readonly files: FileCache
}

function columnsOnlyIn(table: ManifestTable | undefined, other: ManifestTable | undefined) {
  if (table === undefined || other === undefined) return []
  const known = new Set(other.schema.map(columnText))
  return table.schema.map(columnText).filter((column) => !known.has(column))
}

const COUNTS = ['rows_added', 'rows_removed', 'rows_changed'] as const

type Counts = Pick<TableDiff, (typeof COUNTS)[number]>

async function compare(
  warehouse: Warehouse,
  before: Side,
  after: Side,
  limit: number,
): Promise<{ counts: Counts; rows: readonly ChangedRow[] }> {
  const [a, b] = [before.table, after.table]
  const none = { rows_added: 0, rows_removed: 0, rows_changed: 0 }
  if (a === undefined || b === undefined) {
    const counts = { ...none, rows_added: b?.rows ?? 0, rows_removed: a?.rows ?? 0 }
    return { counts, rows: [] }
  }
  const told = ({ key, schema }: ManifestTable) =>
    schema
      .filter(({ name }) => key.includes(name))
      .map(columnText)
      .toSorted()
      .join()
  if (told(a) !== told(b)) {
    return { counts: { rows_added: null, rows_removed: null, rows_changed: null }, rows: [] }
  }
  // The hash of a row may differ between versions of the engine.
  const isSameEngine = before.duckdb === after.duckdb
  if (isSameEngine && stableJson(a.partitions) === stableJson(b.partitions)) {
    return { counts: none, rows: [] }
  }
  const known = new Set(a.schema.map(columnText))
  const common = b.schema.filter((column) => known.has(columnText(column)))
  const others = common.map(({ name }) => name).filter((name) => !b.key.includes(name))
  await stage(warehouse, 'before', before.files, a, others)
  await stage(warehouse, 'after', after.files, b, others)
  const joined = `diff_before as before full join diff_after as after using (${b.key.map(quoteIdentifier).join(', ')})`
  const [found] = await warehouse.all<Record<keyof Counts, bigint>>(
    `select count(*) filter (where before.row_hash is null) as rows_added,
       count(*) filter (where after.row_hash is null) as rows_removed,
       count(*) filter (where before.row_hash <> after.row_hash) as rows_changed
     from ${joined}`,
  )
  const counts = Object.fromEntries(COUNTS.map((name) => [name, Number(found?.[name])])) as Counts
  return {
    counts,
    rows: limit === 0 ? [] : await changedRows(warehouse, b.key, others, joined, limit),
  }
}

/** Puts the live rows of a table into a temporary one, and their files away. */
async function stage(
  warehouse: Warehouse,
  side: 'before' | 'after',
  files: FileCache,
  table: ManifestTable,
  others: readonly string[],
): Promise<void> {
  const source = await localRows(table, table.files, (object) => files.fetchWhole(object))
  const names = others.map(quoteIdentifier)
  const columns = [...table.key.map(quoteIdentifier), ...names]
  // The text makes it a hash also where there is nothing but the key.
  const hash = `hash(${["'row'", ...names].join(', ')}) as row_hash`
  await warehouse
    .run(
      `create or replace temp table diff_${side} as select ${columns.join(', ')}, ${hash} from (${liveRowsSql(source)})`,
    )
    .catch((error: unknown) => {
      if (!(error instanceof SqlError)) throw error
      throw new DamagedSnapshotError(`a file cannot be read: ${error.message}`, error)
    })
  files.keepOnly([])
}

async function changedRows(
  warehouse: Warehouse,
  key: readonly string[],
  others: readonly string[],
  joined: string,
  limit: number,
): Promise<ChangedRow[]> {
  const keys = key.map(quoteIdentifier)
  const { rows } = await warehouse.table(
    `select case when before.row_hash is null then 'added' when after.row_hash is null then 'removed' else 'changed' end,
       ${keys.join(', ')}
       ${others.map((name) => `, before.${quoteIdentifier(name)}, after.${quoteIdentifier(name)}`).join('')}
     from ${joined}
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
