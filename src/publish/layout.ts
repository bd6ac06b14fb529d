/**
 * What a publish does with each partition of a table, and what that makes of its data files. Pure.
 *
 *     partition of a table      files kept   file written    deletion vector
 *     unchanged  same rows      all          none            kept
 *     appended   rows came      all *        the new rows    kept
 *     reduced    rows went      all *        none            grows
 *     replaced   went and came  all *        the new rows    grows
 *     rewritten  no usable file, other columns, --compact, > 10 % deleted, > 25 % new, < 256 KiB
 *                               none         all rows        none
 *     * of 8 files only the largest: rows of the others are written again
 *
 * A data file never changes. It is `whole` when it is written, `with deletes` once the table's deletion vector names rows
 * of it, and is named no more when all its rows are deleted or its partition is rewritten.
 *
 * Why not rewrite every file that holds a changed row: changes stand all over a table (a stint of years ago ends), so each
 * night would send most of a snapshot.
 */

import { sum } from '../support/numbers.ts'
import type { ManifestFile } from './manifest.ts'

export type PartitionState = 'unchanged' | 'appended' | 'reduced' | 'replaced' | 'rewritten'

/** How a partition differs from the files that would be kept. */
interface PartitionChange {
  readonly rows: number
  readonly kept: readonly ManifestFile[]
  /** Rows of the kept files that went, those that are deleted already not counted. */
  readonly gone: number
  /** Rows that are in none of the kept files. */
  readonly fresh: number
}

// Below this, a file for a few rows costs about as much as one for all of them.
const SMALL_BYTES = 256 * 1_024
// A reader opens every file of a partition, and skips deletes one by one.
const MOST_FILES = 8
const MOST_DELETED = 0.1
const MOST_FRESH = 0.25

/** The same, by the names that a Spark job reads them by. */
export const LAYOUT_LIMITS = {
  small_bytes: SMALL_BYTES,
  most_files: MOST_FILES,
  most_deleted: MOST_DELETED,
  most_fresh: MOST_FRESH,
}

/** The files of a changed partition that may be kept; none: it is rewritten. */
export function filesToKeep(files: readonly ManifestFile[]): readonly ManifestFile[] {
  if (sum(files.map((file) => file.bytes)) < SMALL_BYTES) return []
  if (files.length < MOST_FILES) return files
  return files.toSorted((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1)).slice(0, 1)
}

/** The state of a partition that was compared with files that may be kept. */
export function stateOf({ rows, kept, gone, fresh }: PartitionChange): PartitionState {
  const stored = sum(kept.map((file) => file.rows))
  const deleted = gone + sum(kept.map((file) => file.deletes))
  if (deleted > MOST_DELETED * stored || fresh > MOST_FRESH * rows) return 'rewritten'
  if (gone === 0) return fresh === 0 ? 'unchanged' : 'appended'
  return fresh === 0 ? 'reduced' : 'replaced'
}
