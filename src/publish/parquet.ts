/**
 * Tables as Parquet files in a scratch folder: one COPY with a total order for each table and calendar year, so that the
 * same rows give the same bytes at any thread count (a partitioned COPY does not). Knows nothing of stores.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { quoteIdentifier, quoteText, type Warehouse } from '../warehouse/warehouse.ts'
import { PublishError } from './errors.ts'

/** One column of a published table. */
export interface PublishedColumn {
  readonly name: string
  /** DuckDB's name of the type. */
  readonly type: string
  /** Stays with the name from snapshot to snapshot and is never given to another one. */
  readonly fieldId: number
  readonly comment: string | null
}

/** The field ids of a table in the snapshot before: by column name, and the highest one ever given. */
export interface FieldIds {
  readonly byName: ReadonlyMap<string, number>
  readonly last: number
}

/** A Parquet file in the scratch folder. */
export interface ExportedFile {
  readonly path: string
  /** `tables/<table>/<partition>/<sha256>.parquet`. */
  readonly key: string
  readonly partition: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
  /** Smallest and largest value by column, as text; columns that hold only nulls have none. */
  readonly min: Readonly<Record<string, string>>
  readonly max: Readonly<Record<string, string>>
}

/** A table as it stands in the scratch folder. */
export interface ExportedTable {
  readonly definition: TableDefinition
  readonly columns: readonly PublishedColumn[]
  readonly lastFieldId: number
  /** Sorted by partition. */
  readonly files: readonly ExportedFile[]
}

const COPY_OPTIONS =
  'format parquet, compression zstd, compression_level 3, row_group_size 250000, use_tmp_file true, return_stats'

/** The partition of a table that is not partitioned, and of one that is but has no rows. */
export const WHOLE_TABLE = 'all'

// Hive's word for null in a partition: every engine that reads such paths knows it.
const NULL_PARTITION = '__HIVE_DEFAULT_PARTITION__'

/**
 * Writes one table to `folder`. Call it for all tables within one transaction: then they belong together.
 * An empty table gives one file without rows, so that its columns can be read.
 * @throws PublishError when the table is not there, lacks a column it is sorted by, or has a column that Parquet
 *   cannot hold exactly
 */
export async function exportTable(
  warehouse: Warehouse,
  definition: TableDefinition,
  folder: string,
  previous: FieldIds | undefined,
): Promise<ExportedTable> {
  const { columns, lastFieldId } = await publishedColumns(warehouse, definition, previous)
  const files: ExportedFile[] = []
  for (const partition of await partitionsOf(warehouse, definition, columns)) {
    files.push(await exportPartition(warehouse, definition, columns, partition, folder))
  }
  return { definition, columns, lastFieldId, files }
}

interface Column {
  readonly name: string
  readonly type: string
  readonly comment: string | null
}

async function publishedColumns(
  warehouse: Warehouse,
  definition: TableDefinition,
  previous: FieldIds | undefined,
): Promise<{ columns: PublishedColumn[]; lastFieldId: number }> {
  const { name: table, leftOut } = definition
  const all = await warehouse.all<Column>(
    `select column_name as name, data_type as type, comment from duckdb_columns()
     where database_name = current_database() and schema_name = 'main' and table_name = $1
     order by column_index`,
    [table],
  )
  if (all.length === 0) {
    throw new PublishError(`there is no table ${table} in the warehouse`, {
      hint: 'Run `jobtide build` first.',
    })
  }
  const kept = all.filter((column) => !leftOut.includes(column.name))
  refuseMissing(definition, kept)
  refuseInexact(table, kept)
  let lastFieldId = previous?.last ?? 0
  const columns = kept.map((column) => {
    const fieldId = previous?.byName.get(column.name) ?? (lastFieldId += 1)
    return { ...column, fieldId }
  })
  return { columns, lastFieldId }
}

function refuseMissing(definition: TableDefinition, columns: readonly Column[]): void {
  const { name: table, key, partitionByYearOf } = definition
  const needed = partitionByYearOf === null ? key : [...key, partitionByYearOf]
  const missing = needed.filter((name) => !columns.some((column) => column.name === name))
  if (missing.length === 0) return
  throw new PublishError(`table ${table} has no column ${missing.join(', ')} to sort or split by`)
}

function refuseInexact(table: string, columns: readonly Column[]): void {
  const column = columns.find(({ type }) => /\bU?HUGEINT\b/.test(type))
  if (column === undefined) return
  throw new PublishError(
    `${table}.${column.name} is a ${column.type}, which Parquet would round to DOUBLE`,
    { hint: 'In the model, cast it: cast(… as decimal(38,0)), or to bigint where it fits.' },
  )
}

/** One file's worth of a table: its name, which rows belong to it, how many there are. */
interface Partition {
  readonly name: string
  /** SQL, for `where`. */
  readonly condition: string
  readonly rows: number
}

async function partitionsOf(
  warehouse: Warehouse,
  { name: table, partitionByYearOf }: TableDefinition,
  columns: readonly PublishedColumn[],
): Promise<Partition[]> {
  const split = columns.find((column) => column.name === partitionByYearOf)
  const year = split === undefined ? 'null' : `year(${quoteIdentifier(split.name)})`
  const counts = await warehouse.all<{ year: bigint | null; rows: bigint }>(
    `select ${year} as year, count(*) as rows from main.${quoteIdentifier(table)} group by 1`,
  )
  if (split === undefined || counts.length === 0) {
    return [{ name: WHOLE_TABLE, condition: 'true', rows: Number(counts[0]?.rows ?? 0) }]
  }
  const stem = `${split.name.replace(/_(at|on)$/, '')}_year`
  return counts
    .map((count) => ({
      name: `${stem}=${count.year ?? NULL_PARTITION}`,
      condition: count.year === null ? `${year} is null` : withinYear(split, Number(count.year)),
      rows: Number(count.rows),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

// A range and not `year(…) = …`: the scan itself can apply it, which saves a third of the work in 9 partitions.
function withinYear({ name, type }: PublishedColumn, year: number): string {
  const startOf = (of: number) => `cast('${String(of).padStart(4, '0')}-01-01' as ${type})`
  return `${quoteIdentifier(name)} >= ${startOf(year)} and ${quoteIdentifier(name)} < ${startOf(year + 1)}`
}

interface CopyResult {
  readonly count: bigint
  readonly file_size_bytes: bigint
  readonly column_statistics: MapEntries<MapEntries<string>>
}

type MapEntries<Value> = readonly { readonly key: string; readonly value: Value }[]

async function exportPartition(
  warehouse: Warehouse,
  definition: TableDefinition,
  columns: readonly PublishedColumn[],
  partition: Partition,
  folder: string,
): Promise<ExportedFile> {
  const { name: table, key } = definition
  const path = join(folder, `${table}.${partition.name}.parquet`)
  const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  const order = key.map(quoteIdentifier).join(', ')
  const fieldIds = columns.map((column) => `${quoteIdentifier(column.name)}: ${column.fieldId}`)
  const [result] = await warehouse.all<CopyResult>(
    `copy (select ${names} from main.${quoteIdentifier(table)} where ${partition.condition} order by ${order})
     to ${quoteText(path)} (${COPY_OPTIONS}, parquet_version ${parquetVersion(columns)}, field_ids {${fieldIds.join(', ')}})`,
  )
  const rows = Number(result?.count)
  if (result === undefined || rows !== partition.rows) {
    throw new PublishError(
      `${table} ${partition.name}: ${rows} rows written where ${partition.rows} belong`,
    )
  }
  const sha256 = await sha256OfFile(path)
  return {
    path,
    key: `tables/${table}/${partition.name}/${sha256}.parquet`,
    partition: partition.name,
    rows,
    bytes: Number(result.file_size_bytes),
    sha256,
    ...bounds(result.column_statistics, columns, key),
  }
}

// v2 is smaller, but writes floating-point numbers of many values with the encoding BYTE_STREAM_SPLIT, and Spark 4.0 refuses
// to read a file with it; the tables that have such numbers grow by up to 5 % with v1.
function parquetVersion(columns: readonly PublishedColumn[]): 'v1' | 'v2' {
  return columns.some(({ type }) => /\b(?:DOUBLE|FLOAT)\b/.test(type)) ? 'v1' : 'v2'
}

// Bounds let a reader skip files. Text other than keys stays out: names of people do not belong in a manifest.
function bounds(
  statistics: MapEntries<MapEntries<string>>,
  columns: readonly PublishedColumn[],
  key: readonly string[],
): Pick<ExportedFile, 'min' | 'max'> {
  const min: Record<string, string> = {}
  const max: Record<string, string> = {}
  for (const column of columns) {
    if (column.type === 'VARCHAR' && !key.includes(column.name)) continue
    const own = statistics.find((entry) => entry.key === quoteIdentifier(column.name))?.value
    const smallest = own?.find((entry) => entry.key === 'min')?.value
    const largest = own?.find((entry) => entry.key === 'max')?.value
    if (smallest === undefined || largest === undefined) continue
    min[column.name] = smallest
    max[column.name] = largest
  }
  return { min, max }
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
