/**
 * Rows as one Parquet file in a scratch folder, by one COPY with a total order: so the same rows give the same bytes at any
 * thread count (a partitioned COPY does not). Knows nothing of stores.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'
import { PublishError } from './errors.ts'

/** What to write. */
export interface ParquetSource {
  readonly columns: readonly PublishedColumn[]
  /** Columns that are unique together: the order of the rows. */
  readonly key: readonly string[]
  /** SQL after `select <columns>`: from where, which rows. */
  readonly from: string
}

/** A Parquet file in the scratch folder, and what a reader may want to know without opening it. */
export interface WrittenFile {
  readonly path: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
  readonly min: Readonly<Record<string, string>>
  readonly max: Readonly<Record<string, string>>
  readonly nulls: Readonly<Record<string, number>>
}

/** A file in the scratch folder that belongs into the store. */
export interface ScratchFile {
  readonly key: string
  readonly path: string
  readonly bytes: number
  readonly rows: number
}

const COPY_OPTIONS =
  'format parquet, compression zstd, compression_level 3, row_group_size 250000, use_tmp_file true, return_stats'

interface CopyResult {
  readonly count: bigint
  readonly file_size_bytes: bigint
  readonly column_statistics: MapEntries<MapEntries<string>>
}

type MapEntries<Value> = readonly { readonly key: string; readonly value: Value }[]

/**
 * Writes the rows to `path`. No rows give a file without rows, so that its columns can be read.
 * @throws StorageError when the disk refuses
 */
export async function writeParquet(
  warehouse: Warehouse,
  { columns, key, from }: ParquetSource,
  path: string,
): Promise<WrittenFile> {
  const names = columns.map(({ name }) => quoteIdentifier(name)).join(', ')
  const order = key.map(quoteIdentifier).join(', ')
  const fieldIds = columns.map((column) => `${quoteIdentifier(column.name)}: ${column.field_id}`)
  const [result] = await warehouse.all<CopyResult>(
    `copy (select ${names} ${from} order by ${order})
     to ${quoteText(path)} (${COPY_OPTIONS}, parquet_version ${parquetVersion(columns)}, field_ids {${fieldIds.join(', ')}})`,
  )
  if (result === undefined) throw new PublishError(`nothing was written to ${path}`)
  return {
    path,
    rows: Number(result.count),
    bytes: Number(result.file_size_bytes),
    sha256: await sha256OfFile(path),
    ...statisticsOf(result.column_statistics, columns, key),
  }
}

// v2 is smaller, but writes floating-point numbers of many values with the encoding BYTE_STREAM_SPLIT, and Spark 4.0 refuses
// to read a file with it; the tables that have such numbers grow by up to 5 % with v1.
function parquetVersion(columns: readonly PublishedColumn[]): 'v1' | 'v2' {
  return columns.some(({ type }) => /\b(?:DOUBLE|FLOAT)\b/.test(type)) ? 'v1' : 'v2'
}

// Bounds let a reader skip files. Text other than keys stays out: names of people do not belong in a manifest.
function statisticsOf(
  statistics: MapEntries<MapEntries<string>>,
  columns: readonly PublishedColumn[],
  key: readonly string[],
): Pick<WrittenFile, 'min' | 'max' | 'nulls'> {
  const min: Record<string, string> = {}
  const max: Record<string, string> = {}
  const nulls: Record<string, number> = {}
  for (const column of columns) {
    const own = statistics.find((entry) => entry.key === quoteIdentifier(column.name))?.value
    const valueOf = (name: string) => own?.find((entry) => entry.key === name)?.value
    const nullCount = Number(valueOf('null_count') ?? 0)
    if (nullCount > 0) nulls[column.name] = nullCount
    if (column.type === 'VARCHAR' && !key.includes(column.name)) continue
    const smallest = valueOf('min')
    const largest = valueOf('max')
    if (smallest === undefined || largest === undefined) continue
    min[column.name] = smallest
    max[column.name] = largest
  }
  return { min, max, nulls }
}

/** The SHA-256 of a file's bytes, in hex. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
