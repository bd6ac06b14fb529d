/** Reads the answer of a Spark job, refuses impossible values, and turns it into tables of a manifest. */

import { z } from 'zod'
import { messageOf } from '../support/errors.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { PublishError } from './errors.ts'
import { hasSameColumns, type PublishedColumns } from './export.ts'
import {
  fileKey,
  fileSchema,
  keysOfSnapshot,
  type ManifestFile,
  type ManifestTable,
} from './manifest.ts'
import { isPlainKey, type ObjectStore } from './store/object-store.ts'

export const JOB_FORMAT = 2

/** The folder of a job in the destination. Nothing in it belongs to a snapshot. */
export function workFolder(snapshotId: string): string {
  return `work/${snapshotId}`
}

const count = z.int().nonnegative()
const rowSchema = z.record(z.string(), z.unknown())
// The key is of the destination, below the folder of the job.
const writtenSchema = fileSchema
  .omit({ partition: true })
  .extend({ key: z.string().refine(isPlainKey) })

const partitionSchema = z.object({
  name: z.string().regex(/^(?:all|[a-z0-9_]+_year=(?:-?\d+|__HIVE_DEFAULT_PARTITION__))$/),
  rows: count,
  /** Of the rows, whatever their order and their files. */
  fingerprint: z.string().regex(/^spark-[0-9A-F]+:-?\d+$/),
  files: z.array(writtenSchema).min(1),
})

const resultSchema = z.object({
  format: z.literal(JOB_FORMAT),
  snapshot_id: z.string(),
  spark: z.string().min(1),
  seconds: z.record(z.string(), z.number()),
  checks: z.array(z.object({ name: z.string(), offenders: count, sample: z.array(rowSchema) })),
  tables: z.array(z.object({ name: z.string(), partitions: z.array(partitionSchema).min(1) })),
})

export type SparkPartition = z.infer<typeof partitionSchema>

/** Reads the result of a job. @throws PublishError when there is none, or it is not a result of this job */
export async function readResult(store: ObjectStore, snapshotId: string) {
  const found = await store.list(`${workFolder(snapshotId)}/result/`)
  const part = found.find(({ key, bytes }) => /\/part-[^/]*$/.test(key) && bytes > 0)
  const stored = part === undefined ? null : await store.get(part.key)
  if (stored === null) {
    const hint = 'Its command must end when the job has ended, but not before.'
    throw new PublishError('the Spark job ended without a result', { hint })
  }
  try {
    const own = resultSchema.extend({ snapshot_id: z.literal(snapshotId) })
    return own.parse(JSON.parse(Buffer.from(stored.bytes).toString()))
  } catch (error) {
    const hint = messageOf(error).replaceAll(/\s+/g, ' ')
    throw new PublishError('the result of the Spark job cannot be read', { hint, cause: error })
  }
}

export interface ExpectedTable {
  readonly definition: TableDefinition
  readonly columns: PublishedColumns
  /** In the snapshot that readers see. */
  readonly before: ManifestTable | undefined
  readonly splitBy: string | null
}

/** A partition whose rows did not change keeps its files. @throws PublishError for alien files or wrong counts */
export function sparkTable(
  { definition, columns, before, splitBy }: ExpectedTable,
  found: readonly SparkPartition[],
  snapshotId: string,
  isThere: (file: ManifestFile) => boolean,
) {
  const { name, grain, key } = definition
  const keyOf = keysOfSnapshot(before, snapshotId)
  const known = before !== undefined && hasSameColumns(before, columns.columns) ? before : null
  const newFiles: { from: string; key: string }[] = []
  const files = found.flatMap(({ name: partition, rows, fingerprint, files: written }) => {
    const was = known?.partitions.find((one) => one.name === partition)
    const own = known?.files.filter((file) => file.partition === partition) ?? []
    if (was?.fingerprint === fingerprint && own.every(isThere)) return own
    const says = `the Spark job says of ${name} that`
    const alien = written.find((file) => !file.key.startsWith(`${workFolder(snapshotId)}/files/`))
    if (alien !== undefined) throw new PublishError(`${says} it wrote ${alien.key}`)
    if (sum(written.map((file) => file.rows)) !== rows)
      throw new PublishError(`${says} ${partition} has ${rows} rows`)
    return written.map((file): ManifestFile => {
      const placed = keyOf(fileKey(name, partition, file.sha256))
      newFiles.push({ from: file.key, key: placed })
      return { ...file, key: placed, partition }
    })
  })
  const table: ManifestTable = {
    name,
    grain,
    key: [...key],
    schema: [...columns.columns],
    last_field_id: columns.lastFieldId,
    partition_by: splitBy === null ? null : { column: splitBy, unit: 'year' },
    rows: sum(found.map(({ rows }) => rows)),
    bytes: sum(files.map(({ bytes }) => bytes)),
    partitions: found.map(({ name: of, rows, fingerprint }) => ({ name: of, rows, fingerprint })),
    files,
  }
  return { table, newFiles }
}
