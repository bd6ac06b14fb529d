/**
 * The partitions that a published table is kept in: one for each calendar year of a column, or one in all. A partition is
 * counted and fingerprinted in one scan, so that those that are as they were need not be written.
 */

import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'
import type { ManifestTable } from './manifest.ts'

/** The partition of a table that is not split, and of one that is but has no rows. */
const WHOLE_TABLE = 'all'

/**
 * Up to so many rows a table is one partition, whatever its definition says: 131,807 events in 23 files take 2.5 times as long to
 * write, and a year of them is too small for a reader to gain from skipping it.
 */
export const SPLIT_ABOVE_ROWS = 1_000_000

// Hive's word for null in a partition: every engine that reads such paths knows it.
const NULL_PARTITION = '__HIVE_DEFAULT_PARTITION__'

export interface Partition {
  readonly name: string
  /** The calendar year, UTC; null where the table is not split by one, or the column has none: null, infinity. */
  readonly year: number | null
  readonly condition: string
  readonly rows: number
  /** The same for the same rows in any order. */
  readonly fingerprint: string
}

/** The column by whose years a table is split; null: it is one partition. */
export async function splitColumn(
  warehouse: Warehouse,
  { name, partitionByYearOf }: TableDefinition,
  aboveRows: number,
): Promise<string | null> {
  if (partitionByYearOf === null || aboveRows === 0) return partitionByYearOf
  const rows = await warehouse.number(`select count(*) from main.${quoteIdentifier(name)}`)
  return rows > aboveRows ? partitionByYearOf : null
}

/**
 * A hash of a row, 64 bits. The engine's own is fast and mixes values of many columns well; it may differ between versions
 * of the engine.
 */
export function rowHashSql(columns: readonly PublishedColumn[]): string {
  const hashed = columns.map(({ name, type }) =>
    // The engine gives null, an empty list and a list of one null the same hash.
    type.endsWith(']') ? `to_json(${quoteIdentifier(name)})` : quoteIdentifier(name),
  )
  return `hash(${hashed.join(', ')})`
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

/**
 * The partitions of a table, sorted by name; never none.
 * @param source SQL for `from`: the table, or rows with its columns
 * @param hashed a select of `year` and `row_hash` of each row, where they are kept; default: they are computed
 */
export async function partitionsOf(
  warehouse: Warehouse,
  partitionByYearOf: string | null,
  columns: readonly PublishedColumn[],
  source: string,
  hashed = `select ${yearSql(partitionByYearOf)} as year, ${rowHashSql(columns)} as row_hash from ${source}`,
): Promise<Partition[]> {
  const split = columns.find((column) => column.name === partitionByYearOf)
  const counts = await warehouse.all<{ year: number | null; rows: bigint; fingerprint: string }>(
    `select year, count(*) as rows, printf('%X-%s', bit_xor(row_hash), cast(sum(row_hash) as varchar)) as fingerprint
     from (${hashed}) group by year`,
  )
  if (counts.length === 0) {
    return [{ name: WHOLE_TABLE, year: null, condition: 'true', rows: 0, fingerprint: '' }]
  }
  const partitions = counts.map(({ year, rows: count, fingerprint }) => {
    const counted = { year, rows: Number(count), fingerprint }
    if (split === undefined) return { name: WHOLE_TABLE, condition: 'true', ...counted }
    const stem = split.name.replace(/_(at|on)$/, '')
    const isNull = `${yearSql(partitionByYearOf)} is null`
    const condition = year === null ? isNull : withinYear(split, year)
    return { name: `${stem}_year=${year ?? NULL_PARTITION}`, condition, ...counted }
  })
  return partitions.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

// A range and not `year(…) = …`: the scan itself can apply it, which saves a third of the work in 9 partitions.
function withinYear({ name, type }: PublishedColumn, year: number): string {
  const startOf = (of: number) => `cast('${String(of).padStart(4, '0')}-01-01' as ${type})`
  return `${quoteIdentifier(name)} >= ${startOf(year)} and ${quoteIdentifier(name)} < ${startOf(year + 1)}`
}

/** How rows differ from the partitions that were published; nothing when they are the same. */
export async function partitionDifferences(
  warehouse: Warehouse,
  { schema, partition_by: split }: Pick<ManifestTable, 'schema' | 'partition_by'>,
  published: ManifestTable['partitions'],
  { source, isSameEngine }: { readonly source: string; readonly isSameEngine: boolean },
): Promise<{ readonly kind: 'rows' | 'partition' | 'fingerprint'; readonly message: string }[]> {
  const found = await partitionsOf(warehouse, split?.column ?? null, schema, source)
  const names = new Set(published.map(({ name }) => name))
  const misplacedRows = sum(found.map(({ name, rows }) => (names.has(name) ? 0 : rows)))
  const misplaced = {
    kind: 'partition' as const,
    message: `${misplacedRows} rows belong to no such partition`,
  }
  return [
    ...(misplacedRows > 0 ? [misplaced] : []),
    ...published.flatMap(({ name, rows, fingerprint }) => {
      const own = found.find((one) => one.name === name)
      const message = `${name} has ${own?.rows ?? 0} rows that count where ${rows} belong`
      if ((own?.rows ?? 0) !== rows) return { kind: 'rows' as const, message }
      // The hash of a row may differ between versions of the engine.
      if (!isSameEngine || (own?.fingerprint ?? '') === fingerprint) return []
      const other = `the rows of ${name} are not those that were published`
      return { kind: 'fingerprint' as const, message: other }
    }),
  ]
}
