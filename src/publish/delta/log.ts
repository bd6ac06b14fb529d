/** Reads the Delta log of a table: its newest checkpoint, then the commits after that. */

import { quoteText } from '../../warehouse/sql-text.ts'
import { DamagedLogError } from '../errors.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { parseActions, type Action } from './actions.ts'
import { withLocalFile, type DeltaLogSource } from './local-file.ts'
import { checkpointKey, commitKey, logFolder, versionsOf } from './log-files.ts'
import { applyActions, emptyLog, type LogState } from './replay.ts'

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
    hint: 'Remove that folder: the next publish writes it again.',
  })
}
