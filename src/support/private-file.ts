/** Files that only their owner may read: what they hold names people, or is a key. */

import { renameSync } from 'node:fs'
import { placeFileAtomic } from './atomic-file.ts'

const OWNER_ONLY = 0o600

/**
 * Replaces `path` by `content`, readable by its owner alone (mode 0600): the old content or the new, whatever happens.
 * Creates missing folders.
 * @throws StorageError when the disk refuses
 */
export function writePrivateFile(path: string, content: string): void {
  placeFileAtomic(path, content, (temporary) => renameSync(temporary, path), OWNER_ONLY)
}
