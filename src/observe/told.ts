/**
 * Which job changes a destination was told: one file beside its outbox, replaced as a whole, so that each step is done or not.
 * It holds names of changes (readUntold), and nothing that a person could be told by.
 *
 *   begin ──written──▶ pending ──sent──▶ told        killed anywhere: what is pending is sent again, under the same key
 */

import { join } from 'node:path'
import { OWNER_ONLY, makeFolder, readIfThere, writeFileAtomic } from '../support/atomic-file.ts'
import { StorageError } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'

/** A digest on its way. */
export interface PendingDigest {
  readonly key: string
  readonly pipeline: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  /** Names of changes, separated by blanks. */
  readonly names: string
}

export interface ToldChanges {
  /** Names of the changes that were told, separated by blanks. */
  told(): string
  pending(): PendingDigest | null
  /** Notes what is told next. @throws StorageError when the disk refuses: it must not be sent then */
  begin(digest: PendingDigest): void
  /** Notes that it was sent. @throws StorageError when the disk refuses: it is sent again, under the same key */
  sent(): void
}

interface State {
  readonly told: string
  readonly pending: PendingDigest | null
}

/** What a destination was told, in the folder of its outbox. @throws StorageError when the file is none of ours, or unreadable */
export function openTold(folder: string): ToldChanges {
  const path = join(folder, 'told')
  const bytes = readIfThere(path)
  const read = bytes === null ? NOTHING : (jsonOrNull(bytes.toString()) as State | null)
  if (read === null) {
    throw new StorageError(`${path} is damaged`, {
      hint: 'Restore it from a backup, or remove it: then all changes are told once more.',
    })
  }
  let state = read
  const write = (next: State) => {
    makeFolder(folder)
    writeFileAtomic(path, `${JSON.stringify(next)}\n`, OWNER_ONLY)
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

const NOTHING: State = { told: '', pending: null }
