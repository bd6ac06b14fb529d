/**
 * Brings the Delta logs of a store in line with the manifest that its pointer names. The pointer has moved by then, so a
 * log is only a further way to the same files; what a crash leaves undone here is done by the next publish.
 */

import { atOnce } from '../../support/at-once.ts'
import type { Logger } from '../../support/logger.ts'
import { hashOf, type LogVersions } from '../current.ts'
import { DamagedLogError, LostVersionError, PublishError } from '../errors.ts'
import { POINTER_KEY, parsePointer, type Manifest, type ManifestTable } from '../manifest.ts'
import { formatActions } from './actions.ts'
import { writeCheckpoint } from './checkpoint.ts'
import { planCommit } from './commit-plan.ts'
import type { DeltaLogSource } from './local-file.ts'
import { commitKey, logFilesBefore, logFolder, versionsOf } from './log-files.ts'
import { applyActions, readStoredLog, sequenceOf, type LogState } from './log.ts'

export interface SyncOptions extends DeltaLogSource {
  /** What the logs shall show: the pointer's, and its files are in the store. */
  readonly manifest: Manifest
  readonly logger: Logger
  /** What the last publish has brought the logs to. Default: nothing is known, and all are read. */
  readonly known?: LogVersions
  /** Keys below `tables/`, listed when this publish began: a log of which nothing is there need not be listed again. */
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
 * other engines did to a log is undone. The log of a table that is no longer published stays as it is. Repeatable, and safe
 * beside another publisher.
 * @throws PublishError when a log is damaged or changed by others, a column has no type in the Delta protocol, or the
 *   store refuses
 */
export async function syncDeltaLogs(options: SyncOptions): Promise<LogVersions> {
  const { manifest, known = {}, listed } = options
  const damaged: DamagedLogError[] = []
  const logs: LogVersions = {}
  const keys = new Map<string | undefined, string[]>()
  for (const key of listed ?? []) {
    const folder = /^tables\/[^/]+\/_delta_log\//.exec(key)?.[0]
    keys.set(folder, [...(keys.get(folder) ?? []), key])
  }
  await atOnce(manifest.tables, AT_ONCE, async (table) => {
    options.signal?.throwIfAborted()
    const { name } = table
    const hash = hashOf(table)
    const own = listed && (keys.get(logFolder(name)) ?? [])
    const before = known[name]
    if (before?.table === hash && own && versionsOf(own).commits.at(-1) === before.version) {
      logs[name] = before
      return
    }
    try {
      logs[name] = { version: await syncOrBeginAgain(options, table, own), table: hash }
    } catch (error) {
      // One that is damaged does not keep the readers of the others at yesterday.
      if (!(error instanceof DamagedLogError)) throw error
      damaged.push(error)
    }
  })
  if (damaged[0] !== undefined) throw damaged[0]
  return logs
}

/** Nobody could read a log that has lost a version; all that it says stands in the manifest. */
async function syncOrBeginAgain(
  options: SyncOptions,
  table: ManifestTable,
  keys: readonly string[] | undefined,
): Promise<number> {
  try {
    return await syncLog(options, table, keys)
  } catch (error) {
    if (!(error instanceof LostVersionError)) throw error
    options.logger.warn({ reason: error.message }, 'publish.delta_begun_again')
    const found = await options.store.list(logFolder(table.name))
    await options.store.remove(found.map(({ key }) => key))
    return syncLog(options, table, undefined)
  }
}

/** The version that it has come to. */
async function syncLog(
  options: SyncOptions,
  table: ManifestTable,
  keys: readonly string[] | undefined,
): Promise<number> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
    // What another publisher has written since is seen at the second attempt.
    const listed = attempt === 1 ? keys : undefined
    const { state, checkpoint, damaged } = await readStoredLog(options, table.name, listed)
    // It stops other readers, too. What it said is in the versions before.
    if (damaged.length > 0) await options.store.remove(damaged)
    const synced = await commit(options, table, state)
    if (synced === null) continue
    // Also when nothing was committed: a publisher may have been killed between the two.
    // So may it before a log of 0.12 could be read by all: what named deleted rows is behind the checkpoint.
    const isPlainSince = hasVectors(state) && synced.version > (checkpoint ?? -1)
    if (isPlainSince || synced.version - (checkpoint ?? 0) >= CHECKPOINT_EVERY) {
      await writeCheckpoint(options, table.name, synced)
    }
    return synced.version
  }
  throw new PublishError(
    `the Delta log of ${table.name} was written by others ${MOST_ATTEMPTS} times in a row`,
    { hint: 'Let one publisher at a time write there.' },
  )
}

/** Whether it names rows that were deleted in a file, as Jobtide 0.12 did. */
function hasVectors({ files, tombstones }: LogState): boolean {
  return [...files.values(), ...tombstones.values()].some(({ deletionVector }) => deletionVector)
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
  for (const { name } of options.manifest.tables) {
    options.signal?.throwIfAborted()
    const { state, checkpoint, damaged, keys } = await readStoredLog(options, name)
    await options.store.remove(damaged)
    if (state.version < 0) continue
    if (checkpoint !== state.version) await writeCheckpoint(options, name, state)
    const old = logFilesBefore(keys, state.version)
    options.logger.info(
      { log: logFolder(name), files: old.length },
      'publish.delta_history_removed',
    )
    await options.store.remove(old)
  }
}
