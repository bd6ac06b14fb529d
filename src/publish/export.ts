/**
 * One table of the warehouse as it will stand in the next snapshot: which files of the snapshot before stay, and what is
 * written beside them. The same rows over the same snapshot give the same files.
 */

import { join } from 'node:path'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { quotePath, quoteText } from '../warehouse/sql-text.ts'
import { hasSameColumns, publishedColumns, type PublishedColumns } from './columns.ts'
import { PublishError } from './errors.ts'
import { FilesBefore, type PreviousTable } from './files-before.ts'
import { findRows, type FoundRows, type SearchContext } from './find-rows.ts'
import { DELETION_VECTOR_FOLDER, fileKey } from './keys.ts'
import { WrongChangesError } from './known-rows.ts'
import { filesToKeep, stateOf, type PartitionState } from './layout.ts'
import type { ManifestFile, ManifestTable } from './manifest.ts'
import { writeParquet, type ScratchFile } from './parquet.ts'
import type { Partition } from './partitions.ts'

export interface ExportContext extends SearchContext {
  readonly folder: string
  /** Absent: the snapshot before, if any, did not have the table. */
  readonly previous: PreviousTable | undefined
  /** What the snapshot calls an object whose `fileKey` is `key`. */
  readonly ownKey: (key: string) => string
}

export interface ExportedTable {
  readonly table: ManifestTable
  readonly files: readonly ScratchFile[]
  /** Whether the table was read to find out what changed. */
  readonly isRead: boolean
}

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
  const { warehouse, previous } = context
  const columns = await publishedColumns(warehouse, definition, previous?.table)
  const before = filesBefore(definition, columns, previous)
  const { isRead, ...found } = await findRows(definition, context, columns.columns, before)
  const exported = await new TableExport(context, columns, before, found).run()
  return { ...exported, isRead }
}

/** The snapshot before, where its files can stand beside new ones. */
function filesBefore(
  { key }: TableDefinition,
  { columns }: PublishedColumns,
  previous: PreviousTable | undefined,
): FilesBefore | null {
  if (previous === undefined || !hasSameColumns(previous.table, columns)) return null
  return previous.table.key.join() === key.join() ? new FilesBefore(previous) : null
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
  readonly #context: ExportContext
  readonly #columns: PublishedColumns
  readonly #before: FilesBefore | null
  readonly #found: FoundRows
  readonly #written: ScratchFile[] = []

  constructor(
    context: ExportContext,
    columns: PublishedColumns,
    before: FilesBefore | null,
    found: FoundRows,
  ) {
    this.#context = context
    this.#columns = columns
    this.#before = before
    this.#found = found
  }

  async run(): Promise<Omit<ExportedTable, 'isRead'>> {
    const { definition, rows, partitions } = this.#found
    const { name, grain, key, partitionByYearOf: split } = definition
    const { columns, lastFieldId } = this.#columns
    const plans: PartitionPlan[] = []
    for (const partition of partitions) plans.push(await this.#plan(partition))
    const added = plans.filter(({ state }) => state === 'appended' || state === 'replaced')
    await rows.readFresh(added.map(({ partition }) => partition))
    const all: ManifestFile[] = []
    for (const plan of plans) all.push(...plan.kept, ...(await this.#writeRows(plan)))
    const { files, deletionVector } = await this.#writeDeletes(all)
    await rows.drop()
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
    const before = this.#before
    const { compact } = this.#context
    const had = before?.of(partition.name) ?? []
    if (before === null || had.length === 0) return rewritten
    const isOneWhole = had.length === 1 && had[0]?.deletes === 0
    if (this.#isUnchanged(partition) && (!compact || isOneWhole)) {
      return { partition, state: 'unchanged', kept: had }
    }
    const kept = compact ? [] : filesToKeep(had)
    if (kept.length === 0) return rewritten
    const rest = had.filter((file) => !kept.includes(file))
    const files = {
      kept: await before.rows(kept),
      others: rest.length === 0 ? null : await before.wholeRows(rest),
    }
    const { rows } = this.#found
    const changes = await rows.compare(partition, files).catch((error: unknown) => {
      throw error instanceof WrongChangesError ? error : before.unusable(error)
    })
    const state = stateOf({ rows: partition.rows, kept, ...changes })
    return state === 'rewritten' ? rewritten : { partition, state, kept }
  }

  #isUnchanged({ name, rows, fingerprint }: Partition): boolean {
    const before = this.#before?.table.partitions.find((partition) => partition.name === name)
    const isSame = before?.fingerprint === fingerprint && before.rows === rows
    return isSame && this.#before?.isSameEngine === true
  }

  /** Writes what a partition has and its kept files have not; no file where that is nothing. */
  async #writeRows({ partition, state }: PartitionPlan): Promise<ManifestFile[]> {
    if (state === 'unchanged' || state === 'reduced') return []
    const { definition, rows } = this.#found
    const { name: table, key, rowGroupRows } = definition
    const written = state === 'rewritten' ? rows.of(partition) : rows.freshOf(partition)
    const source = { columns: this.#columns.columns, key, from: `from ${written}`, rowGroupRows }
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
    const { definition, rows: found } = this.#found
    const { name } = definition
    const ofFiles = `file in (${all.map(({ sha256 }) => quoteText(sha256)).join(', ')})`
    // Not of a file that is written again with the bytes of one before: it is whole.
    const reduced = all.filter((file) => file.deletes > 0).map(({ sha256 }) => quoteText(sha256))
    const vector = reduced.length > 0 ? this.#before?.table.deletion_vector : null
    const kept = vector
      ? `union all select file, position
         from read_parquet(${quotePath((await this.#before?.whole(vector)) ?? '')}, hive_partitioning = false)
         where file in (${reduced.join(', ')})`
      : ''
    await warehouse.run(
      `create temp table ${DELETES} as select file, position
       from (select stored_in as file, stored_at as position from ${found.gone}) where ${ofFiles} ${kept}`,
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
