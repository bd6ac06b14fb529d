/** The rows of one table in two snapshots, compared by key: how many were added, removed and changed, and which. */

import { SqlError } from '../../warehouse/errors.ts'
import { quoteIdentifier, quoteText, type Warehouse } from '../../warehouse/warehouse.ts'
import type { FileToRead } from './diff-plan.ts'
import { DamagedSnapshotError, fetchWhole } from '../fetch-files.ts'
import type { FileCache } from '../file-cache.ts'
import { liveRowsSql, localRows, locatedRowsSql, type RowSource } from '../live-rows.ts'
import type { ManifestFile, ManifestTable } from '../manifest.ts'

/** Columns as they are compared. */
export interface ComparedColumns {
  readonly key: readonly string[]
  /** In both, besides the key. */
  readonly others: readonly string[]
  /** Of another type on the two sides: these are compared as text. */
  readonly retyped: ReadonlySet<string>
}

/** One side of a comparison. */
export interface StagedSide {
  readonly name: 'before' | 'after'
  readonly table: ManifestTable
  readonly files: FileCache
  readonly toRead: readonly FileToRead[]
}

/** How many rows of a table changed. */
export interface RowCounts {
  readonly added: number
  readonly removed: number
  /** The same key, other values. */
  readonly changed: number
}

/** One row that changed. */
export interface ChangedRow {
  readonly change: 'added' | 'removed' | 'changed'
  /** Column → value, as text where JSON has no such type. */
  readonly key: Readonly<Record<string, unknown>>
  /** Of a changed row the columns that changed, of others all. */
  readonly columns: readonly ChangedColumn[]
}

/** A column of such a row; null also on the side that does not have the row. */
export interface ChangedColumn {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** What is compared. */
export interface TableComparison {
  readonly warehouse: Warehouse
  readonly columns: ComparedColumns
  readonly before: StagedSide
  readonly after: StagedSide
  /** Whether {@link changedRows} will be asked for. */
  readonly withRows: boolean
  /** Called after each file. */
  readonly onFile: (key: string) => void
}

/**
 * Counts what changed. No more than one data file has to be here at a time.
 * @throws DamagedSnapshotError when a file is missing, is not as it was published, or cannot be read
 */
export async function compareTable(comparison: TableComparison): Promise<RowCounts> {
  const { warehouse, columns, before, after } = comparison
  if (before.toRead.length + after.toRead.length === 0) return { added: 0, removed: 0, changed: 0 }
  await warehouse.run(`drop table if exists ${BEFORE}; drop table if exists ${AFTER}`)
  await stage(comparison, before, after)
  await stage(comparison, after, before)
  for (const [empty, full] of [
    [before, AFTER],
    [after, BEFORE],
  ] as const) {
    if (empty.toRead.length > 0) continue
    await warehouse.run(`create temp table ${nameOf(empty)} as select * from ${full} limit 0`)
  }
  const [counts] = await warehouse.all<{ added: bigint; removed: bigint; changed: bigint }>(
    `select
       count(*) filter (where before.row_hash is null) as added,
       count(*) filter (where after.row_hash is null) as removed,
       count(*) filter (where before.row_hash <> after.row_hash) as changed
     from ${joined(columns)}`,
  )
  return {
    added: Number(counts?.added),
    removed: Number(counts?.removed),
    changed: Number(counts?.changed),
  }
}

/** The first `limit` changed rows by key, after {@link compareTable} with `withRows`. */
export async function changedRows(
  warehouse: Warehouse,
  { key, others }: ComparedColumns,
  limit: number,
): Promise<ChangedRow[]> {
  const keys = key.map(quoteIdentifier)
  const { rows } = await warehouse.table(
    `select case when before.row_hash is null then 'added' when after.row_hash is null then 'removed' else 'changed' end,
       ${keys.map((name) => `coalesce(before.${name}, after.${name})`).join(', ')}
       ${others.map((name) => `, before.${quoteIdentifier(name)}, after.${quoteIdentifier(name)}`).join('')}
     from ${joined({ key })}
     where before.row_hash is distinct from after.row_hash
     order by ${keys.map((_, at) => at + 2).join(', ')}
     limit ${limit}`,
  )
  return rows.map(([change, ...values]) => {
    const ofKey = values.splice(0, key.length)
    const columns = others.map((name, at) => ({
      name,
      before: values[2 * at],
      after: values[2 * at + 1],
    }))
    return {
      change: change as ChangedRow['change'],
      key: Object.fromEntries(key.map((name, at) => [name, ofKey[at]])),
      columns:
        change === 'changed'
          ? columns.filter((one) => JSON.stringify(one.before) !== JSON.stringify(one.after))
          : columns,
    }
  })
}

const BEFORE = 'temp.diff_before'
const AFTER = 'temp.diff_after'

function nameOf({ name }: StagedSide): string {
  return name === 'before' ? BEFORE : AFTER
}

function joined({ key }: Pick<ComparedColumns, 'key'>): string {
  return `${BEFORE} as before full join ${AFTER} as after using (${key.map(quoteIdentifier).join(', ')})`
}

async function stage(
  { warehouse, columns, withRows, onFile }: TableComparison,
  side: StagedSide,
  other: StagedSide,
): Promise<void> {
  let isMade = false
  for (const { file, isInBoth } of side.toRead) {
    const rows = isInBoth ? await rowsDeletedInOther(side, other, file) : await liveRows(side, file)
    const select = selectOf(columns, withRows, rows)
    const verb = isMade ? 'insert into' : 'create temp table'
    await warehouse
      .run(`${verb} ${nameOf(side)} ${isMade ? '' : 'as'} ${select}`)
      .catch((error: unknown) => {
        if (!(error instanceof SqlError)) throw error
        throw new DamagedSnapshotError(`${file.key} cannot be read: ${error.message}`, error)
      })
    isMade = true
    side.files.keepOnly([])
    other.files.keepOnly([])
    onFile(file.key)
  }
}

async function liveRows(side: StagedSide, file: ManifestFile): Promise<string> {
  return liveRowsSql(await sourceOf(side, file))
}

async function rowsDeletedInOther(
  side: StagedSide,
  other: StagedSide,
  file: ManifestFile,
): Promise<string> {
  const { deletion_vector: deleted } = other.table
  if (deleted === null)
    throw new DamagedSnapshotError(`the deleted rows of ${file.key} are not named`)
  const list = await fetchWhole(other.files, deleted)
  return `select * from (${locatedRowsSql(await sourceOf(side, file))}) where (stored_in, stored_at) in
    (select file, position from read_parquet(${quoteText(list)}, hive_partitioning = false))`
}

function sourceOf({ table, files }: StagedSide, file: ManifestFile): Promise<RowSource> {
  return localRows(table, [file], (object) => fetchWhole(files, object))
}

function selectOf({ key, others, retyped }: ComparedColumns, withRows: boolean, rows: string) {
  const told = (name: string) =>
    retyped.has(name) ? `cast(${quoteIdentifier(name)} as varchar)` : quoteIdentifier(name)
  const named = (name: string) => `${told(name)} as ${quoteIdentifier(name)}`
  const shown = withRows ? [...key, ...others] : key
  // The text makes it a hash also where there is nothing but the key.
  const hash = `hash(${["'row'", ...others.map(told)].join(', ')}) as row_hash`
  return `select ${[...shown.map(named), hash].join(', ')} from (${rows})`
}
