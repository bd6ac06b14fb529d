/**
 * The inbox: a folder of received deliveries that are not yet in the journal. A file holds the deliveries that arrived while
 * the previous file was written. It is on the disk before any of them is acknowledged, and never changes. So a receiver needs
 * no lock and continues during a run, which reads whole files and removes them.
 */

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OWNER_ONLY, makeFolder, placeWhole } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { asStorageError, onDisk } from '../support/errors.ts'
import { newUlid } from '../support/ulid.ts'
import { MIB, MINUTE } from '../support/units.ts'

/** One delivery, as it came. */
export interface Delivery {
  /** A ULID. */
  readonly id: string
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  readonly body: string
}

const SUFFIX = '.ndjson'
// Files are read whole, so several long deliveries at once become several files.
const FILE_LENGTH = 16 * MIB
const UNFINISHED = '.tmp'

/** Receives deliveries into a folder. */
export class Inbox {
  readonly #folder: string
  readonly #clock: Clock
  #waiting: Delivery[] = []
  /** Settles when the current file is written; never rejects. */
  #writing: Promise<unknown> = Promise.resolve()
  /** Settles when all waiting deliveries are on the disk; null if none waits. */
  #next: Promise<void> | null = null

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  /**
   * Resolves when the delivery is on the disk. Deliveries that arrive while a file is written share the next one.
   * @throws StorageError when the disk refuses
   */
  async keep(body: string): Promise<void> {
    const at = this.#clock.now()
    this.#waiting.push({ id: newUlid(at), at, body })
    this.#next ??= this.#writing.then(() => this.#write())
    await this.#next
  }

  #write(): Promise<void> {
    const taken = this.#waiting
    this.#waiting = []
    this.#next = null
    const written = this.#writeFiles(taken)
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #writeFiles(taken: readonly Delivery[]): Promise<void> {
    let lines: string[] = []
    let length = 0
    const write = async () => {
      const name = `${newUlid(this.#clock.now())}${SUFFIX}`
      await writeDurably(join(this.#folder, name), lines.join(''))
      lines = []
      length = 0
    }
    for (const delivery of taken) {
      const line = `${JSON.stringify(delivery)}\n`
      if (length > 0 && length + line.length > FILE_LENGTH) await write()
      lines.push(line)
      length += line.length
    }
    await write()
  }
}

// The next deliveries are received while it is written.
async function writeDurably(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}${UNFINISHED}`
  try {
    makeFolder(dirname(path))
    await placeWhole(path, temporary, (file) => file.writeFile(text), OWNER_ONLY)
  } catch (error) {
    throw asStorageError(error, path)
  }
}

/** The files of an inbox, in the order in which they came. */
export function filesOfInbox(folder: string): string[] {
  return filesIn(folder, SUFFIX)
}

/** Partial files of killed receivers, never acknowledged. */
export function leftInInbox(folder: string, nowMs: number): string[] {
  return filesIn(folder, UNFINISHED).filter(
    (path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) < nowMs - MINUTE,
  )
}

function filesIn(folder: string, suffix: string): string[] {
  if (!existsSync(folder)) return []
  const names = onDisk(folder, () => readdirSync(folder))
  return names
    .filter((name) => name.endsWith(suffix))
    .map((name) => join(folder, name))
    .toSorted()
}

/** The deliveries in a file. @throws SyntaxError when another program has changed it */
export function deliveriesIn(file: string): Delivery[] {
  const text = onDisk(file, () => readFileSync(file, 'utf8'))
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Delivery)
}
