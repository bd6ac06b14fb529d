/** The Delta log of a table: its newest checkpoint, the commits after that, and what their actions add up to. */

import { quotePath } from '../../warehouse/sql-text.ts'
import { SqlError, WarehouseDamagedError } from '../../warehouse/errors.ts'
import { DamagedLogError, LostVersionError } from '../errors.ts'
import type { ObjectStore } from '../store/object-store.ts'
import {
  logicalFile,
  parseActions,
  type Action,
  type AddFile,
  type MetaData,
  type Protocol,
  type RemoveFile,
} from './actions.ts'
import { withLocalFile, type DeltaLogSource } from './local-file.ts'
import { checkpointKey, commitKey, logFolder, versionsOf } from './log-files.ts'

export const APP_ID = 'jobtide'

export interface LogState {
  /** -1: a log without a commit. */
  readonly version: number
  readonly protocol: Protocol | null
  readonly metaData: MetaData | null
  readonly txn: Action['txn'] | null
  readonly files: ReadonlyMap<string, AddFile>
  /** Removed files by {@link logicalFile}. */
  readonly tombstones: ReadonlyMap<string, RemoveFile>
}

export const emptyLog: LogState = {
  version: -1,
  protocol: null,
  metaData: null,
  txn: null,
  files: new Map(),
  tombstones: new Map(),
}

export interface StoredLog {
  readonly state: LogState
  /** The version of the newest checkpoint; null when there is none. */
  readonly checkpoint: number | null
  /** Keys of newer checkpoints that cannot be read. */
  readonly damaged: readonly string[]
  readonly keys: readonly string[]
}

/** The sequence number of the snapshot that a log has come to; 0 for none. */
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
  // A commit has no order of its own; what is added and removed in one differs in its deletion vector.
  for (const { remove } of actions) {
    if (remove === undefined) continue
    const known = files.get(remove.path)
    if (known !== undefined && logicalFile(known) === logicalFile(remove)) files.delete(remove.path)
    tombstones.set(logicalFile(remove), remove)
  }
  for (const action of actions) {
    protocol = action.protocol ?? protocol
    metaData = action.metaData ?? metaData
    if (action.txn?.appId === APP_ID) txn = action.txn
    if (action.add === undefined) continue
    files.set(action.add.path, action.add)
    tombstones.delete(logicalFile(action.add))
  }
  return { version, protocol, metaData, txn, files, tombstones }
}

/** Reads a table's log; its state is {@link emptyLog} when there is none. @param listed its keys; listed here unless given */
export async function readStoredLog(
  source: DeltaLogSource,
  table: string,
  listed?: readonly string[],
): Promise<StoredLog> {
  const { store } = source
  const keys = listed ?? (await store.list(logFolder(table))).map(({ key }) => key)
  const { commits, checkpoints } = versionsOf(keys)
  const { checkpoint, actions, damaged } = await newestReadable(source, table, checkpoints)
  let state = checkpoint === null ? emptyLog : applyActions(emptyLog, checkpoint, actions)
  for (const version of commits.filter((commit) => commit > state.version)) {
    if (version !== state.version + 1) throw gap(store, table, state.version + 1)
    state = applyActions(state, version, await readCommit(store, table, version))
  }
  return { state, checkpoint, damaged, keys }
}

async function readCommit(store: ObjectStore, table: string, version: number): Promise<Action[]> {
  const key = commitKey(table, version)
  const stored = await store.get(key)
  if (stored === null) throw gap(store, table, version)
  return parseActions(Buffer.from(stored.bytes).toString(), store.urlOf(key))
}

async function newestReadable(
  source: DeltaLogSource,
  table: string,
  checkpoints: readonly number[],
): Promise<Pick<StoredLog, 'checkpoint' | 'damaged'> & { readonly actions: readonly Action[] }> {
  const damaged: string[] = []
  for (const checkpoint of checkpoints.toReversed()) {
    try {
      const actions = await readCheckpoint(source, table, checkpoint)
      return { checkpoint, actions, damaged }
    } catch (error) {
      const isDamaged = error instanceof SqlError || error instanceof DamagedLogError
      if (!isDamaged && !(error instanceof WarehouseDamagedError)) throw error
      damaged.push(checkpointKey(table, checkpoint))
    }
  }
  return { checkpoint: null, actions: [], damaged }
}

async function readCheckpoint(
  source: DeltaLogSource,
  table: string,
  version: number,
): Promise<Action[]> {
  const key = checkpointKey(table, version)
  return withLocalFile(source, key, async (path) => {
    const rows = await source.warehouse.all<{ line: string }>(
      `select cast(to_json(action) as varchar) as line from read_parquet(${quotePath(path)}) as action`,
    )
    return parseActions(rows.map(({ line }) => line).join('\n'), source.store.urlOf(key))
  })
}

function gap(store: ObjectStore, table: string, version: number): LostVersionError {
  const folder = store.urlOf(logFolder(table).slice(0, -1))
  return new LostVersionError(`the Delta log ${folder} has lost its version ${version}`, {
    hint: 'The next publish begins it again.',
  })
}
