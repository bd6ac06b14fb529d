/**
 * Reads and writes the Delta log of a table: its lines as the protocol's "Actions" defines them, the state that they
 * add up to, and checkpoints of it. Additions of other engines to a line are ignored, as the protocol asks of readers.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { stableJson } from '../../support/json.ts'
import { DAY, MIB } from '../../support/units.ts'
import { SqlError, WarehouseDamagedError } from '../../warehouse/errors.ts'
import { quotePath, quoteText } from '../../warehouse/sql-text.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { DamagedLogError } from '../errors.ts'
import { withObject, withScratchFile, type ObjectSource } from '../scratch.ts'
import type { StoredObject } from '../store/object-store.ts'

export const APP_ID = 'jobtide'
/** All readers support it: files are added and removed as a whole. */
export const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 2 }

const textMap = z.record(z.string(), z.string())

// Paths are relative to the table's folder, times are milliseconds since 1970 UTC.
const actionSchema = z.object({
  commitInfo: z.looseObject({}).optional(),
  protocol: z.object({ minReaderVersion: z.int(), minWriterVersion: z.int() }).optional(),
  metaData: z
    .object({
      id: z.string(),
      name: z.string().optional(),
      description: z.string().optional(),
      format: z.object({ provider: z.string(), options: textMap.optional() }),
      /** JSON. */
      schemaString: z.string(),
      partitionColumns: z.array(z.string()),
      createdTime: z.int().optional(),
      configuration: textMap,
    })
    .optional(),
  /** The progress of an application. */
  txn: z
    .object({ appId: z.string(), version: z.int(), lastUpdated: z.int().optional() })
    .optional(),
  /** A file that no longer belongs to the table. */
  remove: z
    .object({
      path: z.string(),
      deletionTimestamp: z.int().optional(),
      dataChange: z.boolean(),
      extendedFileMetadata: z.boolean().optional(),
      partitionValues: textMap.optional(),
      size: z.int().optional(),
    })
    .optional(),
  /** A file that belongs to the table from now on. */
  add: z
    .object({
      path: z.string(),
      partitionValues: textMap,
      size: z.int(),
      modificationTime: z.int(),
      dataChange: z.boolean(),
      /** JSON. */
      stats: z.string().optional(),
    })
    .optional(),
})

/** One line: one of its fields is there. */
export type Action = z.infer<typeof actionSchema>
type AddFile = NonNullable<Action['add']>

export function formatActions(actions: readonly Action[]): string {
  return actions.map((action) => `${JSON.stringify(action)}\n`).join('')
}

/** Reads actions from their lines. `where` names them in the message. */
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
/** The folder of a table's data files; ends in a slash. */
export const tableFolder = (table: string) => `tables/${table}/`
export const logFolder = (table: string) => `${tableFolder(table)}_delta_log/`
const keyIn = (table: string, name: string) => logFolder(table) + name
export const commitKey = (table: string, version: number) => keyIn(table, `${padded(version)}.json`)
export const checkpointKey = (table: string, version: number) =>
  keyIn(table, `${padded(version)}.checkpoint.parquet`)
export const lastCheckpointKey = (table: string) => keyIn(table, '_last_checkpoint')

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

export interface LogState {
  /** -1: a log without a commit. */
  readonly version: number
  readonly protocol?: Action['protocol']
  readonly metaData?: Action['metaData']
  readonly txn?: Action['txn']
  /** By path; so are removed files. */
  readonly files: ReadonlyMap<string, AddFile>
  readonly tombstones: ReadonlyMap<string, NonNullable<Action['remove']>>
}

export const emptyLog: LogState = { version: -1, files: new Map(), tombstones: new Map() }

/** The sequence number of the snapshot that a log shows; 0 for none. */
export function sequenceOf({ txn }: LogState): number {
  return txn?.version ?? 0
}

export function applyActions(
  state: LogState,
  version: number,
  actions: readonly Action[],
): LogState {
  const files = new Map(state.files)
  const tombstones = new Map(state.tombstones)
  let { protocol, metaData, txn } = state
  // A commit has no order of its own: the files that it adds exist afterwards.
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
 * Reads a table's log; its state is {@link emptyLog} when there is none.
 * @param listed its keys; listed here unless given
 * @returns also the version of the newest checkpoint, null when there is none
 * @throws DamagedLogError for a log that cannot be continued: a version is lost or unreadable, or another engine or
 * Jobtide 0.12 needs more protocol features than Jobtide knows
 */
export async function readStoredLog(
  source: LogSource,
  table: string,
  listed?: readonly string[],
): Promise<{ state: LogState; checkpoint: number | null; keys: readonly string[] }> {
  const { store } = source
  const keys = listed ?? (await store.list(logFolder(table))).map(({ key }) => key)
  const { commits, checkpoints } = versionsOf(keys)
  const checkpoint = checkpoints.at(-1) ?? null
  let state = emptyLog
  if (checkpoint !== null) {
    state = applyActions(state, checkpoint, await readCheckpoint(source, table, checkpoint))
  }
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
