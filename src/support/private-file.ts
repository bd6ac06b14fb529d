/** Files that only their owner may read: what they hold names people, or is a key. */

import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { fsyncDirectory } from './atomic-file.ts'
import { asStorageError, systemCode } from './errors.ts'

const OWNER_ONLY = 0o600

/**
 * Replaces `path` by `content`, readable by its owner alone (mode 0600): the old content or the new, whatever happens.
 * Creates missing folders.
 * @throws StorageError when the disk refuses
 */
export function writePrivateFile(path: string, content: string): void {
  withPrivateFile(path, content, (temporary) => renameSync(temporary, path))
}

/** As writePrivateFile, unless `path` exists: then nothing happens, and the answer is false. */
export function createPrivateFile(path: string, content: string): boolean {
  return withPrivateFile(path, content, (temporary) => {
    try {
      linkSync(temporary, path)
      return true
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false
      throw error
    }
  })
}

function withPrivateFile<T>(path: string, content: string, place: (temporary: string) => T): T {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(path), { recursive: true })
    // One that a killed process left keeps its mode; a new one gets ours.
    rmSync(temporary, { force: true })
    const file = openSync(temporary, 'wx', OWNER_ONLY)
    try {
      const bytes = Buffer.from(content)
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    const placed = place(temporary)
    fsyncDirectory(dirname(path))
    return placed
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    rmSync(temporary, { force: true })
  }
}
