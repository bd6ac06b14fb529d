/**
 * How a changed partition is written: by what changed, or whole. Pure. Rows change one by one all over a table (somebody
 * leaves, and a stint of years ago ends), so rewriting every file that holds one would send most of a snapshot each night.
 * Instead the old row is listed as deleted and the new one stands in a small file, until that makes reading slower than it
 * saves.
 */

import { sum } from '../support/numbers.ts'
import type { ManifestFile } from './manifest.ts'

/** What decides. */
export interface PartitionChange {
  /** Rows of the partition now. */
  readonly rows: number
  /** The files that would be kept. */
  readonly kept: readonly ManifestFile[]
  /** Rows in them that are no longer so, beyond those that are known as deleted. */
  readonly gone: number
  /** Rows now that are not in them. */
  readonly fresh: number
}

// Below this a file of its own for a few rows costs about as much as all rows.
const SMALL_BYTES = 256 * 1_024
// A reader opens every file of a partition, and skips deleted rows one by one.
const MOST_FILES = 8
const MOST_DELETED = 0.1
const MOST_FRESH = 0.25

/**
 * The files of a partition that changes are taken against. When there are too many, all but the largest are given up:
 * their rows are written together with those of tonight.
 */
export function filesToKeep(files: readonly ManifestFile[]): readonly ManifestFile[] {
  if (sum(files.map((file) => file.bytes)) < SMALL_BYTES) return []
  if (files.length < MOST_FILES) return files
  return files.toSorted((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1)).slice(0, 1)
}

/** Whether to write all rows of the partition, rather than what is new beside what is kept. */
export function isWrittenWhole({ rows, kept, gone, fresh }: PartitionChange): boolean {
  const stored = sum(kept.map((file) => file.rows))
  const deleted = gone + sum(kept.map((file) => file.deletes))
  return deleted > MOST_DELETED * stored || fresh > MOST_FRESH * rows
}
