/**
 * Stores pending messages of a destination, one file each, next to the journal. `src/cli/notify.ts` sends them, under
 * a lock, and tries again after a failure. A message is fsynced before it is sent and kept as sent for 60 days, so
 * that it is sent once and survives a kill. Undeliverable messages are dropped after 7 days.
 * `told` names the job changes that were sent, without personal data.
 */

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { namesIn, readIfThere, readJson, removeFile, writeJson } from '../support/atomic-file.ts'
import { StorageError } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { DAY } from '../support/units.ts'
import type { Message } from './messages.ts'

interface Entry {
  readonly message: Message
  readonly sentAt: number | null
}

const PENDING_MS = 7 * DAY
const SENT_MS = 60 * DAY

// By path, what a full disk refused: this process sends it once, and tries to write it each time it opens the outbox. Another
// process may send it again under the same key.
const unwritten = new Map<string, Entry>()

/**
 * The outbox in `folder`, which the first message creates.
 * @param onRefused called when the disk refuses an entry, which then stays in memory
 */
export function openOutbox(folder: string, onRefused: (error: unknown) => void) {
  const pathOf = ({ key }: Message) => join(folder, `${sha256Hex(key).slice(0, 32)}.json`)
  const write = (entry: Entry) => {
    const path = pathOf(entry.message)
    try {
      writeJson(path, entry)
      unwritten.delete(path)
    } catch (error) {
      unwritten.set(path, entry)
      onRefused(error)
    }
  }
  const refused = () => [...unwritten].filter(([path]) => dirname(path) === folder)
  for (const [path, entry] of refused()) {
    // Another process may have written it meanwhile, and sent it.
    if (entry.sentAt === null && existsSync(path)) unwritten.delete(path)
    else write(entry)
  }
  const entryAt = (path: string) => {
    const inMemory = unwritten.get(path)
    if (inMemory !== undefined && inMemory.sentAt !== null) return inMemory
    return (readJson(path) as Entry | null) ?? inMemory ?? []
  }
  const entries = () => {
    const written = namesIn(folder, /\.json$/).map((name) => join(folder, name))
    const paths = new Set([...written, ...refused().map(([path]) => path)])
    return [...paths].flatMap(entryAt).toSorted((a, b) => a.message.at - b.message.at)
  }
  return {
    /** Adds a message, unless its key is present. */
    offer(message: Message): void {
      const path = pathOf(message)
      if (!unwritten.has(path) && !existsSync(path)) write({ message, sentAt: null })
    },
    /** The messages not yet sent, oldest first. */
    pending: () => entries().flatMap(({ message, sentAt }) => (sentAt === null ? message : [])),
    /** Whether the last message about a pipeline until then, sent or pending, reported trouble. */
    wasTroubled(pipeline: string, at: number): boolean {
      const about = entries().filter(
        ({ message }) => message.pipeline === pipeline && message.at <= at,
      )
      const last = about.findLast(({ message }) => message.kind !== 'success')
      return last !== undefined && last.message.kind !== 'recovered'
    },
    /** Records that it was sent. If that fails, it may be sent again under the same key. */
    sent: (message: Message, nowMs: number) => write({ message, sentAt: nowMs }),
    tidy(nowMs: number): void {
      for (const { message, sentAt } of entries()) {
        const isOver = sentAt === null ? nowMs - message.at > PENDING_MS : nowMs - sentAt > SENT_MS
        if (!isOver) continue
        unwritten.delete(pathOf(message))
        removeFile(pathOf(message))
      }
    },
  }
}

/**
 * A digest of job changes, recorded before it is sent:
 *
 *   begin ──written──▶ pending ──sent──▶ reported    killed anywhere: the pending digest is sent again under the same key
 */
export interface PendingDigest {
  readonly key: string
  readonly pipeline: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  /** Names of changes, separated by blanks. */
  readonly names: string
}

interface State {
  /** Names of the changes that were sent, separated by blanks. */
  readonly told: string
  readonly pending: PendingDigest | null
}

/**
 * Opens the record in the folder of a destination's outbox. @throws StorageError if the file is not ours, or unreadable
 */
export function openTold(folder: string) {
  const path = join(folder, 'told')
  let state = (readIfThere(path) === null ? { told: '', pending: null } : readJson(path)) as State
  if (state === null) {
    throw new StorageError(`${path} is damaged`, {
      hint: 'Restore it from a backup. Or remove it: then all changes are sent again.',
    })
  }
  const write = (next: State) => {
    writeJson(path, next)
    state = next
  }
  return {
    told: () => state.told,
    pending: () => state.pending,
    /** Records the next digest. @throws StorageError when the disk refuses: the digest must not be sent then */
    begin: (pending: PendingDigest) => write({ ...state, pending }),
    /** Records that it was sent. @throws StorageError when the disk refuses: it is sent again under the same key */
    sent: () =>
      write({ told: [state.told, state.pending?.names].filter(Boolean).join(' '), pending: null }),
  }
}

export type ToldChanges = ReturnType<typeof openTold>
