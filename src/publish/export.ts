/**
 * Exports the tables of a snapshot as of one moment. Tables that no build has changed keep their files; the others are
 * copied to the scratch folder, each file by one COPY with a total order, so that the same rows give the same bytes
 * with any number of threads.
 */

import { createHash } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../support/logger.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { changesSince, yearSql, type ChangedTables } from '../warehouse/changed-tables.ts'
import { columnsOfAll, type StoredColumn } from '../warehouse/columns.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { schemaString } from './delta.ts'
import { PublishError } from './errors.ts'
import {
  PLAIN_NAME,
  fileKey,
  keysOfSnapshot,
  partitionStem,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
} from './manifest.ts'
import type { Step } from './scratch.ts'

/**
 * Above this many rows a table is split by year, so that a night rewrites only the years that it changed. A million rows
 * in one file take 2.4 s of CPU; in 23 years 5.8 s, and 0.5 s on a night that changed one. It becomes one file again
 * only at half the limit; otherwise it might switch every night.
 */
export const SPLIT_ABOVE_ROWS = 1_000_000

const WHOLE_TABLE = 'all'
// Hive's word for null in a partition: every engine that reads such paths knows it.
const NULL_PARTITION = '__HIVE_DEFAULT_PARTITION__'

export interface ScratchFile {
  readonly key: string
  readonly path: string
  readonly bytes: number
  readonly rows: number
}

export interface ExportOptions {
  readonly warehouse: Warehouse
  /** Tables that Spark or another program made: their files are in the store, possibly several for a partition. */
  readonly made?: { readonly tables: ReadonlyMap<string, ManifestTable> }
  /** The tables of the snapshot, in this order. */
  readonly tables: readonly TableDefinition[]
  /** A folder of the publisher's own inside the data folder: emptied before, removed after. */
  readonly scratchFolder: string
  /** ULID of the new snapshot; never used before. */
  readonly snapshotId: string
  /** Writes every file again, ignoring what builds changed. Default: false. */
  readonly compact?: boolean
  /** Tables with more rows are split by year. Default: {@link SPLIT_ABOVE_ROWS}. */
  readonly splitAboveRows?: number
  readonly logger: Logger
  readonly onProgress?: (step: PublishStep) => void
  /** Stops between two tables or files; readers keep the previous snapshot. */
  readonly signal?: AbortSignal
}

/** A finished step: a table written to scratch, or a file that is now in the store. */
export interface PublishStep extends Step {
  readonly phase: 'export' | 'upload'
}

/**
 * Exports every table, in the transaction that is open.
 * @param before the snapshot that readers see, where its files are kept
 * @param sizes the objects of the store below `tables/`: key → bytes @param versions that write now
 * @returns the tables as a manifest has them, and which of their files are not in the store
 */
export async function exportTables(
  options: ExportOptions,
  before: Manifest | null,
  sizes: ReadonlyMap<string, number>,
  versions: Manifest['versions'],
): Promise<{ tables: ManifestTable[]; files: readonly ScratchFile[] }> {
  const { warehouse, made, tables: definitions, compact = false, signal, onProgress } = options
  // Another version may describe the same rows differently, or write other bytes for them.
  const isOfThisVersion = isDeepStrictEqual(before?.versions, versions)
  const builtFrom = compact || !isOfThisVersion ? undefined : before?.checks?.build_id
  const changes = builtFrom === undefined ? null : await changesSince(warehouse, builtFrom)
  const work: Work = { ...options, sizes, changes, files: [], columns: null }
  const tables: ManifestTable[] = []
  for (const definition of definitions) {
    signal?.throwIfAborted()
    const { name } = definition
    const known = before?.tables.find((table) => table.name === name)
    tables.push(made?.tables.get(name) ?? (await exportTable(work, definition, known)))
    onProgress?.({ phase: 'export', done: tables.length, total: definitions.length, name })
  }
  // A column that a Delta table cannot hold is refused before readers see the snapshot.
  for (const table of tables) schemaString(table)
  return { tables, files: work.files }
}

interface Work extends ExportOptions {
  readonly sizes: ReadonlyMap<string, number>
  /** Since the snapshot before; null where they are unknown. */
  readonly changes: ChangedTables | null
  readonly files: ScratchFile[]
  /** Columns of all tables, read with the first that is copied. */
  columns: ReadonlyMap<string, readonly StoredColumn[]> | null
}

/** Exports one table. @param known in the snapshot before */
async function exportTable(
  work: Work,
  definition: TableDefinition,
  known: ManifestTable | undefined,
): Promise<ManifestTable> {
  const { warehouse, changes, logger } = work
  const { name, grain, key, partitionByYearOf } = definition
  const changed = changes === null ? 'all' : (changes.get(name) ?? new Set<number | null>())
  const isSame = changed !== 'all' && changed.size === 0
  if (isSame && known !== undefined && areThere(work, known.files)) return known
  work.columns ??= await columnsOfAll(warehouse)
  const { columns, lastFieldId } = publishedColumns(work.columns, definition, known)
  const isKept =
    known !== undefined && hasSameColumns(known, columns) && known.key.join() === key.join()
  // Several statements read a view that may be split, and each would compute it again.
  const isCopied = definition.kind === 'view' && partitionByYearOf !== null
  const stored = `${definition.schema ?? 'main'}.${quoteIdentifier(name)}`
  const source = isCopied ? 'temp."copied view"' : stored
  if (isCopied) await warehouse.run(`create temp table ${source} as from ${stored}`)
  const { split, partitions } = await partitionsOf(work, definition, columns, source, known)
  const files: ManifestFile[] = []
  for (const partition of partitions) {
    const own = isKept ? known.files.filter((file) => file.partition === partition.name) : []
    const isSameYear = split !== null && changed !== 'all' && !changed.has(partition.year)
    const hasRows = own.length > 0 && sum(own.map(({ rows }) => rows)) === partition.rows
    if (isSameYear && hasRows && areThere(work, own)) files.push(...own)
    else files.push(await copyPartition(work, definition, columns, partition, source, known))
  }
  if (isCopied) await warehouse.run(`drop table ${source}`)
  logger.debug({ table: name, files: files.length }, 'publish.table_copied')
  return {
    name,
    grain,
    key: [...key],
    partition_by: split === null ? null : { column: split, unit: 'year' },
    schema: [...columns],
    last_field_id: lastFieldId,
    rows: sum(files.map(({ rows }) => rows)),
    bytes: sum(files.map(({ bytes }) => bytes)),
    partitions: files.map(({ partition, rows }) => ({ name: partition, rows, fingerprint: null })),
    files,
  }
}

function areThere({ sizes, compact }: Work, files: readonly ManifestFile[]): boolean {
  return compact !== true && files.every(({ key, bytes }) => sizes.get(key) === bytes)
}

interface Partition {
  readonly name: string
  readonly year: number | null
  /** SQL for `where`. */
  readonly condition: string
  /** Null: they are counted when they are written. */
  readonly rows: number | null
}

/** The parts that each get a file, and the column by whose years the table is split; null: it is one file. */
async function partitionsOf(
  { warehouse, compact, splitAboveRows = SPLIT_ABOVE_ROWS }: Work,
  { partitionByYearOf }: TableDefinition,
  columns: readonly PublishedColumn[],
  source: string,
  known: ManifestTable | undefined,
): Promise<{ split: string | null; partitions: Partition[] }> {
  const whole = { name: WHOLE_TABLE, year: null, condition: 'true', rows: null }
  const column = columns.find(({ name }) => name === partitionByYearOf)
  if (column === undefined) return { split: null, partitions: [whole] }
  const { name: split, type } = column
  const wasSplit = known?.partition_by?.column === split && compact !== true
  const rows = await warehouse.number(`select count(*) from ${source}`)
  if (rows <= (wasSplit ? splitAboveRows / 2 : splitAboveRows)) {
    return { split: null, partitions: [whole] }
  }
  const year = yearSql(split)
  const found = await warehouse.all<{ year: number | null; rows: number }>(
    `select ${year} as year, count(*)::double as rows from ${source} group by all order by all`,
  )
  const startOf = (of: number) => `cast('${String(of).padStart(4, '0')}-01-01' as ${type})`
  // A range instead of `year(…) = …`: the scan can apply it, which saves a third of the work in 9 partitions.
  const within = (of: number) =>
    `${quoteIdentifier(split)} >= ${startOf(of)} and ${quoteIdentifier(split)} < ${startOf(of + 1)}`
  const partitions = found.map((one) => ({
    ...one,
    name: `${partitionStem(split)}_year=${one.year ?? NULL_PARTITION}`,
    condition: one.year === null ? `${year} is null` : within(one.year),
  }))
  return { split, partitions }
}

/** Writes a partition to the scratch folder, where it stays if the store does not have the same bytes. */
async function copyPartition(
  work: Work,
  { name, key, rowGroupRows }: TableDefinition,
  columns: readonly PublishedColumn[],
  partition: Partition,
  source: string,
  known: ManifestTable | undefined,
): Promise<ManifestFile> {
  const { warehouse, scratchFolder, snapshotId } = work
  const path = join(scratchFolder, `${name}.${partition.name}.parquet`)
  const from = `from ${source} where ${partition.condition}`
  const file = await writeParquet(warehouse, { columns, key, from, rowGroupRows }, path)
  if (file.rows !== (partition.rows ?? file.rows)) {
    // The last line of defence: a wrong count here means a wrong table for every reader.
    const what = `${file.rows} rows would be published instead of ${partition.rows}`
    throw new PublishError(`${name}: ${what}`)
  }
  const own = keysOfSnapshot(known, snapshotId)(fileKey(name, partition.name, file.sha256))
  const written = { ...file, key: own, partition: partition.name }
  if (areThere(work, [written])) rmSync(path)
  else work.files.push({ key: own, path, bytes: file.bytes, rows: file.rows })
  return written
}

// The engine writes as many rows at once as its own row groups have: with others it keeps rows back, and took half as long again
// for 1.9 million events, for a file that was 3 % smaller.
const ROW_GROUP_ROWS = 122_880
// Of eight tables of 131,811 events, level 3 is 1 % smaller and takes 9 % longer.
const COPY_OPTIONS =
  'format parquet, compression zstd, compression_level 2, use_tmp_file true, return_stats'

type MapEntries<Value> = readonly { readonly key: string; readonly value: Value }[]

interface CopyResult {
  readonly count: bigint
  readonly file_size_bytes: bigint
  readonly column_statistics: MapEntries<MapEntries<string>>
}

/**
 * Writes rows to `path`, in the order of their key. No rows give a file without rows, so that its columns can be read.
 * @param source its `from` is SQL after `select <columns>`
 */
export async function writeParquet(
  warehouse: Warehouse,
  source: {
    readonly columns: readonly PublishedColumn[]
    readonly key: readonly string[]
    readonly from: string
    readonly rowGroupRows?: number | undefined
  },
  path: string,
): Promise<Omit<ManifestFile, 'key' | 'partition'>> {
  const { columns, key, from, rowGroupRows = ROW_GROUP_ROWS } = source
  // Without a key, identical rows may be in any order and still give the same bytes.
  const sorted = key.length === 0 ? columns.map(({ name }) => name) : key
  const order = sorted.map(quoteIdentifier).join(', ')
  const fieldIds = columns.map((column) => `${quoteIdentifier(column.name)}: ${column.field_id}`)
  // v2 is smaller, but writes floating-point numbers of many values with the encoding BYTE_STREAM_SPLIT, and Spark 4.0 refuses
  // to read a file with it; the tables that have such numbers grow by up to 5 % with v1.
  const version = columns.some(({ type }) => /\b(?:DOUBLE|FLOAT)\b/.test(type)) ? 'v1' : 'v2'
  const [result] = await warehouse.all<CopyResult>(
    `copy (select ${listOfColumns(columns)} ${from} order by ${order})
     to ${quoteText(path)} (${COPY_OPTIONS}, row_group_size ${rowGroupRows}, parquet_version ${version}, field_ids {${fieldIds.join(', ')}})`,
  )
  if (result === undefined) throw new PublishError(`nothing was written to ${path}`)
  return {
    rows: Number(result.count),
    bytes: Number(result.file_size_bytes),
    sha256: await sha256OfFile(path),
    ...statisticsOf(result.column_statistics, columns, key),
  }
}

// Bounds let a reader skip files. Text other than keys stays out: names of people do not belong in a manifest.
function statisticsOf(
  statistics: MapEntries<MapEntries<string>>,
  columns: readonly PublishedColumn[],
  key: readonly string[],
) {
  const found: Pick<ManifestFile, 'min' | 'max' | 'nulls'> = { min: {}, max: {}, nulls: {} }
  for (const { name, type } of columns) {
    const own = statistics.find((entry) => entry.key === quoteIdentifier(name))?.value
    const [min, max, nulls = 0] = ['min', 'max', 'null_count'].map(
      (what) => own?.find((entry) => entry.key === what)?.value,
    )
    if (Number(nulls) > 0) found.nulls[name] = Number(nulls)
    if (min === undefined || max === undefined) continue
    if (type === 'VARCHAR' && !key.includes(name)) continue
    found.min[name] = min
    found.max[name] = max
  }
  return found
}

export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

type PublishedColumn = ManifestTable['schema'][number]

export type PublishedColumns = ReturnType<typeof publishedColumns>

/**
 * The columns that go into snapshots. Known names keep their field ids; new ones get the next.
 * @throws PublishError when the table, or a column it is sorted by, is missing, when Parquet cannot hold a column
 * exactly, or when the name of one is not plain
 */
export function publishedColumns(
  of: ReadonlyMap<string, readonly StoredColumn[]>,
  { name: table, key, partitionByYearOf, leftOut }: TableDefinition,
  previous: ManifestTable | undefined,
) {
  const all = of.get(table)
  if (all === undefined) {
    throw new PublishError(`there is no table ${table} in the warehouse`, {
      hint: 'Run `jobtide build` first.',
    })
  }
  const kept = all.filter((column) => !leftOut.includes(column.name))
  const needed = partitionByYearOf === null ? key : [...key, partitionByYearOf]
  const missing = needed.filter((name) => !kept.some((column) => column.name === name))
  if (missing.length > 0) {
    throw new PublishError(`table ${table} has no column ${missing.join(', ')} to sort or split by`)
  }
  for (const { name, type } of kept) {
    if (/\bU?HUGEINT\b/.test(type)) {
      throw new PublishError(`${table}.${name} is a ${type}, which Parquet would round to DOUBLE`, {
        hint: 'In the model, cast it: cast(… as decimal(38,0)), or to bigint where it fits.',
      })
    }
    if (!PLAIN_NAME.test(name)) {
      const what = `${table}.${JSON.stringify(name)} is not a name for a published column`
      const hint = 'In the model, name it with letters, digits and underscores.'
      throw new PublishError(what, { hint })
    }
  }
  // Of another type it is another column.
  const idOf = (column: StoredColumn) => `${column.name} ${column.type}`
  const known = new Map(previous?.schema.map((column) => [idOf(column), column.field_id]))
  let lastFieldId = previous?.last_field_id ?? 0
  const columns = kept.map((column): PublishedColumn => {
    return { ...column, field_id: known.get(idOf(column)) ?? (lastFieldId += 1) }
  })
  return { columns, lastFieldId }
}

export function listOfColumns(columns: readonly PublishedColumn[]): string {
  return columns.map(({ name }) => quoteIdentifier(name)).join(', ')
}

/** Whether files with the columns of `previous` and files with these can be parts of one table. */
export function hasSameColumns(
  previous: Pick<ManifestTable, 'schema'>,
  columns: readonly PublishedColumn[],
): boolean {
  const text = (of: readonly PublishedColumn[]) =>
    of.map(({ name, type, field_id }) => `${name} ${type} ${field_id}`).join()
  return text(previous.schema) === text(columns)
}
