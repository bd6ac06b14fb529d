/** What a verification finds, one by one. */

/**
 * What is wrong. Of pointer and manifests: `pointer`, `manifest`. Of an object: `missing`, `size`, `sha256`. Of a Parquet file:
 * `unreadable`, `columns` (names, types, field ids), `rows` (their number), `partition` (rows of another one),
 * `statistics`, `key` (null, or in two rows), `fingerprint` (other rows). Of what is made from the manifest: `views`, `delta` (the
 * log tells something else). Beside the snapshot: `stale` (a Delta log that is missing, unreadable or of another snapshot),
 * `extra` (nothing names the object).
 */
export type FindingKind =
  | ('pointer' | 'manifest' | 'missing' | 'size' | 'sha256' | 'unreadable' | 'columns' | 'rows')
  | ('partition' | 'statistics' | 'key' | 'fingerprint' | 'views' | 'delta' | 'stale' | 'extra')

export interface Finding {
  readonly kind: FindingKind
  readonly table: string | null
  readonly object: string
  readonly message: string
}

/** Takes what is wrong with an object, which is that of a table where its key says so. */
export type Report = (kind: FindingKind, object: string, message: string) => void
