/** Files that only their owner may read: what they hold names people, or is a key. */

import { linkSync, renameSync } from 'node:fs'
import { placeFileAtomic } from './atomic-file.ts'
import { systemCode } from './errors.ts'

const OWNER_ONLY = 0o600

/**
 * Replaces `path` by `content`, readable by its owner alone (mode 0600): the old content or the new, whatever happens.
 * Creates missing folders.
 * @throws StorageError when the disk refuses
 */
export function writePrivateFile(path: string, content: string): void {
  placeFileAtomic(path, content, (temporary) => renameSync(temporary, path), OWNER_ONLY)
}

/** As writePrivateFile, unless `path` exists: then nothing happens, and the answer is false. */
export function createPrivateFile(path: string, content: string): boolean {
  const place = (temporary: string) => {
    try {
      linkSync(temporary, path)
      return true
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false
      throw error
    }
  }
  return placeFileAtomic(path, content, place, OWNER_ONLY)
}
