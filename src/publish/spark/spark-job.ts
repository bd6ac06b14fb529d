/**
 * What a Spark job is asked for: `work/<snapshot id>/job.json`, which spark/jobtide_spark reads. Keys in it are those of the
 * destination. Pure.
 */

import type { ManifestFile, ManifestTable } from '../manifest.ts'

export const JOB_FORMAT = 1

/** What the job goes by where it builds incrementally. */
export const LAYOUT_LIMITS = {
  small_bytes: 256 * 1_024,
  most_files: 8,
  most_deleted: 0.1,
  most_fresh: 0.25,
}

interface JobColumn {
  readonly name: string
  /** As DuckDB calls it. */
  readonly type: string
  readonly field_id: number
}

export interface JobInput {
  readonly name: string
  readonly columns: readonly JobColumn[]
  /** Of its Delta log below `inputs/`. */
  readonly version: number
  readonly is_computed: boolean
  readonly now: ReturnType<typeof storedTable>
  /** What differs from the inputs of the snapshot before; null: nothing. */
  readonly change: ReturnType<typeof changeOf>
  readonly before: ReturnType<typeof storedTable> | null
}

export interface JobModel {
  readonly name: string
  readonly sql: string
  readonly reads: readonly string[]
  readonly incremental_by: readonly string[]
  readonly key: readonly string[]
  readonly columns: readonly JobColumn[]
  /** Where its files belong: below this prefix of the destination; null: it is a view, and has none. */
  readonly store: string | null
  /** Its files hold one calendar year of a column each; null: they do not. */
  readonly split: { readonly column: string; readonly stem: string } | null
  /** In the snapshot before. */
  readonly before: ReturnType<typeof storedTable> | null
}

export interface JobCheck {
  readonly name: string
  readonly sql: string
  readonly reads: readonly string[]
  readonly incremental_by: readonly string[]
  readonly reference: { readonly column: string; readonly target_column: string } | null
}

export interface SparkJob {
  readonly format: typeof JOB_FORMAT
  readonly snapshot_id: string
  /** Whether only what the changed rows of inputs can alter is built. */
  readonly incremental: boolean
  readonly limits: typeof LAYOUT_LIMITS
  /** As they follow `create temporary function`. */
  readonly functions: readonly string[]
  readonly inputs: readonly JobInput[]
  /** In run order. */
  readonly models: readonly JobModel[]
  readonly checks: readonly JobCheck[]
}

/** The folder of a job in the destination. Nothing in it belongs to a snapshot. */
export function workFolder(snapshotId: string): string {
  return `work/${snapshotId}`
}

/** What sql/macros.sql says that Spark defines. */
export function sparkFunctions(macros: string): string[] {
  return [...macros.matchAll(/^-- spark: (.+)$/gm)].map(([, text = '']) => text)
}

/** The column and the name of the folders that a table is split by. */
export function splitOf(column: string | null): JobModel['split'] {
  return column === null ? null : { column, stem: column.replace(/_(at|on)$/, '') }
}

/** @param prefix of the keys: empty, or ends in a slash */
export function storedTable({ files }: ManifestTable, prefix: string) {
  return {
    files: files.map((file) => fileOf(file, prefix)),
    vector: null,
  }
}

function fileOf({ key, partition, rows, bytes, sha256 }: ManifestFile, prefix: string) {
  return { key: prefix + key, partition, rows, deletes: 0, bytes, sha256 }
}

/** What of a table differs between two snapshots, by files; null: nothing. */
export function changeOf(before: ManifestTable, now: ManifestTable, prefix: string) {
  const earlier = new Map(before.files.map((file) => [file.key, file]))
  const keys = new Set(now.files.map(({ key }) => key))
  const added = now.files.filter(({ key }) => !earlier.has(key))
  const removed = before.files.filter(({ key }) => !keys.has(key))
  if (added.length + removed.length === 0) return null
  return {
    added: added.map((file) => fileOf(file, prefix)),
    removed: removed.map((file) => fileOf(file, prefix)),
    kept: [],
    vector_before: null,
    vector: null,
  }
}
