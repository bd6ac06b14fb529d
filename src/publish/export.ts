/**
 * One table of the warehouse as it will stand in the next snapshot: which files of the snapshot before stay, and what is
 * written beside them. layout.ts has the states. The same rows over the same snapshot give the same files.
 */

import { join } from 'node:path'
import { messageOf } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { hasSameColumns, publishedColumns, type PublishedColumns } from './columns.ts'
import { writeDataFile } from './data-file.ts'
import { DeletionVectorWriter } from './deletion-vector.ts'
import { PublishError } from './errors.ts'
import { filesToKeep, stateOf, type PartitionState } from './layout.ts'
import { localRows } from './live-rows.ts'
import type { ManifestFile, ManifestTable } from './manifest.ts'
import { sha256OfFile, type ScratchFile } from './parquet.ts'
import { splitColumn, type Partition } from './partitions.ts'
import { TableRows } from './table-rows.ts'

/** What the export of one table needs. */
export interface ExportContext {
  readonly warehouse: Warehouse
  /** Where files are written. */
  readonly folder: string
  /** Absent: the snapshot before, if any, did not have the table. */
  readonly previous: PreviousTable | undefined
  /** The version of DuckDB at work: fingerprints of another one cannot be compared. */
  readonly engine: string
  /** Rewrites every partition that is not one whole file. */
  readonly compact: boolean
  /** Tables with more rows are split by year, where their definition says of which column. */
  readonly splitAboveRows: number
}

/** A table of the snapshot before. */
export interface PreviousTable {
  /** Without files where one of them was found to be unusable: then only its columns are gone on from. */
  readonly table: ManifestTable
  /** The version of DuckDB that wrote it. */
  readonly engine: string
  /** Whether an object is in the store, whole as far as its size tells. */
  readonly isThere: (file: { readonly key: string; readonly bytes: number }) => boolean
  /** A local file with the bytes of an object; null when it is not there. */
  readonly localPath: (key: string) => Promise<string | null>
}

/** A table as it will stand in the manifest, and its files that are new. */
export interface ExportedTable {
  readonly table: ManifestTable
  readonly files: readonly ScratchFile[]
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

/**
 * Exports one table. Call it for all tables within one transaction: then they belong together.
 * @throws PublishError when the table is not there, lacks a column it is sorted by, or has a column that Parquet
 *   cannot hold exactly
 * @throws UnusableFilesError when a file of the snapshot before cannot be read: then export everything again, this table
 *   without files (the engine goes on with no transaction in which a statement failed)
 */
export async function exportTable(
  definition: TableDefinition,
  context: ExportContext,
): Promise<ExportedTable> {
  const { warehouse, previous, compact, splitAboveRows } = context
  const columns = await publishedColumns(warehouse, definition, previous?.table)
  const wasSplit = !compact && previous !== undefined && previous.table.partition_by !== null
  const split = await splitColumn(warehouse, definition, wasSplit ? 0 : splitAboveRows)
  const own = { ...definition, partitionByYearOf: split }
  return new TableExport(own, context, columns).run()
}

/** What becomes of one partition. */
interface PartitionPlan {
  readonly partition: Partition
  readonly state: PartitionState
  /** Its files in the snapshot before that stay. */
  readonly kept: readonly ManifestFile[]
  /** Rows in none of them. */
  readonly fresh: number
}

class TableExport {
  readonly #definition: TableDefinition
  readonly #context: ExportContext
  readonly #columns: PublishedColumns
  /** The snapshot before, where its files can stand beside new ones. */
  readonly #base: PreviousTable | undefined

  constructor(definition: TableDefinition, context: ExportContext, columns: PublishedColumns) {
    this.#definition = definition
    this.#context = context
    this.#columns = columns
    const { previous } = context
    const canGoOn =
      previous !== undefined &&
      hasSameColumns(previous.table, columns.columns) &&
      previous.table.key.join() === definition.key.join()
    this.#base = canGoOn ? previous : undefined
  }

  async run(): Promise<ExportedTable> {
    const { warehouse, folder, compact } = this.#context
    const { name, grain, key, partitionByYearOf: split } = this.#definition
    const { columns, lastFieldId } = this.#columns
    const isCompared = this.#base !== undefined && !compact
    const rows = new TableRows(warehouse, name, columns)
    const partitions = await rows.read(this.#definition, isCompared)
    const vector = await DeletionVectorWriter.of(warehouse)
    const plans: PartitionPlan[] = []
    for (const partition of partitions) plans.push(await this.#plan(partition, rows, vector))
    const { files: all, written } = await this.#write(plans, rows)
    await rows.drop()
    const { files, deletionVector } = await vector.write(name, all, folder)
    if (deletionVector !== null) written.push(deletionVector.file)
    const table: ManifestTable = {
      name,
      grain,
      key: [...key],
      partition_by: split === null ? null : { column: split, unit: 'year' as const },
      schema: [...columns],
      last_field_id: lastFieldId,
      rows: sum(partitions.map((partition) => partition.rows)),
      bytes: sum(files.map(({ bytes }) => bytes)) + (deletionVector?.entry.bytes ?? 0),
      partitions: partitions.map((partition) => {
        return { name: partition.name, rows: partition.rows, fingerprint: partition.fingerprint }
      }),
      deletion_vector: deletionVector?.entry ?? null,
      files,
    }
    refuseMiscounted(table)
    return { table, files: written }
  }

  async #plan(
    partition: Partition,
    rows: TableRows,
    vector: DeletionVectorWriter,
  ): Promise<PartitionPlan> {
    const rewritten = { partition, state: 'rewritten', kept: [], fresh: partition.rows } as const
    const { compact } = this.#context
    const before = this.#filesBefore(partition)
    if (before.length === 0) return rewritten
    const isOneWhole = before.length === 1 && before[0]?.deletes === 0
    if (this.#isUnchanged(partition) && (!compact || isOneWhole)) {
      await this.#keepDeletes(before, vector)
      return { partition, state: 'unchanged', kept: before, fresh: 0 }
    }
    const kept = compact ? [] : filesToKeep(before)
    if (this.#base === undefined || kept.length === 0) return rewritten
    const stored = await localRows(this.#base.table, kept, ({ key }) => this.#local(key))
    const { gone, goneRows, freshRows } = await rows
      .compare(partition, stored)
      .catch((error: unknown) => {
        throw this.#unusable(messageOf(error))
      })
    const state = stateOf({ rows: partition.rows, kept, gone: goneRows, fresh: freshRows })
    if (state === 'rewritten') return rewritten
    await this.#keepDeletes(kept, vector)
    await vector.add(gone)
    return { partition, state, kept, fresh: freshRows }
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
    return (
      this.#base?.engine === this.#context.engine &&
      before?.fingerprint === fingerprint &&
      before.rows === rows
    )
  }

  async #keepDeletes(files: readonly ManifestFile[], vector: DeletionVectorWriter): Promise<void> {
    const stored = this.#base?.table.deletion_vector ?? null
    if (stored === null || files.every((file) => file.deletes === 0)) return
    await vector.keep(await this.#local(stored.key), files)
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

  async #write(
    plans: readonly PartitionPlan[],
    rows: TableRows,
  ): Promise<{ files: ManifestFile[]; written: ScratchFile[] }> {
    const { warehouse, folder } = this.#context
    const { name: table, key } = this.#definition
    const { columns } = this.#columns
    const isAdded = ({ state, fresh }: PartitionPlan) => state !== 'rewritten' && fresh > 0
    await rows.keepFresh(plans.filter(isAdded).map(({ partition }) => partition))
    const files: ManifestFile[] = []
    const written: ScratchFile[] = []
    for (const plan of plans) {
      const { partition, state, kept } = plan
      files.push(...kept)
      if (state !== 'rewritten' && !isAdded(plan)) continue
      const from = `from ${state === 'rewritten' ? rows.of(partition) : rows.freshOf(partition)}`
      const path = join(folder, `${table}.${partition.name}.${state}.parquet`)
      const source = { table, partition: partition.name, columns, key, from }
      const { entry, file } = await writeDataFile(warehouse, source, path)
      files.push(entry)
      written.push(file)
    }
    return { files, written }
  }
}

// The last line of defence: a wrong count here would be a wrong table for every reader.
function refuseMiscounted({ name, rows, files }: ManifestTable): void {
  const live = sum(files.map((file) => file.rows - file.deletes))
  if (live === rows) return
  throw new PublishError(`${name}: ${live} rows would be published where ${rows} belong`)
}
