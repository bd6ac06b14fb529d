/**
 * Brings the Delta logs of a store in line with the manifest that its pointer names. The pointer has moved by then, so a
 * log is only a further way to the same files; what a crash leaves undone here is done by the next publish.
 */

import type { Logger } from '../../support/logger.ts'
import { DamagedLogError, PublishError } from '../errors.ts'
import { POINTER_KEY, parsePointer, type Manifest, type ManifestTable } from '../manifest.ts'
import { formatActions, type Action } from './actions.ts'
import { writeCheckpoint } from './checkpoint.ts'
import { planCommit } from './commit-plan.ts'
import { readDeletionVectors } from './deletion-vector.ts'
import type { DeltaLogSource } from './local-file.ts'
import { commitKey, logFilesBefore, logFolder } from './log-files.ts'
import { readStoredLog, type StoredLog } from './log.ts'
import { applyActions, sequenceOf } from './replay.ts'

/** What syncing the logs takes. */
export interface SyncOptions extends DeltaLogSource {
  /** What the logs shall show: the pointer's, and its files are in the store. */
  readonly manifest: Manifest
  readonly logger: Logger
}

/** What was done to one log. */
export interface SyncedLog {
  readonly table: string
  /** The newest version of the log. */
  readonly version: number
  /** False: it showed this snapshot, or a later one, already. */
  readonly committed: boolean
}

/** Commits between two checkpoints, as other writers have it. */
const CHECKPOINT_EVERY = 10
// Each lost race means that another publisher has written a version, and both write the same; so a second attempt is
// rare and a tenth is a defect.
const MOST_ATTEMPTS = 10

/**
 * Adds one commit to the log of every table of the manifest, unless the log shows its snapshot, or a later one, already. What
 * other engines did to a log is undone. The log of a table that is no longer published stays as it is. Repeatable, and safe
 * beside another publisher.
 * @throws PublishError when a log is damaged or changed by others, a column has no type in the Delta protocol, or the
 *   store refuses
 */
export async function syncDeltaLogs(options: SyncOptions): Promise<SyncedLog[]> {
  const synced: SyncedLog[] = []
  const damaged: DamagedLogError[] = []
  for (const table of options.manifest.tables) {
    options.signal?.throwIfAborted()
    try {
      synced.push(await syncLog(options, table))
    } catch (error) {
      // One that is damaged does not keep the readers of the others at yesterday.
      if (!(error instanceof DamagedLogError)) throw error
      damaged.push(error)
    }
  }
  const [first] = damaged
  if (first !== undefined) throw first
  return synced
}

async function syncLog(options: SyncOptions, table: ManifestTable): Promise<SyncedLog> {
  const { logger } = options
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
    const log = await readStoredLog(options, table.name)
    const actions = (await isBeyond(options, log)) ? null : await plan(options, table, log)
    const committed = actions === null ? log : await commit(options, table, log, actions)
    if (committed !== null) {
      await checkpointIfDue(options, table.name, committed)
      const { version } = committed.state
      if (actions !== null) logger.debug({ table: table.name, version }, 'publish.delta_committed')
      return { table: table.name, version, committed: actions !== null }
    }
  }
  throw new PublishError(
    `the Delta log of ${table.name} was written by others ${MOST_ATTEMPTS} times in a row`,
    { hint: 'Let one publisher at a time write there.' },
  )
}

// Then a later publisher was here while this one was slow. Not so when the pointer names this snapshot, because it moves
// before a log does: the destination was begun again, or the pointer set back.
async function isBeyond({ store, manifest }: SyncOptions, { state }: StoredLog): Promise<boolean> {
  if (sequenceOf(state) <= manifest.sequence) return false
  const stored = await store.get(POINTER_KEY)
  if (stored === null) return true
  const pointer = parsePointer(stored.bytes, store.urlOf(POINTER_KEY))
  return pointer.snapshot_id !== manifest.snapshot_id
}

async function plan(
  options: SyncOptions,
  table: ManifestTable,
  { state }: StoredLog,
): Promise<Action[] | null> {
  const vectors = await readDeletionVectors(options, table)
  return planCommit({ state, manifest: options.manifest, table, vectors })
}

/** Writes the next version of a log; null when another publisher was first. */
async function commit(
  { store }: SyncOptions,
  table: ManifestTable,
  log: StoredLog,
  actions: readonly Action[],
): Promise<StoredLog | null> {
  const version = log.state.version + 1
  const bytes = Buffer.from(formatActions(actions))
  if (!(await store.replace(commitKey(table.name, version), bytes, null))) return null
  return { ...log, state: applyActions(log.state, version, actions) }
}

// Also when nothing was committed: a publisher may have been killed between the two.
async function checkpointIfDue(
  options: SyncOptions,
  table: string,
  { state, checkpoint }: StoredLog,
): Promise<void> {
  if (state.version - (checkpoint ?? 0) < CHECKPOINT_EVERY) return
  await writeCheckpoint(options, table, state, Date.parse(options.manifest.created_at))
}

/**
 * Removes every version of the manifest's logs but the newest, which then stands in a checkpoint: what older versions say
 * of values in their files (the smallest profile id, say) is gone from the logs. A store that keeps versions of
 * objects keeps those. No other process reads or writes the logs meanwhile.
 * @throws PublishError when a log is damaged, or the store refuses
 */
export async function forgetLogHistory(options: SyncOptions): Promise<void> {
  for (const { name } of options.manifest.tables) {
    options.signal?.throwIfAborted()
    const { state, checkpoint, keys } = await readStoredLog(options, name)
    if (state.version < 0) continue
    if (checkpoint !== state.version) {
      await writeCheckpoint(options, name, state, Date.parse(options.manifest.created_at))
    }
    const old = logFilesBefore(keys, state.version)
    options.logger.info(
      { log: logFolder(name), files: old.length },
      'publish.delta_history_removed',
    )
    await options.store.remove(old)
  }
}
