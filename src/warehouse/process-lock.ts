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
import { WarehouseDamagedError, hasNoLocks } from './errors.ts'
import { openBareFile } from './warehouse.ts'

export interface ProcessLock {
  /** Releases it; a second call does nothing. */
  release(): Promise<void>
  /** Whether its name still leads to its file. If not, another process may hold a new file of that name. */
  isInPlace(): boolean
}

/** Real paths of the lock files that this process holds or checks. */
const openHere = new Set<string>()
/** Checks in progress, by real path: a second check does not mistake the first for a holder. */
const looks = new Map<string, Promise<boolean>>()

/**
 * The file, made where it is missing or damaged, stays forever. @returns null when another process, or this one,
 * holds it or looks at it @throws StorageError when the disk refuses, or the file system has no locks
 */
export async function tryProcessLock(path: string): Promise<ProcessLock | null> {
  return onlyHere(path, async (real, done) => {
    if (!existsSync(real)) await createLockFile(real)
    const close = await openOrNull(real, 'write').catch((error: unknown) => repair(real, error))
    if (close === null) return null
    // The holder keeps the file open, so that no other one gets its number.
    const mine = fileAt(real)
    let isHeld = true
    const release = async () => {
      if (!isHeld) return
      isHeld = false
      await close().finally(done)
    }
    return { release, isInPlace: () => mine !== null && fileAt(real) === mine }
  })
}

/** Whether a process holds the lock `path` now: never one that is damaged. @throws StorageError when the disk refuses */
export async function isProcessLockHeld(path: string): Promise<boolean> {
  if (!existsSync(path)) return false
  const real = realOf(path)
  const underWay = looks.get(real)
  if (underWay !== undefined) return underWay
  const look = onlyHere(path, async (_, done) => {
    const close = await openOrNull(real, 'read').catch((error: unknown) => {
      // It may have disappeared meanwhile, together with its folder.
      if (isDamaged(error) || !existsSync(real)) return () => Promise.resolve()
      throw error
    })
    await close?.()
    done()
    return close
  }).then((close) => close === null)
  looks.set(real, look)
  return look.finally(() => looks.delete(real))
}

/** Whether this process holds the lock file `path`: then it must not read it, or it loses the lock. */
export function isLockOfThisProcess(path: string): boolean {
  return openHere.size > 0 && existsSync(path) && openHere.has(realOf(path))
}

/** Works on a lock file that nothing else in this process has open, until `done` is called or nothing was opened. */
async function onlyHere<T>(
  path: string,
  work: (real: string, done: () => void) => Promise<T | null>,
): Promise<T | null> {
  const real = realOf(path)
  if (openHere.has(real)) return null
  openHere.add(real)
  const done = () => void openHere.delete(real)
  try {
    const result = await work(real, done)
    if (result === null) done()
    return result
  } catch (error) {
    done()
    throw asStorageError(error, path)
  }
}

async function openOrNull(
  path: string,
  mode: 'read' | 'write',
): Promise<(() => Promise<void>) | null> {
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

const REPAIR = '.repair'
const MOST_REPAIRS = 3

const isDamaged = (error: unknown) =>
  error instanceof StorageError && error.cause instanceof WarehouseDamagedError

// The engine takes the kernel's lock before it reads: so no process holds a damaged file, or ever will. When several
// processes find it damaged, one at a time looks again, because another one may hold a new file by now.
async function repair(path: string, error: unknown): Promise<(() => Promise<void>) | null> {
  if (!isDamaged(error) || path.endsWith(REPAIR)) throw error
  const turn = await tryProcessLock(`${path}${REPAIR}`)
  if (turn === null) return null
  try {
    for (let repairs = 0; ; repairs += 1) {
      try {
        return await openOrNull(path, 'write')
      } catch (again) {
        if (!isDamaged(again) || repairs === MOST_REPAIRS) throw again
        removeDatabase(path)
        await createLockFile(path)
      }
    }
  } finally {
    await turn.release()
  }
}

// A kill while the engine makes a file leaves one that it cannot open. And a file that others may hold is never replaced:
// link() fails where one exists.
async function createLockFile(path: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.new`
  try {
    const close = await openBareFile(temporary, 'write')
    await close()
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
