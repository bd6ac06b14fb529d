/** What the actions of a log add up to. Pure. */

import {
  logicalFile,
  type Action,
  type AddFile,
  type MetaData,
  type Protocol,
  type RemoveFile,
  type Txn,
} from './actions.ts'

/** The application that Jobtide's `txn` actions name. */
export const APP_ID = 'jobtide'

/** A table as its log has it at one version. */
export interface LogState {
  readonly version: number
  readonly protocol: Protocol | null
  readonly metaData: MetaData | null
  /** By application. */
  readonly txns: ReadonlyMap<string, Txn>
  /** By path. */
  readonly files: ReadonlyMap<string, AddFile>
  /** Removed files by {@link logicalFile}. */
  readonly tombstones: ReadonlyMap<string, RemoveFile>
}

/** A log without a commit. */
export const emptyLog: LogState = {
  version: -1,
  protocol: null,
  metaData: null,
  txns: new Map(),
  files: new Map(),
  tombstones: new Map(),
}

/** The sequence number of the snapshot that a log has come to; 0 for none. */
export function sequenceOf(state: LogState): number {
  return state.txns.get(APP_ID)?.version ?? 0
}

/** The state after the actions of one commit, or of a checkpoint. */
export function applyActions(
  state: LogState,
  version: number,
  actions: readonly Action[],
): LogState {
  const files = new Map(state.files)
  const tombstones = new Map(state.tombstones)
  const txns = new Map(state.txns)
  let { protocol, metaData } = state
  // A commit has no order of its own; what is added and removed in one differs in its deletion vector.
  for (const { remove } of actions) {
    if (remove === null || remove === undefined) continue
    const known = files.get(remove.path)
    if (known !== undefined && logicalFile(known) === logicalFile(remove)) files.delete(remove.path)
    tombstones.set(logicalFile(remove), remove)
  }
  for (const action of actions) {
    protocol = action.protocol ?? protocol
    metaData = action.metaData ?? metaData
    if (action.txn) txns.set(action.txn.appId, action.txn)
    if (action.add) {
      files.set(action.add.path, action.add)
      tombstones.delete(logicalFile(action.add))
    }
  }
  return { version, protocol, metaData, txns, files, tombstones }
}
