/**
 * One table of the warehouse as it will stand in the next snapshot: which files of the snapshot before stay, and what is
 * written to the scratch folder beside them. The same rows over the same snapshot give the same files.
 */

import { join } from 'node:path'
import { messageOf } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { hasSameColumns, publishedColumns, type PublishedColumns } from './columns.ts'
import { writeDataFile, type DataFile } from './data-file.ts'
import { DeletionVectorWriter } from './deletion-vector.ts'
import { PublishError } from './errors.ts'
import { filesToKeep, isWrittenWhole } from './layout.ts'
import { localRows } from './live-rows.ts'
import type { ManifestFile, ManifestTable } from './manifest.ts'
import { sha256OfFile, type ScratchFile } from './parquet.ts'
import type { Partition } from './partitions.ts'
import { TableRows, type RowDifferences } from './table-rows.ts'

/** What the export of one table needs. */
export interface ExportContext {
  readonly warehouse: Warehouse
  /** Where files are written. */
  readonly folder: string
  /** The table in the snapshot before, and how its files are reached; absent: it was not there, or nothing of it is to be kept. */
  readonly previous: PreviousTable | undefined
  /** The version of DuckDB at work: fingerprints of another one cannot be compared. */
  readonly engine: string
  /** Write every partition as one file, whatever changed. */
  readonly compact: boolean
}

/** A table of the snapshot before. */
export interface PreviousTable {
  readonly table: ManifestTable
  /** Whether a file of it was found to be unusable: then only its columns are gone on from. */
  readonly isDistrusted: boolean
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

/** What becomes of one partition. */
interface PartitionPlan {
  readonly partition: Partition
  /** Its files in the snapshot before that stay. */
  readonly kept: readonly ManifestFile[]
  /** What is written beside them. */
  readonly write: 'nothing' | 'whole' | 'changed'
}

/** The files of one partition from now on. */
interface PartitionFiles {
  readonly files: readonly ManifestFile[]
  readonly written: readonly ScratchFile[]
}

/**
 * Exports one table. Call it for all tables within one transaction: then they belong together.
 * @throws PublishError when the table is not there, lacks a column it is sorted by, or has a column that Parquet
 *   cannot hold exactly
 * @throws UnusableFilesError when a file of the snapshot before cannot be read: then export everything again, this table
 *   distrusted (the engine goes on with no transaction in which a statement failed)
 */
export async function exportTable(
  definition: TableDefinition,
  context: ExportContext,
): Promise<ExportedTable> {
  const { warehouse, previous } = context
  const columns = await publishedColumns(warehouse, definition, previous?.table)
  return new TableExport(definition, context, columns).run()
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
    this.#base =
      previous !== undefined &&
      !previous.isDistrusted &&
      hasSameColumns(previous.table, columns.columns) &&
      previous.table.key.join() === definition.key.join()
        ? previous
        : undefined
  }

  async run(): Promise<ExportedTable> {
    const { warehouse, folder } = this.#context
    const { name, grain, key, partitionByYearOf } = this.#definition
    const isCompared = this.#base !== undefined && !this.#context.compact
    const rows = await TableRows.read(
      warehouse,
      this.#definition,
      this.#columns.columns,
      isCompared,
    )
    const { partitions } = rows
    const deleted = await DeletionVectorWriter.of(warehouse)
    const plans: PartitionPlan[] = []
    for (const partition of partitions) plans.push(await this.#plan(partition, rows, deleted))
    const parts = await this.#writeAll(plans, rows)
    await rows.drop()
    const counts = await deleted.countByFile()
    const files = parts
      .flatMap((part) => part.files)
      .map((file) => ({ ...file, deletes: counts.get(file.sha256) ?? 0 }))
      .filter((file) => file.rows === 0 || file.deletes < file.rows)
    const list = await deleted.write(name, files, folder)
    await deleted.drop()
    const written = parts.flatMap((part) => part.written)
    const table: ManifestTable = {
      name,
      grain,
      key: [...key],
      partition_by:
        partitionByYearOf === null ? null : { column: partitionByYearOf, unit: 'year' as const },
      schema: [...this.#columns.columns],
      last_field_id: this.#columns.lastFieldId,
      rows: sum(partitions.map((partition) => partition.rows)),
      bytes: sum(files.map(({ bytes }) => bytes)) + (list?.entry.bytes ?? 0),
      partitions: partitions.map((partition) => ({
        name: partition.name,
        rows: partition.rows,
        fingerprint: partition.fingerprint,
      })),
      deletion_vector: list?.entry ?? null,
      files,
    }
    refuseMiscounted(table)
    return { table, files: list === null ? written : [...written, list.file] }
  }

  async #plan(
    partition: Partition,
    rows: TableRows,
    deleted: DeletionVectorWriter,
  ): Promise<PartitionPlan> {
    const whole = { partition, kept: [], write: 'whole' } as const
    const before = this.#filesBefore(partition)
    if (before === null) return whole
    if (this.#isUnchanged(partition) && !this.#isCompacted(before)) {
      await this.#keepDeleted(before, deleted)
      return { partition, kept: before, write: 'nothing' }
    }
    const kept = this.#context.compact ? [] : filesToKeep(before)
    if (kept.length === 0) return whole
    const { gone, goneRows, freshRows } = await this.#compare(partition, rows, kept)
    if (isWrittenWhole({ rows: partition.rows, kept, gone: goneRows, fresh: freshRows })) {
      return whole
    }
    await this.#keepDeleted(kept, deleted)
    await deleted.add(gone)
    return { partition, kept, write: freshRows === 0 ? 'nothing' : 'changed' }
  }

  /** The partition's files in the snapshot before; null where there are none to go on from. */
  #filesBefore(partition: Partition): ManifestFile[] | null {
    const base = this.#base
    if (base === undefined) return null
    const files = base.table.files.filter((file) => file.partition === partition.name)
    const deleted = base.table.deletion_vector
    const needed = [...files, ...(deleted === null ? [] : [deleted])]
    return files.length > 0 && needed.every(base.isThere) ? files : null
  }

  #isUnchanged({ name, rows, fingerprint }: Partition): boolean {
    const before = this.#base?.table.partitions.find((partition) => partition.name === name)
    return (
      this.#base?.engine === this.#context.engine &&
      before?.fingerprint === fingerprint &&
      before.rows === rows
    )
  }

  #isCompacted(files: readonly ManifestFile[]): boolean {
    return this.#context.compact && (files.length > 1 || files.some((file) => file.deletes > 0))
  }

  async #keepDeleted(files: readonly ManifestFile[], deleted: DeletionVectorWriter): Promise<void> {
    const list = this.#base?.table.deletion_vector ?? null
    if (list === null || files.every((file) => file.deletes === 0)) return
    await deleted.keep(await this.#local(list.key), files)
  }

  async #local(key: string): Promise<string> {
    const path = await this.#base?.localPath(key)
    if (path === undefined || path === null) throw this.#unusable(`${key} is not there`)
    // A wrong data file is seen by its rows; a wrong list would take other rows away, and nobody would notice.
    const list = this.#base?.table.deletion_vector
    if (key !== list?.key || (await sha256OfFile(path)) === list.sha256) return path
    throw this.#unusable(`${key} has other bytes than it was written with`)
  }

  #unusable(why: string): UnusableFilesError {
    return new UnusableFilesError(this.#definition.name, why)
  }

  async #compare(
    partition: Partition,
    rows: TableRows,
    kept: readonly ManifestFile[],
  ): Promise<RowDifferences> {
    const base = this.#base
    if (base === undefined) throw new RangeError('there is nothing to compare with')
    const stored = await localRows(base.table, kept, ({ key }) => this.#local(key))
    return rows.compare(partition, stored).catch((error: unknown) => {
      throw this.#unusable(messageOf(error))
    })
  }

  async #writeAll(plans: readonly PartitionPlan[], rows: TableRows): Promise<PartitionFiles[]> {
    const changed = plans.filter(({ write }) => write === 'changed')
    await rows.keepFresh(changed.map(({ partition }) => partition))
    const parts: PartitionFiles[] = []
    for (const { partition, kept, write } of plans) {
      if (write === 'nothing') {
        parts.push({ files: kept, written: [] })
        continue
      }
      const source = write === 'whole' ? rows.of(partition) : rows.freshOf(partition)
      const { entry, file } = await this.#write(partition, source, write)
      parts.push({ files: [...kept, entry], written: [file] })
    }
    return parts
  }

  async #write(partition: Partition, source: string, what: 'whole' | 'changed'): Promise<DataFile> {
    const { warehouse, folder } = this.#context
    const { name: table, key } = this.#definition
    return writeDataFile(
      warehouse,
      {
        table,
        partition: partition.name,
        columns: this.#columns.columns,
        key,
        from: `from ${source}`,
      },
      join(folder, `${table}.${partition.name}.${what}.parquet`),
    )
  }
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

// The last line of defence: a wrong count here would be a wrong table for every reader.
function refuseMiscounted({ name, rows, files }: ManifestTable): void {
  const live = sum(files.map((file) => file.rows - file.deletes))
  if (live === rows) return
  throw new PublishError(`${name}: ${live} rows would be published where ${rows} belong`)
}
