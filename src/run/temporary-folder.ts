/**
 * Folders away from all data, which may be read-only or elsewhere, for what a command needs while it runs. A lock beside each
 * ends with its process, so that the next command knows what killed ones left, and removes it.
 */

import { randomUUID } from 'node:crypto'
import { lstatSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeDatabase } from '../warehouse/database-file.ts'
import { isProcessLockHeld, tryProcessLock } from '../warehouse/process-lock.ts'

const NAME = /^jobtide-[a-z]+-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
const lockOf = (folder: string) => `${folder}.lock`

/** Runs `work` with the path of a new folder, which it makes where it needs one; removed afterwards, whatever happened. */
export async function withTemporaryFolder<T>(
  command: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await removeLeftFolders()
  const folder = join(tmpdir(), `jobtide-${command}-${randomUUID()}`)
  const lock = await tryProcessLock(lockOf(folder))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    lock?.release()
    removeDatabase(lockOf(folder))
  }
}

/** Removes the folders that killed processes of this user left. What cannot be removed, or is odd, stays where it is. */
export async function removeLeftFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch((): string[] => [])
  for (const name of names.filter((entry) => NAME.test(entry))) {
    await removeLeft(join(tmpdir(), name)).catch(() => undefined)
  }
}

// In a folder that all accounts share anybody may give anything such a name.
async function removeLeft(folder: string): Promise<void> {
  const [found, lock] = [folder, lockOf(folder)].map((path) =>
    lstatSync(path, { throwIfNoEntry: false }),
  )
  if (found?.isDirectory() !== true || found.uid !== process.getuid?.()) return
  if (lock !== undefined && !(lock.isFile() && lock.uid === found.uid)) return
  if (await isProcessLockHeld(lockOf(folder))) return
  rmSync(folder, { recursive: true, force: true })
  removeDatabase(lockOf(folder))
}
