/**
 * Locks a data directory: one process at a time buys, writes the journal or writes the warehouse. The kernel holds the
 * lock (process-lock.ts), so it ends with its holder, in any container. A second file names the holder, for messages
 * only. If the lock's file is removed by hand, another process can take a new one of that name. So the holder checks its
 * lock before each request, and before it opens the warehouse.
 */

import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { listSegments } from '../journal/reader.ts'
import { makeFolder, readJson } from '../support/atomic-file.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import {
  ConfigError,
  LockedError,
  StorageError,
  asStorageError,
  systemCode,
} from '../support/errors.ts'
import { makeFolderPrivate } from '../support/file-modes.ts'
import { MINUTE, SECOND } from '../support/units.ts'
import { isProcessLockHeld, tryProcessLock, type ProcessLock } from '../warehouse/process-lock.ts'
import { REMOVED, dataDirectory, notAFolder, replacedLinkIn } from './data-directory.ts'

export const LOCK_FOLDER = 'locks'

/** How long a command waits that has no `limits.max_wait`, in milliseconds. */
export const DEFAULT_MAX_WAIT_MS = 15 * MINUTE

const LOOK_AGAIN_MS = SECOND / 5

export interface DataLock extends Pick<ProcessLock, 'release'> {
  /** @throws LockedError where the lock was removed, or its folder moved: another process may work there */
  refuseLost(): void
}

/** Who wants the lock, and for how long it may wait. */
export interface LockRequest {
  /** The running command, for the message that others see. */
  readonly command: string
  readonly pipeline?: string
  readonly clock: Clock
  /** Milliseconds; default: not at all. */
  readonly maxWaitMs?: number
  /** Ends the wait. */
  readonly stop?: AbortSignal
  /** Called once, when the lock is not free at first. */
  readonly onWait?: (holder: LockedError) => void
}

/**
 * Takes the lock of `dataDir`, which is made where it is missing.
 * @throws LockedError naming the holder, when it holds the lock for longer than `maxWaitMs`
 * @throws ConfigError when `dataDir` is not a folder, when it is not yet a data directory but has files that Jobtide would
 * remove, or when a file that Jobtide replaces is a symbolic link
 * @throws StorageError when the disk refuses
 */
export async function acquireLock(dataDir: string, request: LockRequest): Promise<DataLock> {
  const { clock, maxWaitMs = 0, stop, onWait } = request
  const paths = pathsIn(dataDir)
  makeFolders(dataDir)
  // A process that only checks the lock also holds it for some milliseconds; a second check tells the two apart.
  const giveUpAt = clock.monotonic() + Math.max(maxWaitMs, LOOK_AGAIN_MS)
  for (let looks = 0; ; looks += 1) {
    const lock = await tryProcessLock(paths.work)
    if (lock !== null) return held(lock, dataDir, request)
    const locked = new LockedError(`${dataDir} is in use by ${readHolder(paths.holder).text}`, {
      hint: 'Wait until it ends, or use another folder with --data-dir.',
    })
    if (clock.monotonic() >= giveUpAt) throw locked
    if (looks === 1) onWait?.(locked)
    await clock.sleep(LOOK_AGAIN_MS, stop)
  }
}

/**
 * Takes the turn of the schedules of `dataDir`: one at a time decides what is due, and runs it.
 * @returns null while another process has it
 * @throws what {@link acquireLock} throws for a folder or a disk that it cannot use
 */
export async function takeScheduleTurn(
  dataDir: string,
): Promise<Pick<ProcessLock, 'release'> | null> {
  makeFolders(dataDir)
  return tryProcessLock(pathsIn(dataDir).schedule)
}

/** Which process works in `dataDir`; null when none does. */
export async function holderOf(dataDir: string) {
  const paths = pathsIn(dataDir)
  return (await isProcessLockHeld(paths.work)) ? readHolder(paths.holder) : null
}

/** Whether a file is a lock of a data directory: it holds no data, and another process may have it open. */
export function isLockFile(path: string): boolean {
  // work.duckdb, schedule.duckdb, and another one of versions up to 0.18.
  return basename(dirname(path)) === LOCK_FOLDER && path.endsWith('.duckdb')
}

function pathsIn(dataDir: string) {
  const folder = join(dataDir, LOCK_FOLDER)
  return {
    work: join(folder, 'work.duckdb'),
    schedule: join(folder, 'schedule.duckdb'),
    holder: join(folder, 'holder.json'),
  }
}

async function held(lock: ProcessLock, dataDir: string, request: LockRequest): Promise<DataLock> {
  const { holder, work } = pathsIn(dataDir)
  const { command, pipeline, clock } = request
  const since = isoInstant(clock.now())
  const note = { command, pipeline, process: process.pid, host: hostname(), since }
  try {
    // A new file, so that the target of a link in its place stays unchanged.
    rmSync(holder, { force: true })
    writeFileSync(holder, `${JSON.stringify(note)}\n`, { flag: 'wx' })
  } catch (error) {
    await lock.release()
    throw asStorageError(error, holder)
  }
  return {
    refuseLost() {
      if (lock.isInPlace()) return
      throw new LockedError(
        `${work} was removed or replaced while this process worked: another one may work in ${dataDir}`,
        {
          hint: 'Leave that folder alone while Jobtide works, and run the same command again: it continues where it stopped.',
        },
      )
    },
    async release() {
      try {
        // Otherwise it is the note of another process.
        if (lock.isInPlace()) rmSync(holder, { force: true })
      } finally {
        await lock.release()
      }
    },
  }
}

// The note is missing if the holder has just begun, or just ended.
function readHolder(path: string) {
  const note = Object(readJson(path)) as Record<string, unknown>
  /** Null for a command about none. */
  const pipeline = typeof note['pipeline'] === 'string' ? note['pipeline'] : null
  if (typeof note['command'] !== 'string') return { pipeline, text: 'another process' }
  const of = pipeline === null ? '' : ` of pipeline ${pipeline}`
  const { command, process: pid, host, since } = note
  const text = `\`jobtide ${command}\`${of} (process ${String(pid)} on ${String(host)}, since ${String(since)})`
  return { pipeline, text }
}

/** Refuses a folder in which Jobtide would remove or replace what it did not make, before anything is made. */
function refuseUnsafe(dataDir: string): void {
  const { root, journal, warehouse } = dataDirectory(dataDir)
  if (!existsSync(root)) return
  // A folder that no Jobtide worked in yet, such as that of a project, may have its own `reports`.
  const foreign = readdirSync(root).find((name) => REMOVED.test(name))
  const isOurs =
    existsSync(warehouse) || existsSync(join(root, LOCK_FOLDER)) || listSegments(journal).length > 0
  if (foreign !== undefined && !isOurs) {
    throw new ConfigError(
      `${root} is not a data directory yet, and Jobtide would remove its ${foreign}, which it did not make`,
      { hint: 'Name an empty folder with --data-dir, such as data. Nothing was changed.' },
    )
  }
  const link = replacedLinkIn(root)
  if (link === undefined) return
  throw new ConfigError(`${link} is a symbolic link, and Jobtide would put a file in its place`, {
    hint: 'Replace the link with the file it points to. To keep the data on another disk, make the whole data directory a link. Nothing was changed.',
  })
}

function makeFolders(dataDir: string): void {
  try {
    refuseUnsafe(dataDir)
    makeFolder(dataDir)
    makeFolderPrivate(dataDir)
    makeFolder(join(dataDir, LOCK_FOLDER))
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT') {
      // Node's error codes for a new folder on a read-only file system.
      throw new StorageError(
        `the data directory ${dataDir} cannot be made: is its disk read-only?`,
        { hint: 'Name a folder that can be written with --data-dir.', cause: error },
      )
    }
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw asStorageError(error, dataDir)
    throw notAFolder(dataDir, error)
  }
}
