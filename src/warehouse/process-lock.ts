/**
 * Locks between processes that the kernel releases when their holder dies, whatever the signal, container or host name:
 * a database file of a few kilobytes that the holder keeps open for writing. The engine takes the kernel's lock on it
 * (fcntl), which Node cannot take itself.
 *
 * Such a lock belongs to the process: opening the file a second time in it succeeds, and closing it releases the lock.
 * So this module tracks the locks that its process has open, and nothing else may open them.
 */

import { randomUUID } from 'node:crypto'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fsyncDirectory, linkOnce, syncFile } from '../support/atomic-file.ts'
import { LockedError, StorageError, asStorageError } from '../support/errors.ts'
import { removeDatabase } from './database-file.ts'
import { hasNoLocks } from './errors.ts'
import { openBareFile } from './warehouse.ts'

/** A lock that this process holds. */
export interface ProcessLock {
  /** Releases it; a second call does nothing. */
  release(): void
  /** Whether its name still leads to its file. If not, another process may hold a new file of that name. */
  isInPlace(): boolean
}

/** The lock files that this process has open, by real path: `true` for one that it holds, else what its check will say. */
const openHere = new Map<string, true | Promise<boolean>>()

/**
 * Takes the lock `path`, in a folder that exists; the file is made where it is missing, and stays forever.
 * @returns null when another process, or this one, holds it or checks it
 * @throws StorageError when the disk refuses, the file is damaged, or the file system has no locks
 */
export async function tryProcessLock(path: string): Promise<ProcessLock | null> {
  const real = realOf(path)
  if (openHere.has(real)) return null
  openHere.set(real, true)
  let close: (() => void) | null = null
  try {
    if (!existsSync(real)) await createLockFile(real)
    close = await openOrNull(real, 'write')
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    if (close === null) openHere.delete(real)
  }
  if (close === null) return null
  // The holder keeps the file open, so that no other one gets its number.
  const mine = fileAt(real)
  const release = () => {
    if (close === null) return
    close()
    close = null
    openHere.delete(real)
  }
  return { release, isInPlace: () => mine !== null && fileAt(real) === mine }
}

/** Whether a process holds the lock `path` now. @throws StorageError as {@link tryProcessLock} does */
export async function isProcessLockHeld(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  const real = realOf(path)
  // A second check would mistake the first for a holder.
  const known = openHere.get(real)
  if (known !== undefined) return known
  const check = isHeldElsewhere(real).finally(() => openHere.delete(real))
  openHere.set(real, check)
  return check
}

async function isHeldElsewhere(path: string): Promise<boolean> {
  try {
    const close = await openOrNull(path, 'read')
    close?.()
    return close === null
  } catch (error) {
    // It may have disappeared meanwhile, together with its folder.
    if (existsSync(path)) throw error
    return false
  }
}

/** Whether this process holds the lock file `path`: then it must not read it, or it loses the lock. */
export function isLockOfThisProcess(path: string): boolean {
  return openHere.size > 0 && existsSync(path) && openHere.has(realOf(path))
}

async function openOrNull(path: string, mode: 'read' | 'write'): Promise<(() => void) | null> {
  try {
    return await openBareFile(path, mode)
  } catch (error) {
    if (error instanceof StorageError) throw error
    if (!(error instanceof LockedError)) {
      throw new StorageError(`the lock file ${path} cannot be used`, {
        hint: 'If no Jobtide process works in this folder, remove the file and run the same command again.',
        cause: error,
      })
    }
    if (!hasNoLocks(error)) return null
    throw new StorageError(`the file system of ${path} has no locks between processes`, {
      hint: 'Put its folder on a local disk, or on a network file system with locks (NFSv4).',
      cause: error,
    })
  }
}

// A kill while the engine makes a file leaves one that it cannot open. And a file that others may hold is never replaced:
// link() fails where one exists.
async function createLockFile(path: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`
  try {
    const close = await openBareFile(temporary, 'write')
    close()
    await syncFile(temporary)
    if (linkOnce(temporary, path)) fsyncDirectory(dirname(path))
  } finally {
    removeDatabase(temporary)
  }
}

/** The file that a name leads to; null where there is none. */
function fileAt(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}

function realOf(path: string): string {
  return join(realpathSync(dirname(path)), basename(path))
}
