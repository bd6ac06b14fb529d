/**
 * Writes the deletion vector of a table: which rows of which data files are deleted, by position (positional deletes).
 * export.ts finds the rows; delta/inline-vector.ts says the same in the Delta log.
 */

import { join } from 'node:path'
import { quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { DELETION_VECTOR_FOLDER, fileKey } from './keys.ts'
import type { ManifestFile, ManifestTable } from './manifest.ts'
import { writeParquet, type ScratchFile } from './parquet.ts'

const TABLE = 'temp."deleted positions"'

const COLUMNS = [
  { name: 'file', type: 'VARCHAR', field_id: 1, comment: null },
  { name: 'position', type: 'BIGINT', field_id: 2, comment: null },
]

/** A deletion vector that was written. */
export interface WrittenDeletionVector {
  readonly entry: NonNullable<ManifestTable['deletion_vector']>
  readonly file: ScratchFile
}

/** Gathers the deletes of one table, one table at a time, and writes them to one file. */
export class DeletionVectorWriter {
  readonly #warehouse: Warehouse

  private constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  /** Nothing is deleted yet. */
  static async of(warehouse: Warehouse): Promise<DeletionVectorWriter> {
    await warehouse.run(
      `create temp table ${TABLE} (file varchar not null, position bigint not null)`,
    )
    return new DeletionVectorWriter(warehouse)
  }

  /** Adds what the deletion vector at `path` names of these files. */
  async keep(path: string, files: readonly ManifestFile[]): Promise<void> {
    const hashes = files.filter((file) => file.deletes > 0).map((file) => quoteText(file.sha256))
    if (hashes.length === 0) return
    await this.#warehouse.run(
      `insert into ${TABLE} select file, position from read_parquet(${quoteText(path)}, hive_partitioning = false)
       where file in (${hashes.join(', ')})`,
    )
  }

  /** Adds rows of a relation with `stored_in` and `stored_at`. */
  async add(relation: string): Promise<void> {
    await this.#warehouse.run(`insert into ${TABLE} select stored_in, stored_at from ${relation}`)
  }

  /**
   * Writes the file, and forgets what was gathered.
   * @returns the files with their number of deletes, without those of which every row is deleted; and the deletion vector,
   *   null when no row of them is deleted
   */
  async write(
    table: string,
    all: readonly ManifestFile[],
    folder: string,
  ): Promise<{ files: ManifestFile[]; deletionVector: WrittenDeletionVector | null }> {
    const counts = await this.#warehouse.all<{ file: string; deletes: bigint }>(
      `select file, count(*) as deletes from ${TABLE} group by file`,
    )
    const deletesOf = new Map(counts.map(({ file, deletes }) => [file, Number(deletes)]))
    const files = all
      .map((file) => ({ ...file, deletes: deletesOf.get(file.sha256) ?? 0 }))
      .filter((file) => file.rows === 0 || file.deletes < file.rows)
    const hashes = files.filter((file) => file.deletes > 0).map((file) => quoteText(file.sha256))
    let deletionVector: WrittenDeletionVector | null = null
    if (hashes.length > 0) {
      const from = `from ${TABLE} where file in (${hashes.join(', ')})`
      const { path, rows, bytes, sha256 } = await writeParquet(
        this.#warehouse,
        { columns: COLUMNS, key: ['file', 'position'], from },
        join(folder, `${table}.deletion-vector.parquet`),
      )
      const key = fileKey(table, DELETION_VECTOR_FOLDER, sha256)
      deletionVector = { entry: { key, rows, bytes, sha256 }, file: { key, path, bytes, rows } }
    }
    await this.#warehouse.run(`drop table ${TABLE}`)
    return { files, deletionVector }
  }
}
