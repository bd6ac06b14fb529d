/**
 * Makes `analyst.duckdb`: a read-only copy of the warehouse for analysts, as it stood after the last publish. Readers and
 * runs never block each other: a new copy is made next to the old one and takes its name in one step, and readers of the old
 * one keep it open.
 *
 * The file is copied as a whole, because that keeps views, comments and `ops` and is fast, or immediate if the file system
 * can share blocks. The copy has the modification time of the warehouse, which shows whether both have the same state.
 */

import { chmodSync, existsSync, statSync, type Stats } from 'node:fs'
import { constants, copyFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { OWNER_ONLY, syncFile } from '../support/atomic-file.ts'
import { JobtideError, LockedError, asStorageError, onDisk } from '../support/errors.ts'
import { openToReaders } from '../support/file-modes.ts'
import { logOf, removeSpilled, spilledBeside } from '../warehouse/database-file.ts'
import { openBareFile, withWarehouse } from '../warehouse/warehouse.ts'
import type { DataDirectory } from './data-directory.ts'
import type { RunWorld } from './stages.ts'

export type AnalystCopyReport = Awaited<ReturnType<typeof makeAnalystCopy>>

/**
 * Makes a new copy. The caller holds the lock of the data directory and has closed the warehouse: the engine's lock on
 * it would be lost. A disk error, or a program that writes the warehouse at the same time, becomes the `problem` of the
 * report instead of an error, because everything is published by then.
 */
export async function makeAnalystCopy({ directory, clock }: Pick<RunWorld, 'directory' | 'clock'>) {
  const beganAt = clock.monotonic()
  const path = directory.analystCopy
  let bytes = 0
  let problem: JobtideError | null = null
  try {
    bytes = await replaceCopy(directory, path)
  } catch (error) {
    const refused = asStorageError(error, path)
    if (!(refused instanceof JobtideError)) throw refused
    problem = refused
  }
  return {
    path,
    /** Size of the copy; 0 when there is a `problem`. */
    bytes,
    durationMs: clock.monotonic() - beganAt,
    /** Why the previous copy, if any, is still current; null if the new one is in place. */
    problem,
  }
}

/** Looks for the copy, without opening it or the warehouse; null when there is none. @throws StorageError */
export function findAnalystCopy({ analystCopy: path, warehouse }: DataDirectory) {
  return onDisk(path, () => {
    const copy = statSync(path, { throwIfNoEntry: false })
    if (copy === undefined) return null
    const original = statSync(warehouse, { throwIfNoEntry: false })
    const isCurrent =
      original !== undefined && !existsSync(logOf(warehouse)) && isSame(copy, original)
    return {
      path,
      /** When the warehouse that it shows was last written, in milliseconds since 1970. */
      asOf: milliseconds(copy),
      /** True while the warehouse is still as the copy shows it. */
      isCurrent,
    }
  })
}

async function replaceCopy(directory: DataDirectory, path: string): Promise<number> {
  const { warehouse } = directory
  const tempPath = `${path}.new`
  try {
    // Closing does it as a rule; after a kill it is not done.
    if (existsSync(logOf(warehouse))) {
      await withWarehouse({ path: warehouse, mode: 'write' }, (open) => open.run('checkpoint'))
    }
    const isCurrent = findAnalystCopy(directory)?.isCurrent === true
    const original = isCurrent ? null : await copyUnchanged(warehouse, tempPath)
    await removeLeft(path)
    if (original !== null) {
      await syncFile(tempPath)
      await utimes(tempPath, original.atime, new Date(milliseconds(original)))
    }
    const newest = original === null ? path : tempPath
    // Also the one before: who may read it can be another group now.
    openToReaders(newest, path, directory.asKnownOn)
    // Left by a program that wrote into the old copy in spite of its mode: it would be read as the new one's.
    await rm(logOf(path), { force: true })
    await rename(newest, path)
    return statSync(path).size
  } finally {
    await rm(tempPath, { force: true })
  }
}

// Removes files that killed readers left next to the old copy, once the engine's lock shows that it has no reader. A
// statement on an even older copy may then fail.
async function removeLeft(path: string): Promise<void> {
  if (spilledBeside(path).length === 0) return
  if (!existsSync(path)) return removeSpilled(path)
  chmodSync(path, OWNER_ONLY)
  const close = await openBareFile(path, 'write').catch(() => null)
  if (close !== null) removeSpilled(path)
  await close?.()
}

async function copyUnchanged(from: string, to: string): Promise<Stats> {
  // Left by one that was killed, perhaps with the mode in which nothing can be copied over it.
  await rm(to, { force: true })
  const before = await stat(from)
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  const after = await stat(from)
  if (existsSync(logOf(from)) || !isSame(before, after)) {
    throw new LockedError(`the warehouse ${from} was written while it was copied`, {
      hint: 'Close the program that writes it. The next publish makes the copy for analysts.',
    })
  }
  return before
}

function isSame(one: Stats, other: Stats): boolean {
  return one.size === other.size && milliseconds(one) === milliseconds(other)
}

// Whole ones, because nothing finer can be given to a file; rounded, because even that comes out a little less.
function milliseconds({ mtimeMs }: Stats): number {
  return Math.round(mtimeMs)
}
