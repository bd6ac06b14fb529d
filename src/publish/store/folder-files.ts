/** What a folder of objects does with single files and folders, each safe against others who put and remove meanwhile. */

import { chmodSync, lstatSync, mkdirSync, rmdirSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fsyncDirectory } from '../../support/atomic-file.ts'
import { systemCode } from '../../support/errors.ts'
import type { FileModes } from '../../support/file-modes.ts'

// A folder that becomes empty is removed, perhaps right before an object is put into it.
const PLACE_TRIES = 5

/** What `work` returns; undefined where a file or folder is not there. */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * The plain file `key` below `root`; undefined where there is none. A symbolic link is none, nor is what lies behind one:
 * it could lead anywhere.
 */
export function plainFile(root: string, key: string): Stats | undefined {
  const segments = key.split('/')
  for (let depth = 1; depth < segments.length; depth += 1) {
    const folder = join(root, ...segments.slice(0, depth))
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined
  }
  const found = lstatSync(join(root, key), { throwIfNoEntry: false })
  return found?.isFile() === true ? found : undefined
}

/** Removes a folder below `root` that became empty, then the one it was in, and makes that survive a power cut. */
export function removeEmptyFolders(root: string, folder: string): void {
  let at = folder
  while (at !== root && wasEmpty(at)) at = dirname(at)
  orNothing(() => fsyncDirectory(at))
}

function wasEmpty(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false
    if (code === 'ENOENT') return true
    throw error
  }
}

/**
 * Gives a finished file its name by `place`, making the folder where it is missing, and makes that survive a power cut.
 * Errors come as they are.
 * @param modes of new folders; null: as the process's umask says
 */
export function placeFile(path: string, modes: FileModes | null, place: () => void): void {
  for (let attempt = 1; ; attempt += 1) {
    makeFolder(dirname(path), modes)
    try {
      place()
      fsyncDirectory(dirname(path))
      return
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || attempt === PLACE_TRIES) throw error
    }
  }
}

/** Writes a file that must not exist yet, and syncs it. @param modes as for placeFile */
export async function writeSynced(
  path: string,
  bytes: Uint8Array,
  modes: FileModes | null,
): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await file.writeFile(bytes)
    if (modes !== null) await file.chmod(modes.file)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes a folder, and makes the new names survive a power cut. @param modes as for placeFile */
export function makeFolder(folder: string, modes: FileModes | null): void {
  const first = mkdirSync(folder, { recursive: true })
  if (first === undefined) return
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    if (modes !== null) chmodSync(made, modes.folder)
    fsyncDirectory(dirname(made))
  }
}
