/**
 * Who may do what in a data directory at the same time. Each pipeline is run by one process; different pipelines buy side
 * by side, each into journal segments of its own. Whatever writes the warehouse holds the lock of the directory, one
 * process at a time. Own lock files, because the engine's lock on the database file is lost as soon as anything in the
 * process reads that file, and because extraction needs no database at all.
 */

import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Journal } from '../journal/journal.ts'
import type { Clock } from '../support/clock.ts'
import {
  ConfigError,
  LockedError,
  StorageError,
  asStorageError,
  systemCode,
} from '../support/errors.ts'
import { makeFolderPrivate } from '../support/file-modes.ts'
import { LockFile, isSurelyAlive, isSurelyGone, type LockHolder } from '../support/lock-file.ts'
import { MINUTE, SECOND } from '../support/units.ts'

/** Name of the lock below a data directory; the names of all others begin with it. */
export const LOCK_FILE = 'lock'

const RUN_LOCK_PREFIX = `${LOCK_FILE}.run.`
/** Commands under which 0.1.0 buys. */
const BUYING_COMMANDS: ReadonlySet<string> = new Set(['run', 'backfill', 'extract'])
/** Who begins to buy takes this one first, to close what killed processes left open; see recoverJournal. */
export const RECOVERY_LOCK = `${LOCK_FILE}.recovery`
const RECOVERY_TAKES_AT_MOST_MS = MINUTE
const LOOK_AGAIN_MS = SECOND / 5

/** A lock that is held. */
export interface HeldLock {
  readonly path: string
  release(): void
}

/**
 * Takes the lock of `dataDir`, which is made where it is missing. A lock whose process is gone is taken over.
 * @param command what is running, for the message that others see
 * @throws LockedError naming the holder
 * @throws ConfigError when `dataDir` is no folder
 * @throws StorageError when the disk refuses
 */
export function acquireLock(dataDir: string, command: string, clock: Clock): HeldLock {
  return take(dataDir, LOCK_FILE, dataDir, command, clock)
}

/** Takes the lock of one pipeline; see acquireLock. @throws LockedError also while 0.1.0 may be buying in `dataDir` */
export function acquireRunLock(
  dataDir: string,
  pipeline: string,
  command: string,
  clock: Clock,
): HeldLock {
  const what = `pipeline ${pipeline} of ${dataDir}`
  const lock = take(dataDir, `${RUN_LOCK_PREFIX}${pipeline}`, what, command, clock)
  try {
    refuseEarlierVersion(dataDir, clock)
    return lock
  } catch (error) {
    lock.release()
    throw error
  }
}

/** How long to wait for a lock. */
export interface LockPatience {
  /** Milliseconds. */
  readonly maxWaitMs: number
  /** @throws its reason when it aborts first */
  readonly stop: AbortSignal
  /** Called once, when the lock is not free at first. */
  readonly onWait: (holder: LockedError) => void
}

/**
 * Takes the lock of `dataDir` as soon as whoever holds it gives it back.
 * @throws LockedError when that takes longer than `maxWaitMs`
 */
export async function waitForLock(
  dataDir: string,
  command: string,
  clock: Clock,
  { maxWaitMs, stop, onWait }: LockPatience,
): Promise<HeldLock> {
  const giveUpAt = clock.monotonic() + maxWaitMs
  for (let isWaiting = false; ; isWaiting = true) {
    try {
      return acquireLock(dataDir, command, clock)
    } catch (error) {
      if (!(error instanceof LockedError) || clock.monotonic() >= giveUpAt) throw error
      if (!isWaiting) onWait(error)
    }
    await clock.sleep(LOOK_AGAIN_MS, stop)
  }
}

/**
 * Closes what killed processes left open in the journal, unless another process may be writing it: its segment must not
 * be touched, and a torn end of a dead one does no harm until next time. Every process that is going to write the journal
 * takes its lock first and then calls this, so that nobody begins a segment while another one recovers.
 * @param mine the lock that this process holds
 * @param losses what to do where sealed segments are lost
 * @returns a sentence for each loss that was accepted
 * @throws JournalLossError when sealed segments are lost, and that is not accepted
 * @throws LockedError when another process recovers for more than a minute, or writes while losses are to be accepted
 */
export async function recoverJournal(
  dataDir: string,
  journal: Journal,
  mine: HeldLock,
  clock: Clock,
  losses: 'refuse' | 'accept' = 'refuse',
): Promise<string[]> {
  const giveUpAt = clock.monotonic() + RECOVERY_TAKES_AT_MOST_MS
  for (;;) {
    try {
      const recovery = take(dataDir, RECOVERY_LOCK, dataDir, 'recovery', clock)
      try {
        if (!othersMayWrite(dataDir, mine, clock)) return journal.recover(losses)
        if (losses === 'accept') throw notAlone(dataDir)
        journal.check()
        return []
      } finally {
        recovery.release()
      }
    } catch (error) {
      if (!(error instanceof LockedError) || clock.monotonic() >= giveUpAt) throw error
    }
    await clock.sleep(LOOK_AGAIN_MS)
  }
}

function notAlone(dataDir: string): LockedError {
  return new LockedError(`another process may be writing the journal of ${dataDir}`, {
    hint: 'Losses are accepted while nothing else runs there: wait until it ends, then run the same command again.',
  })
}

/** Which process may be at work with the lock of `dataDir`; null when none is. */
export function holderOfLock(dataDir: string, clock: Clock): LockHolder | null {
  return livingHolder(join(dataDir, LOCK_FILE), clock)
}

/** Whether a run of any pipeline may be going on in `dataDir`. */
export function isRunGoingOn(dataDir: string, clock: Clock): boolean {
  return lockNames(dataDir)
    .filter((name) => name.startsWith(RUN_LOCK_PREFIX))
    .some((name) => livingHolder(join(dataDir, name), clock) !== null)
}

// 0.1.0 buys under the lock of the directory and knows no other: it may be buying the very same now. Whoever buys since
// holds a lock of its pipeline besides, and gives that back last.
function refuseEarlierVersion(dataDir: string, clock: Clock): void {
  const lock = lockFile(join(dataDir, LOCK_FILE), clock)
  const holder = lock.holder()
  if (holder === null || !BUYING_COMMANDS.has(holder.command) || isSurelyGone(holder)) return
  const holdsPipeline = lockNames(dataDir)
    .filter((name) => name.startsWith(RUN_LOCK_PREFIX))
    .map((name) => lockFile(join(dataDir, name), clock).holder())
    .some((one) => one?.pid === holder.pid && one.host === holder.host)
  const holdsIt = lock.holder()?.nonce === holder.nonce
  if (holdsIt && !holdsPipeline) throw lockedError(lock, dataDir)
}

function othersMayWrite(dataDir: string, mine: HeldLock, clock: Clock): boolean {
  return lockNames(dataDir)
    .filter((name) => name === LOCK_FILE || name.startsWith(RUN_LOCK_PREFIX))
    .map((name) => join(dataDir, name))
    .some((path) => path !== mine.path && livingHolder(path, clock) !== null)
}

function livingHolder(path: string, clock: Clock): LockHolder | null {
  const holder = lockFile(path, clock).holder()
  return holder === null || isSurelyGone(holder) ? null : holder
}

/** A lock file to look at. */
function lockFile(path: string, clock: Clock): LockFile {
  return new LockFile(path, { command: '', clock })
}

function lockNames(dataDir: string): string[] {
  try {
    return readdirSync(dataDir).filter((name) => name.startsWith(LOCK_FILE))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw asStorageError(error, dataDir)
  }
}

function take(
  dataDir: string,
  name: string,
  what: string,
  command: string,
  clock: Clock,
): HeldLock {
  const lock = new LockFile(join(dataDir, name), { command, clock })
  try {
    makeFolder(dataDir)
    if (!lock.take()) throw lockedError(lock, what)
  } catch (error) {
    throw asStorageError(error, lock.path)
  }
  return { path: lock.path, release: () => lock.release() }
}

function makeFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true })
    makeFolderPrivate(dataDir)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT') {
      // What Node says of a new folder on a file system that is read-only.
      throw new StorageError(
        `the data directory ${dataDir} cannot be made: is its disk read-only?`,
        {
          hint: 'Name a folder that can be written with --data-dir.',
          cause: error,
        },
      )
    }
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error
    throw new ConfigError(`the data directory ${dataDir} is not a folder, or lies below a file`, {
      hint: 'Name a folder with --data-dir.',
      cause: error,
    })
  }
}

function lockedError(lock: LockFile, what: string): LockedError {
  const holder = lock.holder()
  const wait = 'Wait until it ends, or use another folder with --data-dir.'
  const orRemove = `${wait} If that process is surely gone, remove ${lock.path}.`
  if (holder === null) {
    return new LockedError(`${what} is in use by another process`, { hint: orRemove })
  }
  const { command, pid, host, since } = holder
  return new LockedError(
    `${what} is in use by \`jobtide ${command}\` (process ${pid} on ${host}, since ${since})`,
    { hint: isSurelyAlive(holder) ? wait : orRemove, context: { pid, host } },
  )
}
