/**
 * Creates temporary folders outside the data directory, which may be read-only or remote. A lock next to each ends with its
 * process, so the next command can remove folders of killed ones.
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

/** Removes folders left by killed processes of this user. Unexpected or locked entries stay. */
export async function removeLeftFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch((): string[] => [])
  for (const name of names.filter((entry) => NAME.test(entry))) {
    await removeLeft(join(tmpdir(), name)).catch(() => undefined)
  }
}

// Any account may create an entry with such a name in a shared folder.
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
