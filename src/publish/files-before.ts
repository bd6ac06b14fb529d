/** The files of one table in the snapshot before, for an export that goes on from them. */

import { localRows, type RowSource } from './live-rows.ts'
import { objectsOf, type ManifestFile, type ManifestTable } from './manifest.ts'
import { sha256OfFile } from './parquet.ts'

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

/** A file of the snapshot before cannot be read. */
export class UnusableFilesError extends Error {
  override readonly name = 'UnusableFilesError'
  readonly table: string

  constructor(table: string, why: string) {
    super(`a file of ${table} cannot be used: ${why}`)
    this.table = table
  }
}

export class FilesBefore {
  readonly table: ManifestTable
  readonly isSameEngine: boolean
  readonly #previous: PreviousTable

  constructor(previous: PreviousTable) {
    this.table = previous.table
    this.isSameEngine = previous.isSameEngine
    this.#previous = previous
  }

  /** Whether there are any, and none is missing. */
  areThere(): boolean {
    const objects = objectsOf({ tables: [this.table] })
    return objects.length > 0 && objects.every(this.#previous.isThere)
  }

  /** Those of a partition; none where one of them is missing. */
  of(partition: string): readonly ManifestFile[] {
    const files = this.table.files.filter((file) => file.partition === partition)
    const vector = this.table.deletion_vector
    const needed = vector === null ? files : [...files, vector]
    return needed.every(this.#previous.isThere) ? files : []
  }

  /** @throws UnusableFilesError when one of them is missing, or what is deleted of them cannot be told */
  rows(files: readonly ManifestFile[]): Promise<RowSource> {
    return localRows(this.table, files, ({ key }) => this.path(key))
  }

  /** A local copy of one. @throws UnusableFilesError as `rows` does */
  async path(key: string): Promise<string> {
    const path = await this.#previous.localPath(key)
    if (path === null) throw this.unusable(`${key} is not there`)
    // A wrong data file is seen by its rows. A wrong deletion vector would take other rows away unnoticed.
    const vector = this.table.deletion_vector
    if (key !== vector?.key || (await sha256OfFile(path)) === vector.sha256) return path
    throw this.unusable(`${key} has other bytes than it was written with`)
  }

  unusable(why: string): UnusableFilesError {
    return new UnusableFilesError(this.table.name, why)
  }
}
