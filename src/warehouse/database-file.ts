/**
 * A database file and the files next to it, which belong together: a log next to another file would be read as that
 * file's log.
 */

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fsyncDirectory, syncFile } from '../support/atomic-file.ts'
import { asStorageError, onDisk } from '../support/errors.ts'
import { spillFolderOf } from './engine-settings.ts'

/** The write-ahead log of a database file. */
export function logOf(database: string): string {
  return `${database}.wal`
}

/** Spill folders of other processes next to a database. */
export function spilledBeside(path: string): string[] {
  if (!existsSync(dirname(path))) return []
  const [own, start] = [basename(spillFolderOf({ path })), `${basename(path)}.tmp`]
  return readdirSync(dirname(path))
    .filter((name) => (name === start || name.startsWith(`${start}.`)) && name !== own)
    .map((name) => join(dirname(path), name))
}

/** Removes what killed processes left there. No other process has the database open. @throws StorageError */
export function removeSpilled(path: string): void {
  onDisk(path, () => {
    for (const folder of spilledBeside(path)) rmSync(folder, { recursive: true, force: true })
  })
}

/** Removes a database file with its log; a missing one is not an error. @throws StorageError */
export function removeDatabase(path: string): void {
  onDisk(path, () => {
    for (const file of [path, logOf(path)]) rmSync(file, { force: true })
    removeSpilled(path)
  })
}

/** Replaces `path` by a closed file without a log, atomically. @throws StorageError: the old file is still there */
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
