/** The files of one table in the snapshot before, for an export that goes on from them. */

import { StorageError, messageOf } from '../support/errors.ts'
import type { NamedObject } from './file-cache.ts'
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
  /** Local copies that are proven, by key: each partition asks for the deletion vector again. */
  readonly #proven = new Map<string, string>()

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

  /** To be compared with rows that are known: so a wrong one is seen. @throws UnusableFilesError as `wholeRows` does */
  rows(files: readonly ManifestFile[]): Promise<RowSource> {
    // Not so a wrong deletion vector, which would take other rows away.
    return localRows(this.table, files, (object) =>
      object.key === this.table.deletion_vector?.key ? this.whole(object) : this.#path(object.key),
    )
  }

  /** To be written again as they are. @throws UnusableFilesError when one is missing, or has other bytes than it was written with */
  wholeRows(files: readonly ManifestFile[]): Promise<RowSource> {
    return localRows(this.table, files, (object) => this.whole(object))
  }

  /** A local copy of one, byte for byte. @throws UnusableFilesError as `wholeRows` does */
  async whole({ key, sha256 }: Pick<NamedObject, 'key' | 'sha256'>): Promise<string> {
    const proven = this.#proven.get(key)
    if (proven !== undefined) return proven
    const path = await this.#path(key)
    if ((await sha256OfFile(path)) !== sha256) {
      throw this.unusable(`${key} has other bytes than it was written with`)
    }
    this.#proven.set(key, path)
    return path
  }

  async #path(key: string): Promise<string> {
    const path = await this.#previous.localPath(key)
    if (path === null) throw this.unusable(`${key} is not there`)
    return path
  }

  /** What to end with for what failed over them. A disk or memory that is full says nothing of files. */
  unusable(why: unknown): Error {
    return why instanceof StorageError
      ? why
      : new UnusableFilesError(this.table.name, messageOf(why))
  }
}
