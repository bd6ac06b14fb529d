/** What a Spark job answers: read back, refused where it cannot be true, and turned into tables of a manifest. */

import { z } from 'zod'
import { sha256Hex } from '../../support/hash.ts'
import { sum } from '../../support/numbers.ts'
import type { TableDefinition } from '../../warehouse/catalog.ts'
import type { PublishedColumns } from '../columns.ts'
import { PublishError } from '../errors.ts'
import { fileKey } from '../keys.ts'
import type { ManifestFile, ManifestTable } from '../manifest.ts'
import { isPlainKey, type ObjectStore } from '../store/object-store.ts'
import { JOB_FORMAT, workFolder } from './spark-job.ts'

const count = z.int().nonnegative()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const fileSchema = z.object({
  /** Of the destination: of the snapshot before, or below the folder of the job. */
  key: z.string().refine(isPlainKey),
  partition: z.string().regex(/^(?:all|[a-z0-9_]+_year=(?:-?\d+|__HIVE_DEFAULT_PARTITION__))$/),
  rows: count,
  deletes: count,
  bytes: count,
  sha256,
  min: z.record(z.string(), z.string()).default({}),
  max: z.record(z.string(), z.string()).default({}),
  nulls: z.record(z.string(), z.int().positive()).default({}),
})

const vectorSchema = z.union([
  z.object({ is_new: z.literal(false) }),
  z.object({
    is_new: z.literal(true),
    key: z.string().refine(isPlainKey),
    rows: z.int().positive(),
    bytes: z.int().positive(),
    sha256,
  }),
])

const resultSchema = z.object({
  format: z.literal(JOB_FORMAT),
  snapshot_id: z.string(),
  spark: z.string().min(1),
  seconds: z.record(z.string(), z.number()),
  checks: z.array(
    z.object({
      name: z.string(),
      offenders: count,
      sample: z.array(z.record(z.string(), z.unknown())),
    }),
  ),
  tables: z.array(
    z.object({
      name: z.string(),
      /** Null: it is as before. */
      result: z
        .object({ files: z.array(fileSchema).min(1), vector: vectorSchema.nullable() })
        .nullable(),
    }),
  ),
})

export type SparkResult = z.infer<typeof resultSchema>
type TableResult = SparkResult['tables'][number]['result']

/** Reads the result of a job; null where it wrote none. @throws PublishError when it is none, or that of another job */
export async function readResult(
  store: ObjectStore,
  snapshotId: string,
): Promise<SparkResult | null> {
  const found = await store.list(`${workFolder(snapshotId)}/result/`)
  const part = found.find(({ key, bytes }) => /\/part-[^/]*$/.test(key) && bytes > 0)
  const stored = part === undefined ? null : await store.get(part.key)
  if (part === undefined || stored === null) return null
  const wrong = (why: string) =>
    new PublishError(`${store.urlOf(part.key)} is no result of a Spark job: ${why}`)
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(stored.bytes).toString())
  } catch {
    throw wrong('it is not JSON')
  }
  const parsed = resultSchema.safeParse(value)
  if (!parsed.success) throw wrong(z.prettifyError(parsed.error).replaceAll('\n', ' '))
  if (parsed.data.snapshot_id !== snapshotId) throw wrong('it is that of another job')
  return parsed.data
}

/** An object that a job wrote, and the key that it has in the snapshot. */
export interface WrittenObject {
  readonly from: string
  readonly key: string
  readonly bytes: number
}

export interface SparkTable {
  readonly table: ManifestTable
  readonly newFiles: readonly WrittenObject[]
}

/** What is known of a table before the job has answered. */
export interface ExpectedTable {
  readonly definition: TableDefinition
  readonly columns: PublishedColumns
  /** In the snapshot that the job went on from. */
  readonly before: ManifestTable | undefined
  readonly splitBy: string | null
  /** Of its keys in the destination: empty, or ends in a slash. */
  readonly prefix: string
  readonly ownKey: (key: string) => string
  readonly snapshotId: string
}

/**
 * The table of a manifest that a job made.
 * @throws PublishError when it names a file that it neither wrote nor found, or counts that cannot be
 */
export function sparkTable(expected: ExpectedTable, result: TableResult): SparkTable {
  const { definition, columns, before } = expected
  const { name, grain, key } = definition
  const wrong = (why: string) => new PublishError(`the Spark job says of ${name} ${why}`)
  const described = { name, grain, key: [...key], schema: [...columns.columns] }
  if (result === null) {
    if (before === undefined) throw wrong('that it is as before, and it was not there')
    return { table: { ...before, ...described }, newFiles: [] }
  }
  const newFiles: WrittenObject[] = []
  const placed = (from: string, folder: string, hash: string, bytes: number): string => {
    if (!from.startsWith(`${workFolder(expected.snapshotId)}/`))
      throw wrong(`that it wrote ${from}`)
    const own = expected.ownKey(fileKey(name, folder, hash))
    newFiles.push({ from, key: own, bytes })
    return own
  }
  const files = result.files.map((file): ManifestFile => {
    if (file.deletes > 0) throw wrong(`that ${file.deletes} of ${file.rows} rows are deleted`)
    const known = before?.files.find((other) => expected.prefix + other.key === file.key)
    if (known !== undefined) return known
    const { deletes: _, ...written } = file
    return { ...written, key: placed(file.key, file.partition, file.sha256, file.bytes) }
  })
  const partitions = partitionsOf(files)
  const table: ManifestTable = {
    ...described,
    partition_by: expected.splitBy === null ? null : { column: expected.splitBy, unit: 'year' },
    last_field_id: columns.lastFieldId,
    rows: sum(partitions.map(({ rows }) => rows)),
    bytes: sum(files.map(({ bytes }) => bytes)),
    partitions,
    files,
  }
  return { table, newFiles }
}

function partitionsOf(files: readonly ManifestFile[]): ManifestTable['partitions'] {
  const names = [...new Set(files.map(({ partition }) => partition))].toSorted()
  return names.map((name) => {
    const own = files.filter(({ partition }) => partition === name)
    const hashes = own.map(({ sha256: hash }) => hash).toSorted()
    const fingerprint = `files-${sha256Hex(Buffer.from(hashes.join()))}`
    return { name, rows: sum(own.map(({ rows }) => rows)), fingerprint }
  })
}

const AT_ONCE = 8

/**
 * Gives the objects that a job wrote the keys that they have in the snapshot.
 * @throws PublishError when one is not there, or has another size
 */
export async function placeObjects(
  store: ObjectStore,
  snapshotId: string,
  objects: readonly WrittenObject[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const listed = await store.list(`${workFolder(snapshotId)}/files/`)
  const sizes = new Map(listed.map(({ key, bytes }) => [key, bytes]))
  const other = objects.find(({ from, bytes }) => sizes.get(from) !== bytes)
  if (other !== undefined) {
    throw new PublishError(
      `${store.urlOf(other.from)} has ${sizes.get(other.from) ?? 'no'} bytes where the Spark job wrote ${other.bytes}`,
    )
  }
  for (let at = 0; at < objects.length; at += AT_ONCE) {
    signal?.throwIfAborted()
    await Promise.all(
      objects.slice(at, at + AT_ONCE).map(({ from, key, bytes }) => store.copy(from, key, bytes)),
    )
  }
}
