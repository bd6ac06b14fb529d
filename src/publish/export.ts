/**
 * One table of the warehouse as it will stand in the next snapshot: which files of the snapshot before stay, and what is
 * written beside them. The same rows over the same snapshot give the same files.
 */

import { join } from 'node:path'
import { messageOf } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { ChangesSince } from '../warehouse/changed-rows.ts'
import { quoteIdentifier, quotePath, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { hasSameColumns, publishedColumns, type PublishedColumns } from './columns.ts'
import { PublishError } from './errors.ts'
import { DELETION_VECTOR_FOLDER, fileKey } from './keys.ts'
import { filesToKeep, stateOf, type PartitionState } from './layout.ts'
import { KnownRows, WrongChangesError } from './known-rows.ts'
import { localRows, type RowSource } from './live-rows.ts'
import { objectsOf, type ManifestFile, type ManifestTable } from './manifest.ts'
import { sha256OfFile, writeParquet, type ScratchFile } from './parquet.ts'
import { isOfFiles, splitColumn, type Partition } from './partitions.ts'
import { TableRows, type RowsToExport } from './table-rows.ts'

export interface ExportContext {
  readonly warehouse: Warehouse
  readonly folder: string
  /** Absent: the snapshot before, if any, did not have the table. */
  readonly previous: PreviousTable | undefined
  /** What changed since the snapshot before; null where that is not known. */
  readonly changes: ChangesSince | null
  /** What the snapshot calls an object whose `fileKey` is `key`. */
  readonly ownKey: (key: string) => string
  /** Rewrites every partition that is not one whole file. */
  readonly compact: boolean
  /** Tables with more rows are split by year, where their definition says of which column. */
  readonly splitAboveRows: number
}

export interface PreviousTable {
  /** Without files where one of them was found to be unusable: then only its columns are gone on from. */
  readonly table: ManifestTable
  /** Whether the DuckDB at work wrote it: fingerprints of another version cannot be compared. */
  readonly isSameEngine: boolean
  /** Whether an object is in the store, whole as far as its size tells. */
  readonly isThere: (file: { readonly key: string; readonly bytes: number }) => boolean
  /** A local file with the bytes of an object; null when it is not there. */
  readonly localPath: (key: string) => Promise<string | null>
}

export interface ExportedTable {
  readonly table: ManifestTable
  readonly files: readonly ScratchFile[]
  /** Whether the table was read to find out what changed. */
  readonly isRead: boolean
}

/** A file of the snapshot before cannot be read. */
export class UnusableFilesError extends Error {
  override readonly name = 'UnusableFilesError'
  readonly table: string

  constructor(table: string, why: string) {
    super(`a file of ${table} cannot be used: ${why}`)
    this.table = table
  }
}

const COPY = 'temp."copied view"'

/**
 * Exports one table. Call it for all tables within one transaction: then they belong together.
 * @throws PublishError when the table is not there, lacks a column it is sorted by, or has a column that Parquet
 *   cannot hold exactly
 * @throws UnusableFilesError when a file of the snapshot before cannot be read: then export everything again, this table
 *   without files (the engine goes on with no transaction in which a statement failed)
 * @throws WrongChangesError when `changes` do not fit the table: then export everything again, this table without them
 */
export async function exportTable(
  definition: TableDefinition,
  context: ExportContext,
): Promise<ExportedTable> {
  const { warehouse, previous, compact, splitAboveRows } = context
  const columns = await publishedColumns(warehouse, definition, previous?.table)
  const base = baseOf(definition, columns, previous)
  const before = base?.table.partition_by?.column ?? null
  const threshold = before === null || compact ? splitAboveRows : 0
  const isView = definition.kind === 'view'
  const changes = base === undefined ? null : changesOf(definition, context, base)
  if (base !== undefined && changes !== null) {
    // The rows of a table are counted without reading it.
    const split = isView ? before : await splitColumn(warehouse, definition, threshold)
    if (split === before) {
      const own = { ...definition, partitionByYearOf: split }
      const rows = new KnownRows(warehouse, own, columns.columns, base.table)
      const partitions = await rows.read(changes)
      return {
        ...(await new TableExport(own, context, columns, base, rows).run(partitions)),
        isRead: false,
      }
    }
  }
  // Several statements read it, and each would compute a view again.
  const source = isView ? COPY : `main.${quoteIdentifier(definition.name)}`
  if (isView)
    await warehouse.run(
      `create temp table ${COPY} as from main.${quoteIdentifier(definition.name)}`,
    )
  const split = await splitColumn(warehouse, definition, threshold, source)
  const own = { ...definition, partitionByYearOf: split }
  const rows = new TableRows(warehouse, source, columns.columns)
  const partitions = await rows.read(own, columns.columns, base !== undefined && !compact)
  const exported = await new TableExport(own, context, columns, base, rows).run(partitions)
  if (isView) await warehouse.run(`drop table ${COPY}`)
  return { ...exported, isRead: true }
}

/** The snapshot before, where its files can stand beside new ones. */
function baseOf(
  { key }: TableDefinition,
  { columns }: PublishedColumns,
  previous: PreviousTable | undefined,
): PreviousTable | undefined {
  if (previous === undefined || !hasSameColumns(previous.table, columns)) return undefined
  return previous.table.key.join() === key.join() ? previous : undefined
}

/** What is known to have changed since the snapshot before; null where the table is compared by reading. */
function changesOf(
  { name }: TableDefinition,
  { changes, compact }: ExportContext,
  { table, isSameEngine, isThere }: PreviousTable,
): ChangesSince | null {
  if (changes === null || changes.inAll.has(name) || compact || !isSameEngine) return null
  // Nor does a fingerprint of files follow from what rows came and went.
  if (table.partitions.some(({ fingerprint }) => isOfFiles(fingerprint))) return null
  const objects = objectsOf({ tables: [table] })
  return objects.length > 0 && objects.every(isThere) ? changes : null
}

interface PartitionPlan {
  readonly partition: Partition
  readonly state: PartitionState
  /** Its files in the snapshot before that stay. */
  readonly kept: readonly ManifestFile[]
}

const DELETES = 'temp."deleted rows"'
const DELETION_VECTOR_COLUMNS = [
  { name: 'file', type: 'VARCHAR', field_id: 1, comment: null },
  { name: 'position', type: 'BIGINT', field_id: 2, comment: null },
]

class TableExport {
  readonly #definition: TableDefinition
  readonly #context: ExportContext
  readonly #columns: PublishedColumns
  readonly #base: PreviousTable | undefined
  readonly #rows: RowsToExport
  readonly #written: ScratchFile[] = []

  constructor(
    definition: TableDefinition,
    context: ExportContext,
    columns: PublishedColumns,
    base: PreviousTable | undefined,
    rows: RowsToExport,
  ) {
    this.#definition = definition
    this.#context = context
    this.#columns = columns
    this.#base = base
    this.#rows = rows
  }

  async run(partitions: readonly Partition[]): Promise<Omit<ExportedTable, 'isRead'>> {
    const { name, grain, key, partitionByYearOf: split } = this.#definition
    const { columns, lastFieldId } = this.#columns
    const plans: PartitionPlan[] = []
    for (const partition of partitions) plans.push(await this.#plan(partition))
    const added = plans.filter(({ state }) => state === 'appended' || state === 'replaced')
    await this.#rows.readFresh(added.map(({ partition }) => partition))
    const all: ManifestFile[] = []
    for (const plan of plans) all.push(...plan.kept, ...(await this.#writeRows(plan)))
    const { files, deletionVector } = await this.#writeDeletes(all)
    await this.#rows.drop()
    const table: ManifestTable = {
      name,
      grain,
      key: [...key],
      partition_by: split === null ? null : { column: split, unit: 'year' as const },
      schema: [...columns],
      last_field_id: lastFieldId,
      rows: sum(partitions.map((partition) => partition.rows)),
      bytes: sum(files.map(({ bytes }) => bytes)) + (deletionVector?.bytes ?? 0),
      partitions: partitions.map((partition) => {
        return { name: partition.name, rows: partition.rows, fingerprint: partition.fingerprint }
      }),
      deletion_vector: deletionVector,
      files,
    }
    refuseMiscounted(table)
    return { table, files: this.#written }
  }

  async #plan(partition: Partition): Promise<PartitionPlan> {
    const rewritten = { partition, state: 'rewritten', kept: [] } as const
    const base = this.#base
    const { compact } = this.#context
    const before = this.#filesBefore(partition)
    if (base === undefined || before.length === 0) return rewritten
    const isOneWhole = before.length === 1 && before[0]?.deletes === 0
    if (this.#isUnchanged(partition) && (!compact || isOneWhole)) {
      return { partition, state: 'unchanged', kept: before }
    }
    const kept = compact ? [] : filesToKeep(before)
    if (kept.length === 0) return rewritten
    const rest = before.filter((file) => !kept.includes(file))
    const files = {
      kept: await this.#stored(base.table, kept),
      others: rest.length === 0 ? null : await this.#stored(base.table, rest),
    }
    const changes = await this.#rows.compare(partition, files).catch((error: unknown) => {
      throw error instanceof WrongChangesError ? error : this.#unusable(messageOf(error))
    })
    const state = stateOf({ rows: partition.rows, kept, ...changes })
    return state === 'rewritten' ? rewritten : { partition, state, kept }
  }

  /** The partition's files in the snapshot before; none where one of them is missing. */
  #filesBefore({ name }: Partition): readonly ManifestFile[] {
    const base = this.#base
    if (base === undefined) return []
    const files = base.table.files.filter((file) => file.partition === name)
    const vector = base.table.deletion_vector
    const needed = vector === null ? files : [...files, vector]
    return needed.every(base.isThere) ? files : []
  }

  #isUnchanged({ name, rows, fingerprint }: Partition): boolean {
    const before = this.#base?.table.partitions.find((partition) => partition.name === name)
    const isSame = before?.fingerprint === fingerprint && before.rows === rows
    return isSame && this.#base?.isSameEngine === true
  }

  #stored(table: ManifestTable, files: readonly ManifestFile[]): Promise<RowSource> {
    return localRows(table, files, ({ key }) => this.#local(key))
  }

  async #local(key: string): Promise<string> {
    const path = await this.#base?.localPath(key)
    if (path === undefined || path === null) throw this.#unusable(`${key} is not there`)
    // A wrong data file is seen by its rows. A wrong deletion vector would take other rows away unnoticed.
    const vector = this.#base?.table.deletion_vector
    if (key !== vector?.key || (await sha256OfFile(path)) === vector.sha256) return path
    throw this.#unusable(`${key} has other bytes than it was written with`)
  }

  #unusable(why: string): UnusableFilesError {
    return new UnusableFilesError(this.#definition.name, why)
  }

  /** Writes what a partition has and its kept files have not; no file where that is nothing. */
  async #writeRows({ partition, state }: PartitionPlan): Promise<ManifestFile[]> {
    if (state === 'unchanged' || state === 'reduced') return []
    const { name: table, key } = this.#definition
    const rows = state === 'rewritten' ? this.#rows.of(partition) : this.#rows.freshOf(partition)
    const source = { columns: this.#columns.columns, key, from: `from ${rows}` }
    const path = join(this.#context.folder, `${table}.${partition.name}.${state}.parquet`)
    const { path: _, ...file } = await writeParquet(this.#context.warehouse, source, path)
    const own = this.#context.ownKey(fileKey(table, partition.name, file.sha256))
    this.#written.push({ key: own, path, bytes: file.bytes, rows: file.rows })
    return [{ ...file, key: own, partition: partition.name, deletes: 0 }]
  }

  /**
   * Writes the deletion vector: what the one before names of the files that stay, and the rows of them that are gone since.
   * @returns the files with their number of deletes, without those of which every row is deleted
   */
  async #writeDeletes(
    all: readonly ManifestFile[],
  ): Promise<{ files: ManifestFile[]; deletionVector: ManifestTable['deletion_vector'] }> {
    const { warehouse, folder, ownKey } = this.#context
    const { name } = this.#definition
    const ofFiles = `file in (${all.map(({ sha256 }) => quoteText(sha256)).join(', ')})`
    // Not of a file that is written again with the bytes of one before: it is whole.
    const reduced = all.filter((file) => file.deletes > 0).map(({ sha256 }) => quoteText(sha256))
    const before = reduced.length > 0 ? this.#base?.table.deletion_vector : null
    const kept = before
      ? `union all select file, position
         from read_parquet(${quotePath(await this.#local(before.key))}, hive_partitioning = false)
         where file in (${reduced.join(', ')})`
      : ''
    await warehouse.run(
      `create temp table ${DELETES} as select file, position
       from (select stored_in as file, stored_at as position from ${this.#rows.gone}) where ${ofFiles} ${kept}`,
    )
    const counts = await warehouse.all<{ file: string; deletes: bigint }>(
      `select file, count(*) as deletes from ${DELETES} group by file`,
    )
    const deletesOf = new Map(counts.map(({ file, deletes }) => [file, Number(deletes)]))
    const files = all
      .map((file) => ({ ...file, deletes: deletesOf.get(file.sha256) ?? 0 }))
      .filter((file) => file.rows === 0 || file.deletes < file.rows)
    const hashes = files.filter((file) => file.deletes > 0).map(({ sha256 }) => quoteText(sha256))
    let deletionVector: ManifestTable['deletion_vector'] = null
    if (hashes.length > 0) {
      const from = `from ${DELETES} where file in (${hashes.join(', ')})`
      const source = { columns: DELETION_VECTOR_COLUMNS, key: ['file', 'position'], from }
      const path = join(folder, `${name}.deletion-vector.parquet`)
      const { rows, bytes, sha256 } = await writeParquet(warehouse, source, path)
      const key = ownKey(fileKey(name, DELETION_VECTOR_FOLDER, sha256))
      this.#written.push({ key, path, bytes, rows })
      deletionVector = { key, rows, bytes, sha256 }
    }
    await warehouse.run(`drop table ${DELETES}`)
    return { files, deletionVector }
  }
}

// The last line of defence: a wrong count here would be a wrong table for every reader.
function refuseMiscounted({ name, rows, files }: ManifestTable): void {
  const live = sum(files.map((file) => file.rows - file.deletes))
  if (live === rows) return
  throw new PublishError(`${name}: ${live} rows would be published where ${rows} belong`)
}
