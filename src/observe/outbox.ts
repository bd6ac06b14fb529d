/**
 * Messages on their way to a destination, a file each beside the journal: written and fsynced before they are sent, and kept
 * as sent for 60 days, so that each is told once and none is lost by a kill. One that cannot be delivered for 7 days is given
 * up.
 */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, readIfThere, removeFile, writeFileAtomic } from '../support/atomic-file.ts'
import { systemCode } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { jsonOrNull } from '../support/json.ts'
import { DAY } from '../support/units.ts'
import type { Message } from './messages.ts'

interface Entry {
  readonly message: Message
  readonly sentAt: number | null
}

const PENDING_MS = 7 * DAY
const SENT_MS = 60 * DAY

export interface Outbox {
  /** Adds a message, unless one of its key is there. @throws StorageError when the disk refuses */
  offer(message: Message): void
  /** What was not sent yet, oldest first. */
  pending(): Message[]
  /** Whether the last thing that was told of a pipeline up to then, or is to be told, was trouble. */
  wasTroubled(pipeline: string, at: number): boolean
  /** Notes that it was sent. @throws StorageError when the disk refuses: it may be sent again, under the same key */
  sent(message: Message, nowMs: number): void
  /** Removes what is over. */
  tidy(nowMs: number): void
}

/** The outbox in `folder`, which is made where a message is offered. */
export function openOutbox(folder: string): Outbox {
  const pathOf = ({ key }: Message) => join(folder, `${sha256Hex(key).slice(0, 32)}.json`)
  const write = (entry: Entry) => {
    makeFolder(folder)
    writeFileAtomic(pathOf(entry.message), Buffer.from(`${JSON.stringify(entry)}\n`))
  }
  const read = (path: string) => jsonOrNull(readIfThere(path)?.toString() ?? '') as Entry | null
  const entries = () =>
    filesIn(folder)
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => read(join(folder, name)) ?? [])
      .toSorted((a, b) => a.message.at - b.message.at)
  return {
    offer(message) {
      if (readIfThere(pathOf(message)) === null) write({ message, sentAt: null })
    },
    pending: () => entries().flatMap(({ message, sentAt }) => (sentAt === null ? message : [])),
    wasTroubled(pipeline, at) {
      const about = entries().filter(
        ({ message }) => message.pipeline === pipeline && message.at <= at,
      )
      const last = about.findLast(({ message }) => message.kind !== 'success')
      return last !== undefined && last.message.kind !== 'recovered'
    },
    sent: (message, nowMs) => write({ message, sentAt: nowMs }),
    tidy(nowMs) {
      for (const { message, sentAt } of entries()) {
        const isOver = sentAt === null ? nowMs - message.at > PENDING_MS : nowMs - sentAt > SENT_MS
        if (isOver) removeFile(pathOf(message))
      }
    },
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}
