/**
 * The partitions that a published table is kept in: one for each calendar year of a column, or one in all. A partition is
 * counted and fingerprinted in one scan, so that those that are as they were need not be written.
 */

import { sha256Hex } from '../support/hash.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { rowHashSql, yearSql } from '../warehouse/changed-rows.ts'
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
  source = `main.${quoteIdentifier(name)}`,
): Promise<string | null> {
  if (partitionByYearOf === null || aboveRows === 0) return partitionByYearOf
  const rows = await warehouse.number(`select count(*) from ${source}`)
  return rows > aboveRows ? partitionByYearOf : null
}

/** The version of DuckDB at work: hashes and fingerprints of another one cannot be compared. */
export async function engineVersion(warehouse: Warehouse): Promise<string> {
  const [engine] = await warehouse.all<{ version: string }>('select version() as version')
  return engine?.version ?? ''
}

/** What a table without rows is. */
const NO_ROWS: Partition = {
  name: WHOLE_TABLE,
  year: null,
  condition: 'true',
  rows: 0,
  fingerprint: '',
}

/** SQL, a select: `year` and `row_hash` of each row. @param source SQL for `from`: rows with these columns */
export function hashedRowsSql(
  partitionByYearOf: string | null,
  columns: readonly PublishedColumn[],
  source: string,
): string {
  return `select ${yearSql(partitionByYearOf)} as year, ${rowHashSql(columns)} as row_hash from ${source}`
}

/** The partitions of a table. @param hashed as {@link hashedRowsSql} gives them */
export async function partitionsOf(
  warehouse: Warehouse,
  partitionByYearOf: string | null,
  columns: readonly PublishedColumn[],
  hashed: string,
): Promise<Partition[]> {
  const split = columns.find((column) => column.name === partitionByYearOf)
  const counts = await warehouse.all<{ year: number | null; rows: bigint; fingerprint: string }>(
    `select year, count(*) as rows, printf('%X-%s', bit_xor(row_hash), cast(sum(row_hash) as varchar)) as fingerprint
     from (${hashed}) group by year`,
  )
  return inOrder(
    counts.map(({ year, rows: count, fingerprint }) => {
      return { ...placeOf(split, year), rows: Number(count), fingerprint }
    }),
  )
}

/** Those of partitions that have rows, by name; never none. */
function inOrder(partitions: readonly Partition[]): Partition[] {
  const filled = partitions.filter(({ rows }) => rows > 0)
  return filled.length === 0 ? [NO_ROWS] : filled.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The partition of a year. @param split the column by whose years the table is split; undefined: it is one partition */
export function placeOf(
  split: PublishedColumn | undefined,
  year: number | null,
): Pick<Partition, 'name' | 'year' | 'condition'> {
  if (split === undefined) return { name: WHOLE_TABLE, year: null, condition: 'true' }
  const stem = split.name.replace(/_(at|on)$/, '')
  const isNull = `${yearSql(split.name)} is null`
  const condition = year === null ? isNull : withinYear(split, year)
  return { name: `${stem}_year=${year ?? NULL_PARTITION}`, year, condition }
}

/**
 * The partitions after rows came and went.
 * @param moves SQL, a select: `year`, `row_hash`, and `change`: 1 of a row that came, -1 of one that went
 */
export async function movedPartitions(
  warehouse: Warehouse,
  partitionByYearOf: string | null,
  columns: readonly PublishedColumn[],
  before: ManifestTable['partitions'],
  moves: string,
): Promise<Partition[]> {
  const split = columns.find((column) => column.name === partitionByYearOf)
  const found = await warehouse.all<{
    year: number | null
    rows: bigint
    xor: bigint
    total: bigint
  }>(
    `select year, cast(sum(change) as bigint) as rows, bit_xor(row_hash) as xor, sum(row_hash * change::hugeint) as total
     from (${moves}) group by year`,
  )
  const moved = found.map(({ year, rows, xor, total }) => {
    const place = placeOf(split, year)
    const known = before.find(({ name }) => name === place.name)
    const fingerprint = movedFingerprint(known?.fingerprint ?? '', xor, total)
    return { ...place, rows: (known?.rows ?? 0) + Number(rows), fingerprint }
  })
  const names = new Set(moved.map(({ name }) => name))
  const still = before.filter(({ name }) => !names.has(name))
  return inOrder([...still.map((one) => placed(split, one)), ...moved])
}

function placed(
  split: PublishedColumn | undefined,
  { name, rows, fingerprint }: ManifestTable['partitions'][number],
): Partition {
  const year = /_year=(\d+)$/.exec(name)?.[1]
  const place = placeOf(split, year === undefined ? null : Number(year))
  return { ...place, name, rows, fingerprint }
}

function movedFingerprint(fingerprint: string, xor: bigint, total: bigint): string {
  const [before = '0', sumBefore = '0'] = fingerprint.split('-')
  const hex = (BigInt(`0x${before || '0'}`) ^ xor).toString(16).toUpperCase()
  return `${hex}-${BigInt(sumBefore || '0') + total}`
}

// A range and not `year(…) = …`: the scan itself can apply it, which saves a third of the work in 9 partitions.
function withinYear({ name, type }: PublishedColumn, year: number): string {
  const startOf = (of: number) => `cast('${String(of).padStart(4, '0')}-01-01' as ${type})`
  return `${quoteIdentifier(name)} >= ${startOf(year)} and ${quoteIdentifier(name)} < ${startOf(year + 1)}`
}

const OF_FILES = 'files-'

/** The fingerprint of a partition whose rows DuckDB did not see: that of the objects it is made of. */
export function fingerprintOfFiles(hashes: readonly string[]): string {
  return OF_FILES + sha256Hex(Buffer.from(hashes.toSorted().join()))
}

/** Whether a fingerprint is that of files: it says nothing of rows. */
export function isOfFiles(fingerprint: string): boolean {
  return fingerprint.startsWith(OF_FILES)
}

/** How rows differ from the partitions that were published; nothing when they are the same. */
export async function partitionDifferences(
  warehouse: Warehouse,
  { schema, partition_by: split }: Pick<ManifestTable, 'schema' | 'partition_by'>,
  published: ManifestTable['partitions'],
  { source, isSameEngine }: { readonly source: string; readonly isSameEngine: boolean },
): Promise<{ readonly kind: 'rows' | 'partition' | 'fingerprint'; readonly message: string }[]> {
  const column = split?.column ?? null
  const hashed = hashedRowsSql(column, schema, source)
  const found = await partitionsOf(warehouse, column, schema, hashed)
  return differences(found, published, isSameEngine)
}

/** How partitions differ from those that were published; nothing when they are the same. */
export function differences(
  found: readonly Partition[],
  published: ManifestTable['partitions'],
  isSameEngine: boolean,
): { readonly kind: 'rows' | 'partition' | 'fingerprint'; readonly message: string }[] {
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
      if (!isSameEngine || isOfFiles(fingerprint)) return []
      if ((own?.fingerprint ?? '') === fingerprint) return []
      const other = `the rows of ${name} are not those that were published`
      return { kind: 'fingerprint' as const, message: other }
    }),
  ]
}
