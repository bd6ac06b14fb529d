/**
 * Brings the Delta logs of a store in line with the manifest that its pointer names. The pointer has moved by then, so a
 * log is only a further way to the same files; what a crash leaves undone here is done by the next publish.
 */

import { atOnce } from '../../support/at-once.ts'
import type { Logger } from '../../support/logger.ts'
import { hashOf, type LogVersions } from '../current.ts'
import { DamagedLogError, PublishError } from '../errors.ts'
import { POINTER_KEY, parsePointer, type Manifest, type ManifestTable } from '../manifest.ts'
import {
  applyActions,
  commitKey,
  formatActions,
  logFilesBefore,
  logFolder,
  readStoredLog,
  sequenceOf,
  versionsOf,
  writeCheckpoint,
  type LogSource,
  type LogState,
} from './log.ts'
import { planCommit } from './plan.ts'

export interface SyncOptions extends LogSource {
  /** What the logs shall show: the pointer's, and its files are in the store. */
  readonly manifest: Manifest
  readonly logger: Logger
  /** What the last publish has brought the logs to. Default: nothing is known, and all are read. */
  readonly known?: LogVersions
  /** Keys below `tables/`, listed when this publish began. Default: each log is listed. */
  readonly listed?: readonly string[]
}

const AT_ONCE = 4
/** Commits between two checkpoints, as other writers have it. */
const CHECKPOINT_EVERY = 10
// Each lost race means that another publisher has written a version, and both write the same; so a second attempt is
// rare and a tenth is a defect.
const MOST_ATTEMPTS = 10

/**
 * Adds one commit to the log of every table that it does not show as the manifest does, unless it shows a later snapshot. What
 * other engines did to a log is undone, and one that cannot be gone on with is begun again: all that it said stands in the
 * manifest. The log of a table that is no longer published stays as it is. Repeatable, and safe beside another publisher.
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

/** The version that the log has come to. @param keys of the log, as they were; what others have written since is seen later */
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
      // Also when nothing was committed: a publisher may have been killed between the two.
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

/** Writes the next version of a log where one is needed; its state then, null when another publisher was first. */
async function commit(
  options: SyncOptions,
  table: ManifestTable,
  state: LogState,
): Promise<LogState | null> {
  const { store, manifest, logger } = options
  if (await isBeyond(options, state)) return state
  const actions = planCommit({ state, manifest, table })
  if (actions === null) return state
  const version = state.version + 1
  const bytes = Buffer.from(formatActions(actions))
  if (!(await store.replace(commitKey(table.name, version), bytes, null))) return null
  logger.debug({ table: table.name, version }, 'publish.delta_committed')
  return applyActions(state, version, actions)
}

// Then a later publisher was here while this one was slow. Not so when the pointer names this snapshot, because it moves
// before a log does: the destination was begun again, or the pointer set back.
async function isBeyond({ store, manifest }: SyncOptions, state: LogState): Promise<boolean> {
  if (sequenceOf(state) <= manifest.sequence) return false
  const stored = await store.get(POINTER_KEY)
  if (stored === null) return true
  const pointer = parsePointer(stored.bytes, store.urlOf(POINTER_KEY))
  return pointer.snapshot_id !== manifest.snapshot_id
}

/**
 * Removes every version of the manifest's logs but the newest, which then stands in a checkpoint: what older versions say
 * of values in their files (the smallest profile id, say) is gone from the logs. A store that keeps versions of
 * objects keeps those. No other process reads or writes the logs meanwhile.
 */
export async function forgetLogHistory(options: SyncOptions): Promise<void> {
  await syncDeltaLogs(options)
  for (const { name } of options.manifest.tables) {
    options.signal?.throwIfAborted()
    const { state, checkpoint, keys } = await readStoredLog(options, name)
    if (checkpoint !== state.version) await writeCheckpoint(options, name, state)
    const old = logFilesBefore(keys, state.version)
    options.logger.info(
      { log: logFolder(name), files: old.length },
      'publish.delta_history_removed',
    )
    await options.store.remove(old)
  }
}
