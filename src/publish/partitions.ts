/**
 * The partitions that a published table is kept in: one for each calendar year of a column, or one in all. A partition is
 * counted and fingerprinted in one scan, so that those that are as they were need not be written.
 */

import type { TableDefinition } from '../warehouse/catalog.ts'
import { quoteIdentifier, type Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'

/** The partition of a table that is not split, and of one that is but has no rows. */
const WHOLE_TABLE = 'all'

/**
 * Up to so many rows a table is one file, whatever its definition says: 131,807 events in 23 files take 2.5 times as long to
 * write, and a year of them is too small for a reader to gain from skipping it.
 */
export const SPLIT_ABOVE_ROWS = 1_000_000

// Hive's word for null in a partition: every engine that reads such paths knows it.
const NULL_PARTITION = '__HIVE_DEFAULT_PARTITION__'

/** One partition of a table. */
export interface Partition {
  readonly name: string
  /** The calendar year, UTC; null where the table is not split by one, or the column has none: null, infinity. */
  readonly year: number | null
  /** SQL, for `where`. */
  readonly condition: string
  readonly rows: number
  /** The same for the same rows in any order. */
  readonly fingerprint: string
}

interface Counted {
  readonly year: number | null
  readonly row_count: bigint
  readonly fingerprint: string | null
}

/**
 * A hash of a row, 64 bits. The engine's own is fast and mixes values of many columns well; it may differ between versions
 * of the engine.
 */
export function rowHashSql(columns: readonly PublishedColumn[]): string {
  return `hash(${columns.map(hashedSql).join(', ')})`
}

// The engine gives null, an empty list and a list of one null the same hash.
function hashedSql({ name, type }: PublishedColumn): string {
  return type.endsWith(']') ? `to_json(${quoteIdentifier(name)})` : quoteIdentifier(name)
}

/**
 * SQL of the fingerprint of rows, the same in any order, as an aggregate over their hashes; over `xorOf` and `sumOf` where
 * hashes are added up already.
 */
export function fingerprintSql(xorOf: string, sumOf = xorOf): string {
  return `concat_ws('-', to_hex(bit_xor(${xorOf})), cast(sum(${sumOf}) as varchar))`
}

/** The version of DuckDB at work: hashes and fingerprints of another one cannot be compared. */
export async function engineVersion(warehouse: Warehouse): Promise<string> {
  const [engine] = await warehouse.all<{ version: string }>('select version() as version')
  return engine?.version ?? ''
}

/** The year that says in which partition a row is; SQL. */
export function yearSql(partitionByYearOf: string | null): string {
  return `cast(${partitionByYearOf === null ? 'null' : `year(${quoteIdentifier(partitionByYearOf)})`} as integer)`
}

/** A select of `year` and `row_hash` of each row of a table: what its partitions are made from. */
export function hashedRowsSql(
  { partitionByYearOf }: TableDefinition,
  columns: readonly PublishedColumn[],
  source: string,
): string {
  return `select ${yearSql(partitionByYearOf)} as year, ${rowHashSql(columns)} as row_hash from ${source}`
}

/**
 * The partitions of a table, sorted by name; never none.
 * @param hashed what `hashedRowsSql` returns, or a select of the same from where that was kept
 */
export async function partitionsOf(
  warehouse: Warehouse,
  { partitionByYearOf }: TableDefinition,
  columns: readonly PublishedColumn[],
  hashed: string,
): Promise<Partition[]> {
  const split = columns.find((column) => column.name === partitionByYearOf)
  const counts = await warehouse.all<Counted>(
    `select year, count(*) as row_count, ${fingerprintSql('row_hash')} as fingerprint
     from (${hashed})
     group by year`,
  )
  const [only] = counts
  if (split === undefined || only === undefined) {
    return [{ name: WHOLE_TABLE, year: null, condition: 'true', ...sizeOf(only) }]
  }
  const stem = `${split.name.replace(/_(at|on)$/, '')}_year`
  return counts
    .map((count) => ({
      name: `${stem}=${count.year ?? NULL_PARTITION}`,
      year: count.year,
      condition:
        count.year === null
          ? `${yearSql(partitionByYearOf)} is null`
          : withinYear(split, count.year),
      ...sizeOf(count),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function sizeOf(counted: Counted | undefined): Pick<Partition, 'rows' | 'fingerprint'> {
  return { rows: Number(counted?.row_count ?? 0), fingerprint: counted?.fingerprint ?? '' }
}

// A range and not `year(…) = …`: the scan itself can apply it, which saves a third of the work in 9 partitions.
function withinYear({ name, type }: PublishedColumn, year: number): string {
  const startOf = (of: number) => `cast('${String(of).padStart(4, '0')}-01-01' as ${type})`
  return `${quoteIdentifier(name)} >= ${startOf(year)} and ${quoteIdentifier(name)} < ${startOf(year + 1)}`
}

/** The column by whose years a table is split; null: it is one partition. */
export async function splitColumn(
  warehouse: Warehouse,
  { name, partitionByYearOf }: TableDefinition,
  aboveRows: number,
): Promise<string | null> {
  if (partitionByYearOf === null || aboveRows === 0) return partitionByYearOf
  const [counted] = await warehouse.all<{ row_count: bigint }>(
    `select count(*) as row_count from main.${quoteIdentifier(name)}`,
  )
  return Number(counted?.row_count ?? 0) > aboveRows ? partitionByYearOf : null
}
