/**
 * Identifies the journal: a ULID in a small file next to its segments, made once. It moves with the journal, outlives
 * the warehouse, and is lost when the journal is lost. Snapshots carry it, so that a destination knows whose rows it
 * shows.
 */

import { join } from 'node:path'
import { OWNER_ONLY, createFile, readIfThere } from '../support/atomic-file.ts'
import { StorageError } from '../support/errors.ts'
import { newUlid } from '../support/ulid.ts'

export const IDENTITY_FILE = 'identity'

/**
 * Returns the identity of the journal in `folder`, and creates a missing one. When several processes create one, the
 * first wins.
 * @param nowMs milliseconds since 1970 UTC
 * @returns a ULID
 * @throws StorageError when the disk refuses, or the file holds something else
 */
export function journalIdentity(folder: string, nowMs: number): string {
  const path = join(folder, IDENTITY_FILE)
  if (readIfThere(path) === null) createFile(path, `${newUlid(nowMs)}\n`, OWNER_ONLY)
  const identity = readIfThere(path)?.toString().trim() ?? ''
  if (/^[0-9A-HJKMNP-TV-Z]{26}$/.test(identity)) return identity
  throw new StorageError(`${path} does not hold the identity of a journal`, {
    hint: 'Restore it from a backup. Or remove it: the next publish makes another, and needs --adopt-destination once.',
  })
}
