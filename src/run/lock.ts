/**
 * One writing process for each data directory. An own lock file, because the engine's lock on the database file is lost
 * as soon as anything in the process reads that file, and because extraction needs no database at all.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../support/clock.ts'
import {
  ConfigError,
  LockedError,
  StorageError,
  asStorageError,
  systemCode,
} from '../support/errors.ts'
import { LockFile, isSurelyAlive } from '../support/lock-file.ts'

/** Name of the lock file below a data directory. */
export const LOCK_FILE = 'lock'

/**
 * Takes the lock of `dataDir`, which is made where it is missing; the returned function gives it back. A lock whose
 * process is gone is taken over.
 * @param command what is running, for the message that others see
 * @throws LockedError naming the holder
 * @throws ConfigError when `dataDir` is no folder
 * @throws StorageError when the disk refuses
 */
export function acquireLock(dataDir: string, command: string, clock: Clock): () => void {
  const lock = new LockFile(join(dataDir, LOCK_FILE), { command, clock })
  try {
    makeFolder(dataDir)
    if (!lock.take()) throw lockedError(lock, dataDir)
  } catch (error) {
    throw asStorageError(error, lock.path)
  }
  return () => lock.release()
}

function makeFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true })
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

function lockedError(lock: LockFile, dataDir: string): LockedError {
  const holder = lock.holder()
  const wait = 'Wait until it ends, or use another folder with --data-dir.'
  const orRemove = `${wait} If that process is surely gone, remove ${lock.path}.`
  if (holder === null) {
    return new LockedError(`${dataDir} is in use by another process`, { hint: orRemove })
  }
  const { command, pid, host, since } = holder
  return new LockedError(
    `${dataDir} is in use by \`jobtide ${command}\` (process ${pid} on ${host}, since ${since})`,
    { hint: isSurelyAlive(holder) ? wait : orRemove, context: { pid, host } },
  )
}
