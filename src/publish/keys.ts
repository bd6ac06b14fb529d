/** How objects below `tables/` and `snapshots/` are named, and which of them are named as Jobtide names them. Pure. */

/** The key of a data file. */
export function fileKey(table: string, partition: string, sha256: string): string {
  return `tables/${table}/${partition}/${sha256}.parquet`
}

/** What the partitions of a table split by the years of a column are called before `_year=`. */
export function partitionStem(column: string): string {
  return column.replace(/_(at|on)$/, '')
}

interface Named {
  readonly key: string
}

/**
 * Gives the files of a new snapshot keys of their own: {@link fileKey} with the id of the snapshot before the hash. No other
 * publish ever wrote such a key, so garbage collection cannot be about to delete it. A file whose bytes the snapshot before
 * has already keeps the key that it has there.
 */
export function keysOfSnapshot(
  before: { readonly files: readonly Named[] } | undefined,
  snapshotId: string,
): (key: string) => string {
  const known = new Map((before?.files ?? []).map(({ key }) => [withoutOwner(key), key]))
  return (key) => known.get(key) ?? key.replace(/[^/]+$/, `${snapshotId}/$&`)
}

/** The key of a file without the id of the snapshot that wrote it. */
export function withoutOwner(key: string): string {
  return key.replace(/\/[0-9A-Z]{26}(?=\/[^/]+$)/, '')
}

/** What a key stands for: a data file, a file of a Delta log, or a part of a snapshot. */
export type KnownKey =
  | { readonly kind: 'file' }
  | { readonly kind: 'log'; readonly table: string }
  | { readonly kind: 'manifest' | 'views'; readonly snapshotId: string }

const LOG_KEY = /^tables\/([^/]+)\/_delta_log\//
/** Of data files, and of the deletion vectors that Jobtide 0.12 wrote beside them. */
export const FILE_KEY = /^tables\/(?:[^/]+\/)+[0-9a-f]{64}\.parquet$/
const SNAPSHOT_KEY = /^snapshots\/([0-9A-Z]{26})\/(manifest\.json|views\.sql)$/

/** What a key stands for; null when Jobtide does not name objects like that. */
export function knownKey(key: string): KnownKey | null {
  const table = LOG_KEY.exec(key)?.[1]
  if (table !== undefined) return { kind: 'log', table }
  if (FILE_KEY.test(key)) return { kind: 'file' }
  const [, snapshotId, name] = SNAPSHOT_KEY.exec(key) ?? []
  if (snapshotId === undefined) return null
  return { kind: name === 'manifest.json' ? 'manifest' : 'views', snapshotId }
}
