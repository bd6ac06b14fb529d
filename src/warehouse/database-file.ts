/** A database file and the log beside it, which belong together: a log beside another file would be read as that one's. */

import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { fsyncDirectory, syncFile } from '../support/atomic-file.ts'
import { asStorageError } from '../support/errors.ts'

/** Where the engine keeps what it has not written into the file yet. */
export function logOf(database: string): string {
  return `${database}.wal`
}

/** Removes a database file with its log; one that is not there is no error. @throws StorageError */
export function removeDatabase(path: string): void {
  try {
    for (const file of [path, logOf(path)]) rmSync(file, { force: true })
  } catch (error) {
    throw asStorageError(error, path)
  }
}

/**
 * Gives a finished database file, closed and without a log, the name `path`. The rename replaces what was there in one
 * step, and lasts.
 * @throws StorageError when the disk refuses: then the old file is still there
 */
export async function replaceDatabase(path: string, finished: string): Promise<void> {
  try {
    await syncFile(finished)
    // A log of the old file would be read as the new one's.
    rmSync(logOf(path), { force: true })
    renameSync(finished, path)
    fsyncDirectory(dirname(path))
  } catch (error) {
    throw asStorageError(error, path)
  }
}
