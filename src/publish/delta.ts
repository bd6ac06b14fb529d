/**
 * Keeps a Delta log for each table: another way to the files of the manifest that the pointer names. The pointer has
 * moved by then, so after a crash here the next publish finishes the work. Lines are as the protocol's "Actions" defines
 * them; additions of other engines to a line are ignored, as the protocol asks of readers.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { atOnce } from '../support/at-once.ts'
import { sha256Hex } from '../support/hash.ts'
import { jsonOrNull, stableJson } from '../support/json.ts'
import type { Logger } from '../support/logger.ts'
import { DAY, MIB } from '../support/units.ts'
import { deltaType } from '../warehouse/delta-type.ts'
import { SqlError, WarehouseDamagedError } from '../warehouse/errors.ts'
import { quotePath, quoteText } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { DamagedLogError, PublishError } from './errors.ts'
import { readPointer, type Manifest, type ManifestFile, type ManifestTable } from './manifest.ts'
import { withObject, withScratchFile, type ObjectSource } from './scratch.ts'
import { removeFolder, type StoredObject } from './store/object-store.ts'

const APP_ID = 'jobtide'
/** All readers support it: files are added and removed as a whole. */
const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 2 }

// What Jobtide reads of a line. Paths are relative to the table's folder, times are milliseconds since 1970 UTC.
const actionSchema = z.object({
  commitInfo: z.looseObject({}).optional(),
  protocol: z.looseObject({ minReaderVersion: z.int(), minWriterVersion: z.int() }).optional(),
  metaData: z.looseObject({ id: z.string(), createdTime: z.int().optional() }).optional(),
  /** The progress of an application. */
  txn: z
    .object({ appId: z.string(), version: z.int(), lastUpdated: z.int().optional() })
    .optional(),
  /** A file that no longer belongs to the table. */
  remove: z.looseObject({ path: z.string(), deletionTimestamp: z.int().optional() }).optional(),
  /** A file that belongs to the table from now on; `stats` is JSON. */
  add: z.looseObject({ path: z.string(), size: z.int(), stats: z.string().optional() }).optional(),
})

/** One line: one of its fields is there. */
export type Action = z.infer<typeof actionSchema>

export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(action)}\n`).join('')
}

/** @param where the lines are, for messages @throws DamagedLogError for a line that is not an action */
export function parseActions(text: string, where: string): Action[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, index) => {
    try {
      // A null field counts as absent.
      return actionSchema.parse(JSON.parse(line, (_key, value: unknown) => value ?? undefined))
    } catch (cause) {
      const what = `${where}, line ${index + 1}, is not a line of a Delta log`
      throw new DamagedLogError(what, { cause })
    }
  })
}

const padded = (version: number) => String(version).padStart(20, '0')
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
  return objects.filter(({ key }) => isBefore(key, checkpoint ?? 0))
}

/** Whether it is the commit or checkpoint of an earlier version, or a file that other engines keep next to these. */
export function isBefore(key: string, version: number): boolean {
  return Number(/\/(\d{20})\.[^/]*$/.exec(key)?.[1] ?? version) < version
}

export interface LogState {
  /** -1: a log without a commit. */
  readonly version: number
  readonly protocol?: Action['protocol']
  readonly metaData?: Action['metaData']
  readonly txn?: Action['txn']
  /** By path; so are removed files. */
  readonly files: ReadonlyMap<string, NonNullable<Action['add']>>
  readonly tombstones: ReadonlyMap<string, NonNullable<Action['remove']>>
}

export const emptyLog: LogState = { version: -1, files: new Map(), tombstones: new Map() }

/** The sequence number of the snapshot that a log shows; 0 for none. */
export function sequenceOf({ txn }: LogState): number {
  return txn?.version ?? 0
}

export function applyActions(state: LogState, version: number, actions: readonly Action[]) {
  const files = new Map(state.files)
  const tombstones = new Map(state.tombstones)
  let { protocol, metaData, txn } = state
  // A commit has no order: the files that it adds exist afterwards.
  for (const { remove } of actions) {
    if (remove === undefined) continue
    files.delete(remove.path)
    tombstones.set(remove.path, remove)
  }
  for (const action of actions) {
    protocol = action.protocol ?? protocol
    metaData = action.metaData ?? metaData
    if (action.txn?.appId === APP_ID) txn = action.txn
    if (action.add === undefined) continue
    files.set(action.add.path, action.add)
    tombstones.delete(action.add.path)
  }
  return { version, protocol, metaData, txn, files, tombstones }
}

export interface LogSource extends ObjectSource {
  /** Reads and writes Parquet; its tables are ignored. */
  readonly warehouse: Warehouse
}

/**
 * Its state is {@link emptyLog} when there is no log. @param listed its keys; listed here unless given
 * @returns also the version of the newest checkpoint, null when there is none
 * @throws DamagedLogError for a log that cannot be continued: a version is lost or unreadable, or another engine or
 * Jobtide 0.12 needs more protocol features than Jobtide knows
 */
export async function readStoredLog(source: LogSource, table: string, listed?: readonly string[]) {
  const { store } = source
  const keys = listed ?? (await store.list(logFolder(table))).map(({ key }) => key)
  const { commits, checkpoints } = versionsOf(keys)
  const checkpoint = checkpoints.at(-1) ?? null
  let state = emptyLog
  if (checkpoint !== null)
    state = applyActions(state, checkpoint, await readCheckpoint(source, table, checkpoint))
  while (state.version < (commits.at(-1) ?? -1)) {
    const next = state.version + 1
    const key = commitKey(table, next)
    const stored = await store.get(key)
    if (stored === null) {
      const folder = store.urlOf(logFolder(table).slice(0, -1))
      throw new DamagedLogError(`the Delta log ${folder} has lost its version ${next}`)
    }
    const text = Buffer.from(stored.bytes).toString()
    state = applyActions(state, next, parseActions(text, store.urlOf(key)))
  }
  const { protocol = PROTOCOL } = state
  if (stableJson(protocol) !== stableJson(PROTOCOL)) {
    const { minReaderVersion: reader, minWriterVersion: writer } = protocol
    const asks = `reader version ${reader} and writer version ${writer}`
    throw new DamagedLogError(`the Delta log of ${table} asks for ${asks}`)
  }
  return { state, checkpoint, keys }
}

async function readCheckpoint(source: LogSource, table: string, of: number): Promise<Action[]> {
  const key = checkpointKey(table, of)
  const where = source.store.urlOf(key)
  return withObject(source, key, async (path) => {
    if (path === null) throw new DamagedLogError(`${where} is not there`)
    try {
      const rows = await source.warehouse.all<{ line: string }>(
        `select cast(to_json(action) as varchar) as line from read_parquet(${quotePath(path)}) as action`,
      )
      return parseActions(rows.map(({ line }) => line).join('\n'), where)
    } catch (error) {
      if (!(error instanceof SqlError) && !(error instanceof WarehouseDamagedError)) throw error
      throw new DamagedLogError(`${where} is not a checkpoint of a Delta log`, { cause: error })
    }
  })
}

/** How long a removed file stays named, the default of `delta.deletedFileRetentionDuration`. */
const TOMBSTONE_DAYS = 7
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

/** Writes the state of a log as one Parquet file, so that readers need not read every commit, and points them to it. */
export async function writeCheckpoint(
  { store, warehouse, scratchFolder }: LogSource,
  table: string,
  { version, protocol, metaData, txn, files, tombstones }: LogState,
): Promise<void> {
  const longAgo = (txn?.lastUpdated ?? 0) - TOMBSTONE_DAYS * DAY
  const removed = [...tombstones.values()].filter(
    ({ deletionTimestamp = 0 }) => deletionTimestamp > longAgo,
  )
  const actions: Action[] = [
    { protocol },
    { metaData },
    { txn },
    ...removed.map((remove) => ({ remove })),
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

/** By table: up to which version its Delta log shows which description of it, as {@link hashOf} has it. */
export const logVersions = z.record(z.string(), z.object({ version: z.int(), table: z.string() }))
type LogVersions = z.infer<typeof logVersions>

export interface SyncOptions extends LogSource {
  /** The intended state of the logs: the pointer's snapshot, whose files are in the store. */
  readonly manifest: Manifest
  readonly logger: Logger
  /** The state of the logs after the last publish. Default: nothing is known, and all are read. */
  readonly known?: LogVersions
  /** Keys below `tables/`, listed when this publish began. Default: each log is listed. */
  readonly listed?: readonly string[]
}

const AT_ONCE = 4
/** Commits between two checkpoints, as other writers have it. */
const CHECKPOINT_EVERY = 10
// Each lost race means that another publisher wrote the same version: a second attempt is rare, a tenth is a defect.
const MOST_ATTEMPTS = 10

/**
 * Adds one commit to each log that does not match the manifest, unless it shows a later snapshot. Changes of other
 * engines are undone, and a log that cannot be continued begins again: the manifest has all its content. The log of a
 * table that is no longer published stays as it is. Repeatable, and safe while another publisher runs.
 * @throws PublishError when a column has no type in the Delta protocol, or the store refuses
 */
export async function syncDeltaLogs(options: SyncOptions): Promise<LogVersions> {
  const { manifest, known = {}, listed, signal } = options
  const logs: LogVersions = {}
  await atOnce(manifest.tables, AT_ONCE, async (table) => {
    signal?.throwIfAborted()
    const { name } = table
    const hash = hashOf(table)
    const own = listed?.filter((key) => key.startsWith(logFolder(name)))
    const before = known[name]
    const isShown =
      before?.table === hash && versionsOf(own ?? []).commits.at(-1) === before.version
    logs[name] = isShown ? before : { version: await syncLog(options, table, own), table: hash }
  })
  return logs
}

/** The current version of the log. @param keys of the log, as they were: what others have written since is seen later */
async function syncLog(
  options: SyncOptions,
  table: ManifestTable,
  keys: readonly string[] | undefined,
): Promise<number> {
  const { store, logger } = options
  for (let attempt = 1, listed = keys; attempt <= MOST_ATTEMPTS; attempt += 1) {
    try {
      const { state, checkpoint } = await readStoredLog(options, table.name, listed)
      const synced = await commit(options, table, state)
      if (synced !== null) {
        // Even if nothing was committed, because a publisher may have been killed between the two.
        if (synced.version - (checkpoint ?? 0) >= CHECKPOINT_EVERY)
          await writeCheckpoint(options, table.name, synced)
        return synced.version
      }
    } catch (error) {
      if (!(error instanceof DamagedLogError)) throw error
      if (listed === undefined) {
        logger.warn({ reason: error.message }, 'publish.delta_begun_again')
        await removeFolder(store, logFolder(table.name).slice(0, -1))
      }
    }
    listed = undefined
  }
  const what = `the Delta log of ${table.name} was written by others ${MOST_ATTEMPTS} times in a row`
  throw new PublishError(what, { hint: 'Let one publisher at a time write there.' })
}

/** Writes the next version of a log if one is needed. @returns the new state; null if another publisher was first */
async function commit(options: SyncOptions, table: ManifestTable, state: LogState) {
  const { store, manifest, logger } = options
  if (sequenceOf(state) > manifest.sequence) {
    // A later publisher was here while this one was slow. Not so when the pointer, which moves before a log does, names this
    // snapshot: then the destination was begun again, or the pointer set back.
    const now = await readPointer(store)
    if (now?.pointer.snapshot_id !== manifest.snapshot_id) return state
  }
  const actions = planCommit(state, manifest, table)
  if (actions === null) return state
  const version = state.version + 1
  const bytes = Buffer.from(formatActions(actions))
  if (!(await store.replace(commitKey(table.name, version), bytes, null))) return null
  logger.debug({ table: table.name, version }, 'publish.delta_committed')
  return applyActions(state, version, actions)
}

/**
 * Removes every version of the logs but the newest, which then stands in a checkpoint. A store that keeps versions of
 * objects keeps those. No other process reads or writes the logs meanwhile.
 */
export async function forgetLogHistory(options: SyncOptions): Promise<void> {
  await syncDeltaLogs(options)
  for (const { name } of options.manifest.tables) {
    options.signal?.throwIfAborted()
    const { state, checkpoint, keys } = await readStoredLog(options, name)
    if (checkpoint !== state.version) await writeCheckpoint(options, name, state)
    const old = keys.filter((key) => isBefore(key, state.version))
    const facts = { log: logFolder(name), files: old.length }
    options.logger.info(facts, 'publish.delta_history_removed')
    await options.store.remove(old)
  }
}

function hashOf({ files, schema, grain }: ManifestTable): string {
  return sha256Hex(
    stableJson({ files: files.map(({ key, bytes, rows }) => [key, bytes, rows]), schema, grain }),
  )
}

/** The next commit; null if the log shows this table. Two publishers of one snapshot write the same bytes. */
export function planCommit(state: LogState, manifest: Manifest, table: ManifestTable) {
  const at = Date.parse(manifest.created_at)
  const metaData = {
    // A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
    id:
      state.metaData?.id ??
      sha256Hex(`delta ${table.name} ${manifest.snapshot_id}`).replace(UUID, '$1-$2-$3-$4-$5'),
    name: table.name,
    description: table.grain,
    format: { provider: 'parquet', options: {} },
    schemaString: schemaString(table),
    partitionColumns: [],
    createdTime: state.metaData?.createdTime ?? at,
    configuration: {},
  }
  const changes: Action[] = [
    ...(state.protocol === undefined ? [{ protocol: PROTOCOL }] : []),
    ...(stableJson(metaData) === stableJson(state.metaData) ? [] : [{ metaData }]),
    ...fileActions(state, table, at),
  ]
  if (changes.length === 0) return null
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
  return [{ commitInfo }, { txn }, ...changes]
}

const UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/

/** Removes files that the manifest lacks; adds those that the log lacks, or has with another size or count of rows. */
function fileActions({ files }: LogState, table: ManifestTable, at: number): Action[] {
  // Keys are made of characters that stand for themselves in a URI, so the path needs no encoding.
  const pathOf = ({ key }: ManifestFile) => key.slice(tableFolder(table.name).length)
  const wanted = new Map(table.files.map((file) => [pathOf(file), file]))
  const isNamed = ({ bytes, rows }: ManifestFile, path: string) => {
    const known = files.get(path)
    const stats = Object(jsonOrNull(known?.stats ?? '')) as { numRecords?: number }
    return known?.size === bytes && stats.numRecords === rows
  }
  const both = { partitionValues: {}, dataChange: true }
  const removal = { ...both, deletionTimestamp: at, extendedFileMetadata: true }
  const removed = [...files.values()]
    .filter(({ path }) => !wanted.has(path))
    .map(({ path, size }) => ({ path, ...removal, size }))
  // Readers find smallest and largest values in the Parquet file.
  const added = [...wanted]
    .filter(([path, file]) => !isNamed(file, path))
    .map(([path, { bytes: size, rows }]) => {
      const stats = JSON.stringify({ numRecords: rows })
      return { path, ...both, modificationTime: at, size, stats }
    })
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)
  return [
    ...removed.toSorted(byPath).map((remove) => ({ remove })),
    ...added.toSorted(byPath).map((add) => ({ add })),
  ]
}

/** Every column is nullable: the protocol cannot add one that is not. @throws PublishError for an unknown type */
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
