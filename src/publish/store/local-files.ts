/** Files and folders that survive a power cut, and appear whole or not at all. */

import { randomUUID } from 'node:crypto'
import { lstatSync, rmdirSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import { fsyncDirectory, placeWhole } from '../../support/atomic-file.ts'
import { asStorageError, messageOf, StorageError, systemCode } from '../../support/errors.ts'

/**
 * Writes `body` to a temporary file beside `path`, syncs it and gives it that name; what was there before is replaced.
 * After a failure no temporary file remains. What `body` throws comes as it is.
 */
export async function writeWholeFile(path: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.part`
  let isOfBody = false
  async function* watched() {
    try {
      yield* body
    } catch (error) {
      isOfBody = true
      throw error
    }
  }
  try {
    await placeWhole(path, temporary, async (file) => {
      for await (const chunk of watched()) await file.appendFile(chunk)
    })
  } catch (error) {
    const known = asStorageError(error, path)
    if (isOfBody || known instanceof StorageError) throw isOfBody ? error : known
    throw new StorageError(`${path} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

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
  let folder = root
  for (const segment of key.split('/').slice(0, -1)) {
    folder = join(folder, segment)
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined
  }
  const found = lstatSync(join(root, key), { throwIfNoEntry: false })
  return found?.isFile() === true ? found : undefined
}

/** Removes a folder below `root` that became empty, then the one it was in. */
export function removeEmptyFolders(root: string, folder: string): void {
  let at = folder
  try {
    for (; at !== root; at = dirname(at)) rmdirSync(at)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '')) throw error
  }
  orNothing(() => fsyncDirectory(at))
}
