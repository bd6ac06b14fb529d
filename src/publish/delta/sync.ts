/**
 * Brings the Delta logs of a store in line with the manifest that its pointer names. The pointer has moved by then, so
 * a log is only another way to the same files. After a crash here, the next publish finishes the work.
 */

import { atOnce } from '../../support/at-once.ts'
import { sha256Hex } from '../../support/hash.ts'
import { jsonOrNull, stableJson } from '../../support/json.ts'
import type { Logger } from '../../support/logger.ts'
import { DamagedLogError, PublishError } from '../errors.ts'
import { type Manifest, type ManifestFile, type ManifestTable } from '../manifest.ts'
import { readPointer } from '../read-snapshot.ts'
import {
  APP_ID,
  PROTOCOL,
  applyActions,
  commitKey,
  formatActions,
  logFilesBefore,
  logFolder,
  readStoredLog,
  sequenceOf,
  tableFolder,
  versionsOf,
  writeCheckpoint,
  type Action,
  type LogSource,
  type LogState,
} from './log.ts'

/** By table: up to which version its Delta log shows which description of it, as {@link hashOf} has it. */
export type LogVersions = Record<string, { readonly version: number; readonly table: string }>

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
 * Adds one commit to the log of every table that does not match the manifest, unless the log shows a later snapshot.
 * Changes of other engines to a log are undone, and a log that cannot be continued begins again, because the manifest
 * has all its content. The log of a table that is no longer published stays as it is. Repeatable, and safe while
 * another publisher runs.
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

/**
 * The current version of the log. @param keys of the log, as they were; what others have written since is seen later
 */
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
      // Even if nothing was committed, because a publisher may have been killed between the two.
      if (synced !== null && synced.version - (checkpoint ?? 0) >= CHECKPOINT_EVERY) {
        await writeCheckpoint(options, table.name, synced)
      }
      if (synced !== null) return synced.version
    } catch (error) {
      if (!(error instanceof DamagedLogError)) throw error
      if (listed === undefined) {
        logger.warn({ reason: error.message }, 'publish.delta_begun_again')
        const found = await store.list(logFolder(table.name))
        await store.remove(found.map(({ key }) => key))
      }
    }
    listed = undefined
  }
  const what = `the Delta log of ${table.name} was written by others ${MOST_ATTEMPTS} times in a row`
  throw new PublishError(what, { hint: 'Let one publisher at a time write there.' })
}

/** Writes the next version of a log if one is needed. @returns the new state; null if another publisher was first */
async function commit(
  options: SyncOptions,
  table: ManifestTable,
  state: LogState,
): Promise<LogState | null> {
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
 * Removes every version of the manifest's logs but the newest, which then stands in a checkpoint. A store that keeps versions of
 * objects keeps those. No other process reads or writes the logs meanwhile.
 */
export async function forgetLogHistory(options: SyncOptions): Promise<void> {
  await syncDeltaLogs(options)
  for (const { name } of options.manifest.tables) {
    options.signal?.throwIfAborted()
    const { state, checkpoint, keys } = await readStoredLog(options, name)
    if (checkpoint !== state.version) await writeCheckpoint(options, name, state)
    const old = logFilesBefore(keys, state.version)
    const facts = { log: logFolder(name), files: old.length }
    options.logger.info(facts, 'publish.delta_history_removed')
    await options.store.remove(old)
  }
}

/** The state of a table in its Delta log. */
function hashOf({ files, schema, grain }: ManifestTable): string {
  return sha256Hex(
    stableJson({ files: files.map(({ key, bytes, rows }) => [key, bytes, rows]), schema, grain }),
  )
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

// A UUID that follows from the table and its first snapshot, so that two publishers of one snapshot agree on it.
function tableId(table: string, snapshotId: string): string {
  const hash = sha256Hex(Buffer.from(`delta ${table} ${snapshotId}`))
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')
}

/**
 * Removes files that the log has but the manifest has not; adds those that it lacks, or that it lists with another size
 * or count of rows.
 */
function fileActions({ files }: LogState, table: ManifestTable, at: number): Action[] {
  // Keys are made of characters that stand for themselves in a URI, so the path needs no encoding.
  const pathOf = ({ key }: ManifestFile) => key.slice(tableFolder(table.name).length)
  const wanted = new Map(table.files.map((file) => [pathOf(file), file]))
  const isNamed = ({ bytes, rows }: ManifestFile, path: string) => {
    const known = files.get(path)
    const stats = Object(jsonOrNull(known?.stats ?? '')) as { numRecords?: number }
    return known?.size === bytes && stats.numRecords === rows
  }
  const removal = { deletionTimestamp: at, dataChange: true, extendedFileMetadata: true }
  const addition = { partitionValues: {}, modificationTime: at, dataChange: true }
  const removed = [...files.values()].flatMap(({ path, size }) =>
    wanted.has(path) ? [] : { path, ...removal, partitionValues: {}, size },
  )
  // Readers find smallest and largest values in the Parquet file.
  const added = [...wanted].flatMap(([path, file]) => {
    const stats = JSON.stringify({ numRecords: file.rows })
    return isNamed(file, path) ? [] : { path, ...addition, size: file.bytes, stats }
  })
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)
  return [
    ...removed.toSorted(byPath).map((remove) => ({ remove })),
    ...added.toSorted(byPath).map((add) => ({ add })),
  ]
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
