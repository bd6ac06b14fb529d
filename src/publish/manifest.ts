/**
 * Builds manifests and pointers, and reads them back from a store. Their content may have been written by anyone: names
 * and keys that could have a second meaning in a path, in SQL or on a screen are refused here for all readers.
 */

import { z } from 'zod'
import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import { sum } from '../support/numbers.ts'
import { plainly } from '../support/schema-words.ts'
import { quoteIdentifier, quotePath } from '../warehouse/sql-text.ts'
import { NewerFormatError, PublishError } from './errors.ts'
import { isPlainKey, type ObjectStore, type StoredObject } from './store/object-store.ts'

/** The key of the pointer, the only object that ever changes. */
export const POINTER_KEY = 'latest.json'

export const FORMAT_VERSION = 5
/** The oldest format whose record of a destination's content is still read. */
const OLDEST_FORMAT = 3

export const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_]*$/

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)
const nameSchema = z.string().regex(PLAIN_NAME)
const snapshotIdSchema = z.string().regex(/^[0-9A-Z]{26}$/)
const instantSchema = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/)

const count = z.int().nonnegative()

export const fileSchema = z.object({
  /** `tables/<table>/<partition>/<snapshot id>/<sha256>.parquet`. */
  key: z.string(),
  partition: z.string(),
  rows: count,
  bytes: count,
  sha256: sha256Schema,
  /** Smallest and largest value by column, as text; a column of nulls has none. */
  min: z.record(z.string(), z.string()),
  max: z.record(z.string(), z.string()),
  /** Nulls by column; columns without any are left out. */
  nulls: z.record(z.string(), z.int().positive()),
})

const columnSchema = z.object({
  name: nameSchema,
  type: z.string(),
  field_id: z.int().positive(),
  comment: z.string().nullable(),
})

const tableSchema = z
  .object({
    name: nameSchema,
    grain: z.string(),
    key: z.array(z.string()),
    /** Files hold one calendar year (UTC) of this column; null for a table in one file. */
    partition_by: z.object({ column: z.string(), unit: z.literal('year') }).nullable(),
    schema: z.array(columnSchema),
    /** The highest field id ever given in this table. */
    last_field_id: count,
    rows: count,
    bytes: count,
    /** The fingerprint is of rows that Spark wrote, in any order. Null for DuckDB: the same rows give the same bytes. */
    partitions: z
      .array(z.object({ name: z.string(), rows: count, fingerprint: z.string().nullable() }))
      .min(1),
    /** One for each partition; several where Spark wrote them. */
    files: z.array(fileSchema).min(1),
  })
  .superRefine(({ name, files }, context) => {
    for (const { key, partition, sha256 } of files) {
      const own = fileKey(name, partition, sha256)
      if (withoutOwner(key) === own && isPlainKey(key)) continue
      const message = `it names ${JSON.stringify(key)} where ${JSON.stringify(own)} belongs`
      context.addIssue({ code: 'custom', message })
    }
  })

const edgesSchema = z.object({ min: z.string().nullable(), max: z.string().nullable() })
const coverageSchema = z.object({
  /** Organisations with anything covered. */
  organizations: count,
  /** Unbroken intervals; more than one for an organisation and its event types means a gap. */
  intervals: count,
  /** Over the organisations: where coverage starts. Null: from the beginning, or nothing is covered. */
  covered_from: edgesSchema,
  /** Over the organisations: where coverage ends. Null: nothing is covered. */
  covered_to: edgesSchema,
  /** SHA-256 over every interval: two snapshots with the same hash have exactly the same coverage. */
  sha256: sha256Schema,
})

const notKeptSchema = z.object({
  people: count,
  /** ISO 8601; null: events of any age are kept. */
  events_before: z.string().nullable(),
  /** The MAC of the suppression list, which does not name people; null where there is none. */
  list: z.string().nullable().default(null),
})

const commonFields = {
  snapshot_id: snapshotIdSchema,
  /** 1 for the first snapshot of a destination, then 2, 3, … */
  sequence: z.int().positive(),
  /** The snapshot that readers saw before this one. */
  previous: z.object({ snapshot_id: snapshotIdSchema, manifest_sha256: sha256Schema }).nullable(),
  created_at: instantSchema,
  /** The run that published; null for a publish outside a run. */
  run_id: z.string().nullable(),
  /** The journal whose rows these are, a ULID. */
  journal_id: z.string(),
  /** Erasures by then: how many people, and events from before a day. */
  not_kept: notKeptSchema,
  /** Bytes of data files that the snapshot before did not have. */
  new_bytes: count,
  coverage: coverageSchema,
  /** Credits in the ledger, those in doubt included. */
  credits: z.object({ total: count, of_run: z.int().nonnegative() }),
}

const manifestSchema = z.object({
  ...commonFields,
  format_version: z.literal(FORMAT_VERSION),
  /** Where it was published to, an absolute folder or a bucket: there `views.sql` reads, unless its first line is changed. */
  destination: z.string(),
  versions: z.object({ jobtide: z.string(), duckdb: z.string() }),
  /** Where Spark built the models; absent: DuckDB did. */
  spark: z.object({ version: z.string() }).optional(),
  tables: z.array(tableSchema),
  /** Checks of the build whose tables these are; all passed. Null if no build checked it. */
  checks: z.object({ build_id: z.string(), passed: count, checked_at: z.string() }).nullable(),
})

const objectSchema = z
  .object({ key: z.string().refine(isPlainKey), bytes: z.int(), sha256: sha256Schema })
  .refine(({ key }) => FILE_KEY.test(key))

/** The outline of a manifest, also of an older Jobtide: its objects and its predecessor. */
const outlineSchema = z.object({
  ...commonFields,
  format_version: z.int().min(OLDEST_FORMAT).max(FORMAT_VERSION),
  tables: z.array(
    z
      .object({
        name: nameSchema,
        rows: count,
        bytes: count,
        files: z.array(objectSchema),
        /** Jobtide 0.12 wrote them. */
        deletion_vector: objectSchema.nullable().default(null),
      })
      .transform(({ files, deletion_vector: vector, ...table }) => {
        return { ...table, files: vector === null ? files : [...files, vector] }
      })
      .refine(({ name, files }) => files.every(({ key }) => key.startsWith(`tables/${name}/`)), {
        message: 'it names files of another table',
      }),
  ),
})

const pointerSchema = z
  .object({
    snapshot_id: snapshotIdSchema,
    manifest_key: z.string(),
    manifest_sha256: sha256Schema,
  })
  .refine(({ snapshot_id: id, manifest_key: key }) => key === snapshotKeys(id).manifest, {
    message: 'the manifest that it names is not that of its snapshot',
  })

export type Manifest = z.infer<typeof manifestSchema>
type ManifestOutline = z.infer<typeof outlineSchema>
/** A manifest as found in a store: only in outline if an older Jobtide wrote it. */
export type StoredManifest = Manifest | ManifestOutline
export type ManifestTable = Manifest['tables'][number]
export type ManifestFile = ManifestTable['files'][number]
export type Pointer = z.infer<typeof pointerSchema>
/** Deliberate erasures by Jobtide, in short. */
export type NotKept = z.infer<typeof notKeptSchema>

export function isOfThisFormat(manifest: StoredManifest): manifest is Manifest {
  return manifest.format_version === FORMAT_VERSION
}

/** Whether two manifests are the same for readers, apart from the snapshot's id, time, run and earlier erasures. */
export function sameContent(a: Manifest, b: Manifest): boolean {
  const content = ({ journal_id, tables, versions, coverage, credits }: Manifest) =>
    stableJson({ journal_id, tables, versions, coverage, credits: credits.total })
  return content(a) === content(b)
}

export type NamedObject = Readonly<z.infer<typeof objectSchema>>

export function objectsOf({ tables }: Pick<StoredManifest, 'tables'>): NamedObject[] {
  return tables.flatMap<NamedObject>(({ files }) => files)
}

export type SnapshotTotals = Readonly<ReturnType<typeof totalsOf>>

export function totalsOf({ tables }: Pick<StoredManifest, 'tables'>) {
  return {
    tables: tables.length,
    files: objectsOf({ tables }).length,
    rows: sum(tables.map(({ rows }) => rows)),
    bytes: sum(tables.map(({ bytes }) => bytes)),
  }
}

export function snapshotKeys(snapshotId: string): { manifest: string; views: string } {
  const folder = `snapshots/${snapshotId}`
  return { manifest: `${folder}/manifest.json`, views: `${folder}/views.sql` }
}

export function pointerTo(snapshotId: string, manifestText: string): Pointer {
  return {
    snapshot_id: snapshotId,
    manifest_key: snapshotKeys(snapshotId).manifest,
    manifest_sha256: sha256Hex(manifestText),
  }
}

export function formatJson(value: Manifest | Pointer): string {
  return `${stableJson(value, 2)}\n`
}

/** Reads a stored pointer. @throws PublishError when it is not one */
export function parsePointer(bytes: Uint8Array, where: string): Pointer {
  return parse(bytes, where, () => pointerSchema)
}

/** Reads a stored manifest: one of an older format in outline. */
export function parseManifest(bytes: Uint8Array, where: string): StoredManifest {
  return parse<StoredManifest>(bytes, where, (format) =>
    format < FORMAT_VERSION ? outlineSchema : manifestSchema,
  )
}

/** Reads only the outline of a manifest, in a fraction of the time, for callers that read every manifest of a store. */
export function parseOutline(bytes: Uint8Array, where: string): ManifestOutline {
  return parse(bytes, where, () => outlineSchema)
}

/** @throws NewerFormatError when a newer Jobtide wrote it */
function parse<T>(bytes: Uint8Array, where: string, schemaOf: (format: number) => z.ZodType<T>): T {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes).toString())
  } catch (error) {
    throw notOurs(where, 'it is not JSON', error)
  }
  const { format_version: said } = Object(value) as Record<string, unknown>
  const format = typeof said === 'number' ? said : FORMAT_VERSION
  if (format > FORMAT_VERSION) {
    const what = `its format is ${format}, and this one reads up to ${FORMAT_VERSION}`
    const hint = 'Use the version that wrote it. Nothing was changed.'
    throw new NewerFormatError(`${where} was written by a newer Jobtide: ${what}`, { hint })
  }
  const result = schemaOf(format).safeParse(value, { error: plainly })
  if (result.success) return result.data
  throw notOurs(where, z.prettifyError(result.error).replaceAll('\n', ' '), result.error)
}

const BEGIN_AGAIN = `Restore it, or remove ${POINTER_KEY} there to begin again with a whole snapshot.`

function notOurs(where: string, what: string, cause?: unknown): PublishError {
  const message = `${where} was not written by this Jobtide: ${what}`
  return new PublishError(message, { hint: BEGIN_AGAIN, cause })
}

/** `views.sql`: one view for each table over exactly the files of one snapshot. Every path begins with what its first line says. */
export function viewsSql(manifest: Manifest): string {
  const { snapshot_id: id, created_at: at, destination } = manifest
  const views = manifest.tables.map(({ name, grain, schema, files }) => {
    const columns = schema.map((column) => quoteIdentifier(column.name)).join(', ')
    const paths = files.map(({ key }) => `  getvariable('root') || '/${key}'`).join(',\n')
    // Paths such as changed_year=2019 would otherwise add a column that the table does not have.
    return `-- ${grain.replaceAll(/\s+/g, ' ')}
create or replace view ${quoteIdentifier(name)} as
select ${columns} from read_parquet([\n${paths}\n], hive_partitioning = false);
`
  })
  return [
    `set variable root = ${quotePath(destination)};`,
    `-- Jobtide snapshot ${id} of ${at}. Paste it into DuckDB.\n`,
    ...views,
  ].join('\n')
}

/** The key of a data file. */
export function fileKey(table: string, partition: string, sha256: string): string {
  return `tables/${table}/${partition}/${sha256}.parquet`
}

/** The names of the partitions of a table split by the years of a column, before `_year=`. */
export function partitionStem(column: string): string {
  return column.replace(/_(at|on)$/, '')
}

/**
 * Gives the files of a new snapshot keys of their own, {@link fileKey} with the id of the snapshot before the hash: so
 * garbage collection can never be about to delete one of them. Bytes that the snapshot before has keep their key.
 */
export function keysOfSnapshot(
  before: Pick<ManifestTable, 'files'> | undefined,
  snapshotId: string,
): (key: string) => string {
  const known = new Map((before?.files ?? []).map(({ key }) => [withoutOwner(key), key]))
  return (key) => known.get(key) ?? key.replace(/[^/]+$/, `${snapshotId}/$&`)
}

/** The key of a file without the id of the snapshot that wrote it. */
export function withoutOwner(key: string): string {
  return key.replace(/\/[0-9A-Z]{26}(?=\/[^/]+$)/, '')
}

const LOG_KEY = /^tables\/([^/]+)\/_delta_log\//
/** Of data files, and of the deletion vectors that Jobtide 0.12 wrote next to them. */
const FILE_KEY = /^tables\/(?:[^/]+\/)+[0-9a-f]{64}\.parquet$/
const SNAPSHOT_KEY = /^snapshots\/([0-9A-Z]{26})\/(manifest\.json|views\.sql)$/

/** The meaning of a key; null when Jobtide does not name objects like that. */
export function knownKey(key: string) {
  const table = LOG_KEY.exec(key)?.[1]
  if (table !== undefined) return { kind: 'log', table } as const
  if (FILE_KEY.test(key)) return { kind: 'file' } as const
  const [, snapshotId, name] = SNAPSHOT_KEY.exec(key) ?? []
  if (snapshotId === undefined) return null
  return { kind: name === 'manifest.json' ? 'manifest' : 'views', snapshotId } as const
}

/** Its manifest may be of an older format. */
export type CurrentSnapshot = NonNullable<Awaited<ReturnType<typeof readCurrent>>>

/** Reads `latest.json` alone; null when nothing was published yet. @throws PublishError when it is not Jobtide's */
export async function readPointer(store: ObjectStore) {
  const stored = await store.get(POINTER_KEY)
  if (stored === null) return null
  return { pointer: parsePointer(stored.bytes, store.urlOf(POINTER_KEY)), version: stored.version }
}

/** The snapshot that `latest.json` names; null for none. @throws PublishError when part of it is missing or changed */
export async function readCurrent(store: ObjectStore) {
  const found = await readPointer(store)
  if (found === null) return null
  const { manifest_key: key, manifest_sha256: sha256 } = found.pointer
  const stored = await store.get(key)
  const where = store.urlOf(key)
  if (stored === null) {
    const what = `${POINTER_KEY} points to ${where}, which is missing`
    throw new PublishError(what, { hint: BEGIN_AGAIN })
  }
  if (sha256Hex(stored.bytes) !== sha256)
    throw notOurs(where, 'its SHA-256 is not the one in the pointer')
  if (lastCurrent?.sha256 !== sha256)
    lastCurrent = { sha256, manifest: parseManifest(stored.bytes, where) }
  return { ...found, manifest: lastCurrent.manifest }
}

/** The last one read: a publish asks three times, and each parse takes 20 ms. */
let lastCurrent: { readonly sha256: string; readonly manifest: StoredManifest } | undefined

/** The ids of the snapshots that have a manifest among these objects, oldest first. */
export function snapshotIds(objects: readonly StoredObject[]): string[] {
  const known = objects.map(({ key }) => knownKey(key))
  return known.flatMap((key) => (key?.kind === 'manifest' ? key.snapshotId : [])).toSorted()
}

/**
 * The readable manifests of these snapshots, by id, with the SHA-256 of their bytes. Garbage collection may have
 * deleted some.
 * @param parse reads it whole or in outline
 * @param onWrong takes the fault of a file that is not the manifest of its snapshot. Default: it is thrown
 */
export async function readManifests<M extends Pick<Manifest, 'snapshot_id' | 'previous'>>(
  store: ObjectStore,
  ids: readonly string[],
  parse: (bytes: Uint8Array, where: string) => M,
  onWrong?: (key: string, why: PublishError) => void,
) {
  const manifests = new Map<string, { readonly manifest: M; readonly sha256: string }>()
  for (const id of ids) {
    const { manifest: key } = snapshotKeys(id)
    const where = store.urlOf(key)
    const stored = await store.get(key)
    if (stored === null) continue
    try {
      const manifest = parse(stored.bytes, where)
      const { snapshot_id: said } = manifest
      if (said !== id) throw new PublishError(`${where} is the manifest of ${said}`)
      manifests.set(id, { manifest, sha256: sha256Hex(stored.bytes) })
    } catch (error) {
      if (!(error instanceof PublishError) || onWrong === undefined) throw error
      onWrong(key, error)
    }
  }
  return manifests
}

/** The manifests whose bytes are not those that the pointer, or the snapshot after them, names: by key, with the reason. */
export function changedManifests(
  found: Awaited<ReturnType<typeof readManifests>>,
  pointer: Pointer | null,
): [key: string, message: string][] {
  const links = [...found.values()].map(({ manifest: { previous, snapshot_id: after } }) => {
    return { ...previous, who: `the snapshot after it, ${after},` }
  })
  return [{ ...pointer, who: POINTER_KEY }, ...links].flatMap((link) => {
    const { snapshot_id: id = '', manifest_sha256: sha256, who } = link
    const own = found.get(id)?.sha256
    if (own === undefined || own === sha256) return []
    const message = `its SHA-256 is ${own}, but ${who} says ${sha256}: it was changed after it was published`
    return [[snapshotKeys(id).manifest, message]]
  })
}

/** Every snapshot in a store, oldest first. @throws PublishError when a manifest is not Jobtide's */
export async function listSnapshots(store: ObjectStore): Promise<StoredManifest[]> {
  const ids = snapshotIds(await store.list('snapshots/'))
  const found = await readManifests(store, ids, parseManifest)
  return [...found.values()].map(({ manifest }) => manifest)
}

/** Takes `<destination>` or `<destination>/snapshots/<snapshot id>` apart; without an id it is what readers see. */
export function splitSnapshotUrl(url: string): { destination: string; snapshotId: string | null } {
  const parts = /^(.+)\/snapshots\/([0-9A-Z]{26})\/?$/.exec(url) ?? []
  const [, destination = url, snapshotId = null] = parts
  return { destination, snapshotId }
}

/** Of a snapshot whose rows are read. @throws PublishError for one of an older format */
export function ofThisFormat(manifest: StoredManifest, destination: string): Manifest {
  if (isOfThisFormat(manifest)) return manifest
  const { snapshot_id: id, format_version: format } = manifest
  throw new PublishError(`snapshot ${id} in ${destination} has the older format ${format}`, {
    hint: 'Run `jobtide publish`: it writes a complete new snapshot. Jobtide 0.12 reads the old one.',
  })
}
