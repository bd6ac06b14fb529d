/** Reads the Delta log of a table: its newest checkpoint, then the commits after that. */

import { quoteText } from '../../warehouse/warehouse.ts'
import { DamagedLogError } from '../errors.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { parseActions, type Action, type Protocol } from './actions.ts'
import { deletedPositions } from './deletion-vector.ts'
import { withLocalFile, type DeltaLogSource } from './local-file.ts'
import { checkpointKey, commitKey, logFolder, tableFolder, versionsOf } from './log-files.ts'
import { applyActions, emptyLog, sequenceOf, type LogState } from './replay.ts'

/** A log as it lies in the store. */
export interface StoredLog {
  readonly state: LogState
  /** The version of the newest checkpoint; null when there is none. */
  readonly checkpoint: number | null
  /** The keys of everything in its folder. */
  readonly keys: readonly string[]
}

/**
 * Reads a table's log; its state is {@link emptyLog} when there is none.
 * @throws PublishError when a commit is missing or is no Delta log, or the store refuses
 */
export async function readStoredLog(source: DeltaLogSource, table: string): Promise<StoredLog> {
  const { store } = source
  const keys = (await store.list(logFolder(table))).map(({ key }) => key)
  const { commits, checkpoints } = versionsOf(keys)
  const checkpoint = checkpoints.at(-1) ?? null
  let state: LogState = emptyLog
  if (checkpoint !== null) {
    state = applyActions(state, checkpoint, await readCheckpoint(source, table, checkpoint))
  }
  for (const version of commits.filter((commit) => commit > state.version)) {
    if (version !== state.version + 1) throw gap(store, table, state.version + 1)
    state = applyActions(state, version, await readCommit(store, table, version))
  }
  return { state, checkpoint, keys }
}

async function readCommit(store: ObjectStore, table: string, version: number): Promise<Action[]> {
  const key = commitKey(table, version)
  const stored = await store.get(key)
  if (stored === null) throw gap(store, table, version)
  return parseActions(Buffer.from(stored.bytes).toString(), store.urlOf(key))
}

async function readCheckpoint(
  source: DeltaLogSource,
  table: string,
  version: number,
): Promise<Action[]> {
  const key = checkpointKey(table, version)
  return withLocalFile(source, key, async (path) => {
    const rows = await source.warehouse.all<{ line: string }>(
      `select cast(to_json(action) as varchar) as line from read_parquet(${quoteText(path)}) as action`,
    )
    return parseActions(rows.map(({ line }) => line).join('\n'), source.store.urlOf(key))
  })
}

function gap(store: ObjectStore, table: string, version: number): DamagedLogError {
  const folder = store.urlOf(logFolder(table).slice(0, -1))
  return new DamagedLogError(`the Delta log ${folder} has lost its version ${version}`, {
    hint: 'Remove that folder: the next publish writes it anew.',
  })
}

/** A data file as the log of its table has it. */
export interface DeltaFile {
  readonly bytes: number
  /** Rows in the file, deleted ones included; null where the log does not say. */
  readonly rows: number | null
  /** The rows that do not count, from 0 and ascending; null for none. */
  readonly deletedPositions: readonly number[] | null
}

/** A table as its Delta log has it. */
export interface DeltaLog {
  readonly version: number
  /** The sequence number of the snapshot that it has come to; 0 when Jobtide never wrote it. */
  readonly txnVersion: number
  /** Key of the data file → what is known of it. */
  readonly files: ReadonlyMap<string, DeltaFile>
  /** The columns, as the protocol's JSON. */
  readonly schemaString: string | null
  readonly protocol: Protocol | null
}

/**
 * What any engine sees that reads a table through its Delta log; null when there is no log.
 * @throws PublishError when it is damaged, or the store refuses
 */
export async function readDeltaLog(
  source: DeltaLogSource,
  table: string,
): Promise<DeltaLog | null> {
  const { state } = await readStoredLog(source, table)
  if (state.version < 0) return null
  const files = new Map<string, DeltaFile>()
  for (const { path, size, stats, deletionVector } of state.files.values()) {
    const key = tableFolder(table) + path
    files.set(key, {
      bytes: size,
      rows: recordsOf(stats),
      deletedPositions: deletionVector ? deletedPositions(deletionVector, key) : null,
    })
  }
  return {
    version: state.version,
    txnVersion: sequenceOf(state),
    files,
    schemaString: state.metaData?.schemaString ?? null,
    protocol: state.protocol,
  }
}

function recordsOf(stats: string | null | undefined): number | null {
  if (stats === null || stats === undefined) return null
  const { numRecords } = JSON.parse(stats) as { numRecords?: unknown }
  return typeof numRecords === 'number' ? numRecords : null
}
