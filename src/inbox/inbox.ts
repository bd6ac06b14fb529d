/**
 * The inbox: a folder of received deliveries that are not yet in the journal. A file holds the deliveries that arrived
 * while the previous file was written. It is on the disk before any of them is acknowledged, and never changes. So a
 * receiver needs no lock and continues during a run, which reads complete files and removes them.
 */

import { readFileSync, rmSync, statSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  OWNER_ONLY,
  fsyncDirectory,
  makeFolder,
  namesIn,
  readJson,
  writeJson,
} from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { StorageError, asStorageError, onDisk } from '../support/errors.ts'
import { newUlid } from '../support/ulid.ts'
import { MIB, MINUTE, SECOND } from '../support/units.ts'

export interface Delivery {
  /** A ULID. */
  readonly id: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly body: string
}

// Each file is read into memory, so several long deliveries at once become several files.
const FILE_LENGTH = 16 * MIB

export type Inbox = ReturnType<typeof openInbox>

export function openInbox(folder: string, clock: Clock) {
  let waiting: Delivery[] = []
  /** Resolves when the current file is written; never rejects. */
  let writing: Promise<unknown> = Promise.resolve()
  /** Resolves when all waiting deliveries are on the disk; null if none waits. */
  let next: Promise<void> | null = null

  const writeFiles = async (deliveries: readonly Delivery[]) => {
    let text = ''
    const write = async () => {
      await writeDurably(join(folder, `${newUlid(clock.now())}.ndjson`), text)
      text = ''
    }
    for (const delivery of deliveries) {
      const line = `${JSON.stringify(delivery)}\n`
      if (text !== '' && text.length + line.length > FILE_LENGTH) await write()
      text += line
    }
    await write()
  }
  const writeWaiting = () => {
    const written = writeFiles(waiting)
    waiting = []
    next = null
    writing = written.catch(() => undefined)
    return written
  }
  return {
    /**
     * Resolves when the delivery is on the disk. Deliveries that arrive while a file is written share the next one.
     * @throws StorageError when the disk refuses
     */
    async keep(body: string): Promise<void> {
      const at = clock.now()
      waiting.push({ id: newUlid(at), at, body })
      next ??= writing.then(writeWaiting)
      await next
    },
  }
}

// The next deliveries are received while it is written.
async function writeDurably(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    makeFolder(dirname(path))
    const file = await open(temporary, 'wx', OWNER_ONLY)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    fsyncDirectory(dirname(path))
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Oldest first. */
export function filesOfInbox(folder: string): string[] {
  return filesIn(folder, /\.ndjson$/)
}

/** Partial files of killed receivers, never acknowledged. */
export function leftInInbox(folder: string, nowMs: number): string[] {
  return filesIn(folder, /\.tmp$/).filter(
    (path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) < nowMs - MINUTE,
  )
}

function filesIn(folder: string, pattern: RegExp): string[] {
  return namesIn(folder, pattern).map((name) => join(folder, name))
}

/** The deliveries in a file. @throws SyntaxError when another program has changed it */
export function deliveriesIn(file: string): Delivery[] {
  const text = onDisk(file, () => readFileSync(file, 'utf8'))
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Delivery)
}

export interface Refused {
  readonly deliveries: number
  /** Time (milliseconds since 1970 UTC), status and reason of the last one; 413 is one that was too long. */
  readonly last: { readonly at: number; readonly status: number; readonly reason: string } | null
}

const NONE: Refused = { deliveries: 0, last: null }

/** Statuses of rejected requests to the delivery path; other requests are not deliveries. */
const COUNTED: ReadonlySet<number> = new Set([400, 401, 413, 503])

const fileIn = (folder: string) => join(folder, 'refused.json')

/** The rejections of receivers with this inbox folder. */
export function readRefused(folder: string): Refused {
  // A damaged file counts as empty, so that status can show the rest.
  return (readJson(fileIn(folder)) as Refused | null) ?? NONE
}

/**
 * Counts rejections in a file in the folder of an inbox, because the service may not send them again. It is written a second
 * after the first of them.
 */
export function openRefusals(folder: string, clock: Clock) {
  let waiting: NonNullable<Refused['last']>[] = []
  let isScheduled = false
  /** Writes the new counts. After a write error they are kept for the next time. */
  const flush = () => {
    isScheduled = false
    const last = waiting.at(-1)
    if (last === undefined) return
    try {
      const deliveries = readRefused(folder).deliveries + waiting.length
      writeJson(fileIn(folder), { deliveries, last } satisfies Refused)
      waiting = []
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
    }
  }
  return {
    flush,
    note(status: number, reason: string): void {
      if (!COUNTED.has(status)) return
      waiting.push({ at: clock.now(), status, reason })
      if (isScheduled) return
      isScheduled = true
      void clock.sleep(SECOND).then(flush)
    },
  }
}
