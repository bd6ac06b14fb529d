/**
 * Keeps a Delta log for each table: another way to the files of the manifest that the pointer names. The pointer has
 * moved by then, so after a crash here the next publish finishes the work. Each commit names all files of its table, so
 * that the last one is the state; those that the version before had do not count as changed. Lines are as the protocol's
 * "Actions" defines them.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { atOnce } from '../support/at-once.ts'
import { sha256Hex } from '../support/hash.ts'
import { jsonOrNull, stableJson } from '../support/json.ts'
import type { Logger } from '../support/logger.ts'
import { DAY, MIB } from '../support/units.ts'
import { quotePath, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { DamagedLogError, PublishError } from './errors.ts'
import { readPointer, type Manifest, type ManifestFile, type ManifestTable } from './manifest.ts'
import { withObject, withScratchFile, type ObjectSource } from './scratch.ts'
import { removeFolder, type ObjectStore, type StoredObject } from './store/object-store.ts'

const APP_ID = 'jobtide'
/** All readers support it: files are added and removed as a whole. */
const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 2 }

// Paths are relative to the table's folder, times are milliseconds since 1970 UTC.
const actionSchema = z.object({
  commitInfo: z.looseObject({}).optional(),
  protocol: z.looseObject({ minReaderVersion: z.int(), minWriterVersion: z.int() }).optional(),
  metaData: z.looseObject({ id: z.string(), createdTime: z.int().optional() }).optional(),
  /** The progress of an application: here the sequence number of the snapshot. */
  txn: z.looseObject({ appId: z.string(), version: z.int() }).optional(),
  /** A file that no longer belongs to the table. */
  remove: z.looseObject({ path: z.string() }).optional(),
  /** A file of the table; `stats` is JSON. */
  add: z.looseObject({ path: z.string(), size: z.int(), stats: z.string().optional() }).optional(),
})

/** One line: one of its fields is there. */
export type Action = z.infer<typeof actionSchema>

export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(action)}\n`).join('')
}

/** Reads actions from their lines. `where` names them in the message. */
export function parseActions(text: string, where: string): Action[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, index) => {
    try {
      return actionSchema.parse(JSON.parse(line))
    } catch (cause) {
      const what = `${where}, line ${index + 1}, is not a line of a Delta log`
      throw new DamagedLogError(what, { cause })
    }
  })
}

const padded = (version: number) => String(version).padStart(20, '0')
/** The folder of a table's data files; ends in a slash. */
const tableFolder = (table: string) => `tables/${table}/`
export const logFolder = (table: string) => `${tableFolder(table)}_delta_log/`
export const commitKey = (table: string, version: number) =>
  `${logFolder(table)}${padded(version)}.json`
export const checkpointKey = (table: string, version: number) =>
  `${logFolder(table)}${padded(version)}.checkpoint.parquet`
export const lastCheckpointKey = (table: string) => `${logFolder(table)}_last_checkpoint`

/** The versions of a log's commits and checkpoints, each ascending; keys of other kinds are ignored. */
export function versionsOf(keys: readonly string[]): { commits: number[]; checkpoints: number[] } {
  const matching = (name: RegExp) => {
    const versions = keys.flatMap((key) => name.exec(key)?.[1] ?? []).map(Number)
    return versions.toSorted((a, b) => a - b)
  }
  return {
    commits: matching(/\/(\d{20})\.json$/),
    checkpoints: matching(/\/(\d{20})\.checkpoint\.parquet$/),
  }
}

/** How long a log is kept, the default of `delta.logRetentionDuration`. */
const LOG_RETENTION_DAYS = 30

/** The keys of a log before the newest checkpoint that was reached before midnight UTC, 30 days ago: no younger version needs them. */
export function expiredLogFiles(objects: readonly StoredObject[], now: number): StoredObject[] {
  const cutOff = (Math.floor(now / DAY) - LOG_RETENTION_DAYS) * DAY
  const old = objects.filter(({ modifiedAt }) => modifiedAt <= cutOff).map(({ key }) => key)
  const lastCommit = versionsOf(old).commits.at(-1) ?? -1
  const keys = objects.map(({ key }) => key)
  const checkpoint = versionsOf(keys).checkpoints.findLast((version) => version <= lastCommit)
  const expired = new Set(logFilesBefore(keys, checkpoint ?? 0))
  return objects.filter(({ key }) => expired.has(key))
}

/** The keys of commits and checkpoints of earlier versions, and of the files that other engines keep next to them. */
export function logFilesBefore(keys: readonly string[], version: number): string[] {
  return keys.filter((key) => Number(/\/(\d{20})\.[^/]*$/.exec(key)?.[1] ?? version) < version)
}

async function keysOf(store: ObjectStore, table: string): Promise<string[]> {
  return (await store.list(logFolder(table))).map(({ key }) => key)
}

export interface LogState {
  /** -1: a log without a commit. */
  readonly version: number
  readonly metaData?: Action['metaData']
  /** The sequence number of the snapshot that it shows; 0 for none. */
  readonly sequence: number
  /** By path. */
  readonly files: ReadonlyMap<string, NonNullable<Action['add']>>
}

export const emptyLog: LogState = { version: -1, sequence: 0, files: new Map() }

/**
 * The state that a commit leaves; null for one that does not name the whole table, as those of other engines and of
 * Jobtide up to 0.20.
 */
export function stateAfter(version: number, actions: readonly Action[]): LogState | null {
  const find = <Kind extends keyof Action>(kind: Kind) => actions.find((one) => one[kind])?.[kind]
  const [protocol, metaData, txn] = [find('protocol'), find('metaData'), find('txn')]
  const isWhole = metaData !== undefined && txn?.appId === APP_ID
  if (!isWhole || stableJson(protocol) !== stableJson(PROTOCOL)) return null
  const files = new Map(actions.flatMap(({ add }) => (add === undefined ? [] : [[add.path, add]])))
  return { version, metaData, sequence: txn.version, files }
}

/**
 * Reads the state of a table's log; {@link emptyLog} when there is none.
 * @throws DamagedLogError for a log that cannot be continued: a version that readers need is lost, the last one is
 * unreadable, or does not name the whole table
 */
export async function readLog(store: ObjectStore, table: string): Promise<LogState> {
  const { commits, checkpoints } = versionsOf(await keysOf(store, table))
  const lost = (version: number) => {
    const folder = store.urlOf(logFolder(table).slice(0, -1))
    return new DamagedLogError(`the Delta log ${folder} has lost its version ${version}`)
  }
  const [first = 0, last] = [checkpoints.at(-1), commits.at(-1)]
  if (last === undefined) {
    if (checkpoints.length > 0) throw lost(first)
    return emptyLog
  }
  for (let version = first; version <= last; version += 1) {
    if (!commits.includes(version)) throw lost(version)
  }
  const key = commitKey(table, last)
  const stored = await store.get(key)
  if (stored === null) throw lost(last)
  const actions = parseActions(Buffer.from(stored.bytes).toString(), store.urlOf(key))
  const state = stateAfter(last, actions)
  if (state !== null) return state
  throw new DamagedLogError(`${store.urlOf(key)} is not a commit of this Jobtide`)
}

export interface LogSource extends ObjectSource {
  /** Reads and writes Parquet; its tables are ignored. */
  readonly warehouse: Warehouse
}

/** As {@link readLog}, after reading all that readers do: the newest checkpoint, and the commits since. */
export async function checkLog(source: LogSource, table: string): Promise<LogState> {
  const { store, warehouse } = source
  const state = await readLog(store, table)
  const { checkpoints } = versionsOf(await keysOf(store, table))
  const [first = 0] = checkpoints.slice(-1)
  for (let version = first; version < state.version; version += 1) {
    const key = commitKey(table, version)
    const stored = await store.get(key)
    parseActions(Buffer.from(stored?.bytes ?? []).toString(), store.urlOf(key))
  }
  if (checkpoints.length === 0) return state
  const key = checkpointKey(table, first)
  const rows = await withObject(source, key, async (path) => {
    if (path === null) return 0
    return warehouse.number(`select count(add.path) from read_parquet(${quotePath(path)})`)
  })
  if (rows > 0) return state
  throw new DamagedLogError(`${store.urlOf(key)} names no file`)
}

const TEXT_MAP = 'map(varchar, varchar)'
// The protocol's "Checkpoint Schema": names and types are part of the format.
const CHECKPOINT_COLUMNS = Object.entries({
  txn: 'struct("appId" varchar, version bigint, "lastUpdated" bigint)',
  add: `struct(path varchar, "partitionValues" ${TEXT_MAP}, size bigint, "modificationTime" bigint, "dataChange" boolean,
    stats varchar, tags ${TEXT_MAP})`,
  remove: `struct(path varchar, "deletionTimestamp" bigint, "dataChange" boolean, "extendedFileMetadata" boolean,
    "partitionValues" ${TEXT_MAP}, size bigint)`,
  metaData: `struct(id varchar, name varchar, description varchar,
    format struct(provider varchar, options ${TEXT_MAP}), "schemaString" varchar, "partitionColumns" varchar[],
    "createdTime" bigint, configuration ${TEXT_MAP})`,
  protocol:
    'struct("minReaderVersion" integer, "minWriterVersion" integer, "readerFeatures" varchar[], "writerFeatures" varchar[])',
})
  .map(([name, type]) => `${quoteText(name)}: ${quoteText(type)}`)
  .join(', ')

export interface SyncOptions extends LogSource {
  /** The intended state of the logs: the pointer's snapshot, whose files are in the store. */
  readonly manifest: Manifest
  readonly logger: Logger
}

/** Writes the state of a log as one Parquet file, so that readers need not read every commit, and points them to it. */
async function writeCheckpoint(
  { store, warehouse, scratchFolder }: SyncOptions,
  table: string,
  { version, metaData, sequence, files }: LogState,
): Promise<void> {
  const actions: Action[] = [
    { protocol: PROTOCOL },
    { metaData },
    { txn: { appId: APP_ID, version: sequence } },
    ...[...files.values()].map((add) => ({ add: { ...add, dataChange: false } })),
  ]
  const bytes = await withScratchFile(scratchFolder, async (lines) => {
    await writeFile(lines, formatActions(actions))
    return withScratchFile(scratchFolder, async (parquet) => {
      await warehouse.run(
        `copy (select * from read_json(${quotePath(lines)}, format = 'newline_delimited',
           maximum_object_size = ${MIB}, columns = {${CHECKPOINT_COLUMNS}}))
         to ${quoteText(parquet)} (format parquet, compression snappy, parquet_version v1)`,
      )
      return readFile(parquet)
    })
  })
  await store.put(checkpointKey(table, version), bytes)
  const hint = JSON.stringify({ version, size: actions.length })
  await store.put(lastCheckpointKey(table), Buffer.from(hint))
}

const AT_ONCE = 8
/** Commits between two checkpoints, as other writers have it. */
const CHECKPOINT_EVERY = 10
// Each lost race means that another publisher wrote the same version: a second attempt is rare, a tenth is a defect.
const MOST_ATTEMPTS = 10

/**
 * Adds one commit to the log of every table that does not match the manifest, unless the log shows a later snapshot. A log
 * that cannot be continued, as where another engine wrote to it, begins again: the manifest has all its content. The log of
 * a table that is no longer published stays as it is. Repeatable, and safe while another publisher runs.
 * @throws PublishError when a column has no type in the Delta protocol, or the store refuses
 */
export async function syncDeltaLogs(options: SyncOptions): Promise<void> {
  const { manifest, signal } = options
  await atOnce(manifest.tables, AT_ONCE, async (table) => {
    signal?.throwIfAborted()
    await syncLog(options, table)
  })
}

async function syncLog(options: SyncOptions, table: ManifestTable): Promise<void> {
  const { store, logger } = options
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
    try {
      if (await commit(options, table, await readLog(store, table.name))) return
    } catch (error) {
      if (!(error instanceof DamagedLogError)) throw error
      logger.warn({ reason: error.message }, 'publish.delta_begun_again')
      await removeFolder(store, logFolder(table.name).slice(0, -1))
    }
  }
  const what = `the Delta log of ${table.name} was written by others ${MOST_ATTEMPTS} times in a row`
  throw new PublishError(what, { hint: 'Let one publisher at a time write there.' })
}

/** Writes the next version of a log if one is needed. @returns false if another publisher was first */
async function commit(
  options: SyncOptions,
  table: ManifestTable,
  state: LogState,
): Promise<boolean> {
  const { store, manifest, logger } = options
  if (state.sequence > manifest.sequence) {
    // A later publisher was here while this one was slow. Not so when the pointer, which moves before a log does, names this
    // snapshot: then the destination was begun again, or the pointer set back.
    const now = await readPointer(store)
    if (now?.pointer.snapshot_id !== manifest.snapshot_id) return true
  }
  const actions = planCommit(state, manifest, table)
  if (actions === null) return true
  const version = state.version + 1
  const bytes = Buffer.from(formatActions(actions))
  if (!(await store.replace(commitKey(table.name, version), bytes, null))) return false
  logger.debug({ table: table.name, version }, 'publish.delta_committed')
  const made = stateAfter(version, actions)
  if (made !== null && version > 0 && version % CHECKPOINT_EVERY === 0) {
    await writeCheckpoint(options, table.name, made)
  }
  return true
}

/**
 * Removes every version of the manifest's logs but the newest, which then stands in a checkpoint. A store that keeps versions of
 * objects keeps those. No other process reads or writes the logs meanwhile.
 */
export async function forgetLogHistory(options: SyncOptions): Promise<void> {
  const { store, manifest, signal, logger } = options
  await syncDeltaLogs(options)
  for (const { name } of manifest.tables) {
    signal?.throwIfAborted()
    const keys = await keysOf(store, name)
    const state = await readLog(store, name)
    if (versionsOf(keys).checkpoints.at(-1) !== state.version) {
      await writeCheckpoint(options, name, state)
    }
    const old = logFilesBefore(keys, state.version)
    logger.info({ log: logFolder(name), files: old.length }, 'publish.delta_history_removed')
    await store.remove(old)
  }
}

/**
 * The actions of the next commit, in the order of their lines; null when the log shows this table as it is. The same facts give
 * the same actions, so that two publishers of one snapshot write the same bytes.
 */
export function planCommit(
  state: LogState,
  manifest: Manifest,
  table: ManifestTable,
): Action[] | null {
  const at = Date.parse(manifest.created_at)
  const metaData = {
    id: state.metaData?.id ?? tableId(table.name, manifest.snapshot_id),
    name: table.name,
    description: table.grain,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table),
    partitionColumns: [],
    createdTime: state.metaData?.createdTime ?? at,
    configuration: {},
  }
  const { removed, added, kept } = filesOf(state, table, at)
  const isShown = stableJson(metaData) === stableJson(state.metaData)
  if (isShown && removed.length + added.length === 0) return null
  const commitInfo = {
    timestamp: at,
    operation: 'WRITE',
    operationParameters: { mode: 'Overwrite', partitionBy: '[]' },
    engineInfo: `Jobtide/${manifest.versions.jobtide}`,
    isBlindAppend: false,
    snapshot_id: manifest.snapshot_id,
    // The text that engines show in a table's history.
    userMetadata: manifest.snapshot_id,
  }
  const txn = { appId: APP_ID, version: manifest.sequence, lastUpdated: at }
  return [
    { commitInfo },
    { txn },
    { protocol: PROTOCOL },
    { metaData },
    ...removed.map((remove) => ({ remove })),
    ...[...kept, ...added].toSorted(byPath).map((add) => ({ add })),
  ]
}

// A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
function tableId(table: string, snapshotId: string): string {
  const hash = sha256Hex(Buffer.from(`delta ${table} ${snapshotId}`))
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}

const byPath = (a: { readonly path: string }, b: { readonly path: string }) =>
  a.path < b.path ? -1 : 1

/** A file that the log lists with another size or count of rows is added again. */
function filesOf({ files }: LogState, table: ManifestTable, at: number) {
  // Keys are made of characters that stand for themselves in a URI, so the path needs no encoding.
  const pathOf = ({ key }: ManifestFile) => key.slice(tableFolder(table.name).length)
  const wanted = new Map(table.files.map((file) => [pathOf(file), file]))
  const isListed = ({ path, size, stats = '' }: NonNullable<Action['add']>) => {
    const file = wanted.get(path)
    const { numRecords } = Object(jsonOrNull(stats)) as { numRecords?: number }
    return size === file?.bytes && numRecords === file.rows
  }
  const kept = [...files.values()].filter(isListed).map((add) => ({ ...add, dataChange: false }))
  const known = new Set(kept.map(({ path }) => path))
  const both = { partitionValues: {}, dataChange: true }
  const removed = [...files.values()]
    .filter(({ path }) => !wanted.has(path))
    .map(({ path, size }) => {
      return { path, ...both, deletionTimestamp: at, extendedFileMetadata: true, size }
    })
    .toSorted(byPath)
  // Readers find smallest and largest values in the Parquet file.
  const added = [...wanted]
    .filter(([path]) => !known.has(path))
    .map(([path, { bytes: size, rows }]) => {
      const stats = JSON.stringify({ numRecords: rows })
      return { path, ...both, modificationTime: at, size, stats }
    })
  return { removed, added, kept }
}

type DeltaType = string | { type: 'array'; elementType: DeltaType; containsNull: boolean }

const PRIMITIVES: Readonly<Record<string, string>> = {
  BOOLEAN: 'boolean',
  TINYINT: 'byte',
  SMALLINT: 'short',
  INTEGER: 'integer',
  BIGINT: 'long',
  FLOAT: 'float',
  DOUBLE: 'double',
  VARCHAR: 'string',
  BLOB: 'binary',
  DATE: 'date',
  'TIMESTAMP WITH TIME ZONE': 'timestamp',
}

/**
 * The `schemaString` of a table. Every column is nullable: the protocol cannot add one that is not.
 * @throws PublishError for a column whose type the Delta protocol does not have
 */
export function schemaString(table: Pick<ManifestTable, 'name' | 'schema'>): string {
  const fields = table.schema.map(({ name, type, comment }) => {
    const word = deltaType(type)
    if (word === undefined) {
      const what = `${table.name}.${name} is a ${type}, which a Delta table cannot hold`
      throw new PublishError(what, {
        hint: 'In the model, cast it to a plain type: bigint, double, decimal, varchar, date, timestamptz or a list of one.',
      })
    }
    return { name, type: word, nullable: true, metadata: comment === null ? {} : { comment } }
  })
  return JSON.stringify({ type: 'struct', fields })
}

/** The Delta protocol's word for DuckDB's `type`; undefined where it has none. */
function deltaType(type: string): DeltaType | undefined {
  if (type.endsWith('[]')) {
    const elementType = deltaType(type.slice(0, -2))
    return elementType && { type: 'array', elementType, containsNull: true }
  }
  const decimal = /^DECIMAL\((\d+),\s*(\d+)\)$/.exec(type)
  return decimal === null ? PRIMITIVES[type] : `decimal(${decimal[1]},${decimal[2]})`
}
