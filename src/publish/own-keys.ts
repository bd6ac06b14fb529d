/**
 * Gives the new files of a snapshot keys of their own: `tables/<table>/<partition>/<snapshot id>/<content hash>.parquet`. No other
 * publish ever wrote such a key, so garbage collection cannot be about to delete it. A file whose bytes the snapshot
 * before has already keeps the key that it has there.
 */

import type { ManifestTable } from './manifest.ts'
import type { ScratchFile } from './parquet.ts'

/** A table as it will stand in the manifest, and its files that were written. */
interface TableFiles {
  readonly table: ManifestTable
  readonly files: readonly ScratchFile[]
}

/** Renames the keys of the files that were written, in the table and in the list. Pure. */
export function withOwnKeys(
  { table, files }: TableFiles,
  before: ManifestTable | undefined,
  snapshotId: string,
): TableFiles {
  const stored = [before?.files ?? [], before?.deletion_vector ?? []].flat()
  // Files of one name have one content; their folders tell partitions apart.
  const known = new Map(stored.map(({ key }) => [withoutOwner(key), key]))
  const own = new Map(
    files.map(({ key }) => [key, known.get(key) ?? key.replace(/[^/]+$/, `${snapshotId}/$&`)]),
  )
  const renamed = <T extends { readonly key: string }>(file: T): T => ({
    ...file,
    key: own.get(file.key) ?? file.key,
  })
  return {
    table: {
      ...table,
      files: table.files.map(renamed),
      deletion_vector: table.deletion_vector === null ? null : renamed(table.deletion_vector),
    },
    files: files.map(renamed),
  }
}

/** The key of a file without the id of the snapshot that wrote it. */
export function withoutOwner(key: string): string {
  return key.replace(/\/[0-9A-Z]{26}(?=\/[^/]+$)/, '')
}
