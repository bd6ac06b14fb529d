/**
 * The text of a snapshot: manifest and pointer, built and read back. Pure. A manifest is JSON with sorted keys, so two
 * snapshots of the same data differ only in who made them and when.
 */

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isoInstant } from '../support/clock.ts'
import { stableJson } from '../support/json.ts'
import { PublishError } from './errors.ts'
import type { ExportedTable, FieldIds } from './parquet.ts'

/** The key of the pointer, the only object that ever changes. */
export const POINTER_KEY = 'latest.json'

const FORMAT_VERSION = 1

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

const fileSchema = z.object({
  key: z.string(),
  partition: z.string(),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  sha256: sha256Schema,
  min: z.record(z.string(), z.string()),
  max: z.record(z.string(), z.string()),
})

const columnSchema = z.object({
  name: z.string(),
  type: z.string(),
  field_id: z.int().positive(),
  comment: z.string().nullable(),
})

const tableSchema = z.object({
  name: z.string(),
  grain: z.string(),
  key: z.array(z.string()),
  /** Files hold one calendar year (UTC) of this column; null for a table in one file. */
  partition_by: z.object({ column: z.string(), unit: z.literal('year') }).nullable(),
  schema: z.array(columnSchema),
  /** The highest field id ever given in this table. */
  last_field_id: z.int().nonnegative(),
  rows: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  files: z.array(fileSchema),
})

const edgesSchema = z.object({ min: z.string().nullable(), max: z.string().nullable() })

const coverageSchema = z.object({
  /** Organisations with anything covered. */
  organizations: z.int().nonnegative(),
  /** Unbroken intervals; more than one for an organisation and its event types means a gap. */
  intervals: z.int().nonnegative(),
  /** Over the organisations: where coverage starts. Null: from the beginning, or nothing is covered. */
  covered_from: edgesSchema,
  /** Over the organisations: where coverage ends. Null: nothing is covered. */
  covered_to: edgesSchema,
  /** SHA-256 over every interval: two snapshots with the same one know exactly the same. */
  sha256: sha256Schema,
})

const manifestSchema = z.object({
  format_version: z.literal(FORMAT_VERSION),
  snapshot_id: z.string(),
  created_at: z.string(),
  /** The run that published; null for a publish by itself. */
  run_id: z.string().nullable(),
  versions: z.object({ jobtide: z.string(), duckdb: z.string() }),
  tables: z.array(tableSchema),
  coverage: coverageSchema,
  /** Credits in the ledger, those in doubt included. */
  credits: z.object({ total: z.int().nonnegative(), of_run: z.int().nonnegative() }),
})

const pointerSchema = z.object({
  snapshot_id: z.string(),
  manifest_key: z.string(),
  manifest_sha256: sha256Schema,
})

/** Everything there is to know about one snapshot. */
export type Manifest = z.infer<typeof manifestSchema>
/** What `latest.json` holds. */
export type Pointer = z.infer<typeof pointerSchema>
/** What was looked at, in short. */
export type CoverageSummary = z.infer<typeof coverageSchema>

/** What a manifest is made of. */
export interface SnapshotFacts {
  readonly snapshotId: string
  /** Milliseconds since 1970 UTC. */
  readonly createdAt: number
  readonly runId: string | null
  readonly versions: Manifest['versions']
  readonly tables: readonly ExportedTable[]
  readonly coverage: CoverageSummary
  readonly credits: Manifest['credits']
}

/** The manifest of a snapshot. */
export function buildManifest(facts: SnapshotFacts): Manifest {
  return {
    format_version: FORMAT_VERSION,
    snapshot_id: facts.snapshotId,
    created_at: isoInstant(facts.createdAt),
    run_id: facts.runId,
    versions: facts.versions,
    tables: facts.tables.map(describeTable),
    coverage: facts.coverage,
    credits: facts.credits,
  }
}

function describeTable({ definition, columns, lastFieldId, files }: ExportedTable) {
  const { name, grain, key, partitionByYearOf } = definition
  return {
    name,
    grain,
    key: [...key],
    partition_by:
      partitionByYearOf === null ? null : { column: partitionByYearOf, unit: 'year' as const },
    schema: columns.map(({ fieldId, ...column }) => ({ ...column, field_id: fieldId })),
    last_field_id: lastFieldId,
    rows: sum(files.map((file) => file.rows)),
    bytes: sum(files.map((file) => file.bytes)),
    files: files.map(({ path: _scratch, ...file }) => file),
  }
}

/** The sum of `numbers`. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/**
 * Whether two manifests tell readers the same: all is equal but the snapshot's id, time and run. What that run spent
 * goes with the run; the total of the ledger is compared.
 */
export function sameContent(a: Manifest, b: Manifest): boolean {
  const content = ({ tables, versions, coverage, credits }: Manifest) =>
    stableJson({ tables, versions, coverage, credits: credits.total })
  return content(a) === content(b)
}

/** The field ids of `table` in a manifest; undefined where it holds no such table. */
export function fieldIdsOf(manifest: Manifest | undefined, table: string): FieldIds | undefined {
  const known = manifest?.tables.find(({ name }) => name === table)
  if (known === undefined) return undefined
  const byName = new Map(known.schema.map((column) => [column.name, column.field_id]))
  return { byName, last: known.last_field_id }
}

/** Where the manifest and the views of a snapshot lie. */
export function snapshotKeys(snapshotId: string): { manifest: string; views: string } {
  const folder = `snapshots/${snapshotId}`
  return { manifest: `${folder}/manifest.json`, views: `${folder}/views.sql` }
}

/** The pointer to a manifest whose stored text is `manifestText`. */
export function pointerTo(snapshotId: string, manifestText: string): Pointer {
  return {
    snapshot_id: snapshotId,
    manifest_key: snapshotKeys(snapshotId).manifest,
    manifest_sha256: sha256Of(Buffer.from(manifestText)),
  }
}

/** The text of a manifest or pointer as it is stored. */
export function formatJson(value: Manifest | Pointer): string {
  return `${stableJson(value, 2)}\n`
}

/** Reads a stored pointer. @throws PublishError when it is none */
export function parsePointer(bytes: Uint8Array, where: string): Pointer {
  return parse(pointerSchema, bytes, where)
}

/** Reads a stored manifest. @throws PublishError when it is none, or its bytes are not those of `sha256` */
export function parseManifest(bytes: Uint8Array, sha256: string, where: string): Manifest {
  if (sha256Of(bytes) !== sha256) {
    throw notOurs(where, 'its SHA-256 is not the one in the pointer')
  }
  return parse(manifestSchema, bytes, where)
}

function parse<T>(schema: z.ZodType<T>, bytes: Uint8Array, where: string): T {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes).toString())
  } catch (error) {
    throw notOurs(where, 'it is not JSON', error)
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw notOurs(where, z.prettifyError(result.error).replaceAll('\n', ' '), result.error)
}

function notOurs(where: string, what: string, cause?: unknown): PublishError {
  return new PublishError(`${where} was not written by this Jobtide: ${what}`, {
    hint: `Restore it, or remove ${POINTER_KEY} there to begin anew with a whole snapshot.`,
    cause,
  })
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
