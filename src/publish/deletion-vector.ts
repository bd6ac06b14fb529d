/** The file of a table's deleted rows: which rows of which data files are no longer so. */

import { join } from 'node:path'
import { quoteText, type Warehouse } from '../warehouse/warehouse.ts'
import { DELETION_VECTOR_FOLDER, fileKey } from './keys.ts'
import type { ManifestFile, ManifestTable } from './manifest.ts'
import { writeParquet, type ScratchFile } from './parquet.ts'

const COLUMNS = [
  { name: 'file', type: 'VARCHAR', field_id: 1, comment: null },
  { name: 'position', type: 'BIGINT', field_id: 2, comment: null },
]

/** Gathers the deleted rows of one table and writes them to one file. */
export class DeletionVectorWriter {
  readonly #warehouse: Warehouse
  readonly #name: string

  private constructor(warehouse: Warehouse, name: string) {
    this.#warehouse = warehouse
    this.#name = name
  }

  /** Nothing is deleted yet. */
  static async of(warehouse: Warehouse): Promise<DeletionVectorWriter> {
    const name = 'temp."deleted rows"'
    await warehouse.run(
      `create temp table ${name} (file varchar not null, position bigint not null)`,
    )
    return new DeletionVectorWriter(warehouse, name)
  }

  /** Adds those that the snapshot before knew, of these files. @param path its file of deleted rows */
  async keep(path: string, files: readonly ManifestFile[]): Promise<void> {
    const hashes = files.filter((file) => file.deletes > 0).map((file) => file.sha256)
    if (hashes.length === 0) return
    await this.#warehouse.run(
      `insert into ${this.#name} select file, position from read_parquet(${quoteText(path)}, hive_partitioning = false)
       where file in (${hashes.map(quoteText).join(', ')})`,
    )
  }

  /** Adds rows of a relation with `stored_in` and `stored_at`. */
  async add(relation: string): Promise<void> {
    await this.#warehouse.run(
      `insert into ${this.#name} select stored_in, stored_at from ${relation}`,
    )
  }

  /** How many rows of each file are deleted, by its SHA-256. */
  async countByFile(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#warehouse.all<{ file: string; deleted: bigint }>(
      `select file, count(*) as deleted from ${this.#name} group by file`,
    )
    return new Map(rows.map(({ file, deleted }) => [file, Number(deleted)]))
  }

  /** Forgets all of them. */
  async drop(): Promise<void> {
    await this.#warehouse.run(`drop table ${this.#name}`)
  }

  /** Writes the file; null when no row of `files` is deleted. Those of other files are left out. */
  async write(
    table: string,
    files: readonly ManifestFile[],
    folder: string,
  ): Promise<{ entry: NonNullable<ManifestTable['deletion_vector']>; file: ScratchFile } | null> {
    const hashes = files.filter((file) => file.deletes > 0).map((file) => file.sha256)
    if (hashes.length === 0) return null
    const from = `from ${this.#name} where file in (${hashes.map(quoteText).join(', ')})`
    const { path, rows, bytes, sha256 } = await writeParquet(
      this.#warehouse,
      { columns: COLUMNS, key: ['file', 'position'], from },
      join(folder, `${table}.deleted.parquet`),
    )
    const key = fileKey(table, DELETION_VECTOR_FOLDER, sha256)
    return { entry: { key, rows, bytes, sha256 }, file: { key, path, bytes, rows } }
  }
}
