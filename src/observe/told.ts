/**
 * Records which job changes were sent to a destination, in one file next to its outbox, replaced atomically. It holds names
 * of changes (readUntold) and no personal data.
 *
 *   begin ──written──▶ pending ──sent──▶ reported    killed anywhere: the pending digest is sent again under the same key
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, writeJson } from '../support/atomic-file.ts'
import { StorageError } from '../support/errors.ts'

/** A pending digest. */
export interface PendingDigest {
  readonly key: string
  readonly pipeline: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  /** Names of changes, separated by blanks. */
  readonly names: string
}

export interface ToldChanges {
  /** Names of the changes that were sent, separated by blanks. */
  told(): string
  pending(): PendingDigest | null
  /** Records the next digest. @throws StorageError when the disk refuses: the digest must not be sent then */
  begin(digest: PendingDigest): void
  /** Records that it was sent. @throws StorageError when the disk refuses: it is sent again under the same key */
  sent(): void
}

interface State {
  readonly told: string
  readonly pending: PendingDigest | null
}

/** Opens the record in the folder of a destination's outbox. @throws StorageError when the file is not ours, or unreadable */
export function openTold(folder: string): ToldChanges {
  const path = join(folder, 'told')
  let state = (existsSync(path) ? readJson(path) : { told: '', pending: null }) as State
  if (state === null) {
    throw new StorageError(`${path} is damaged`, {
      hint: 'Restore it from a backup, or remove it: then all changes are sent once more.',
    })
  }
  const write = (next: State) => {
    writeJson(path, next)
    state = next
  }
  return {
    told: () => state.told,
    pending: () => state.pending,
    begin: (pending) => write({ ...state, pending }),
    sent: () =>
      write({ told: [state.told, state.pending?.names].filter(Boolean).join(' '), pending: null }),
  }
}
