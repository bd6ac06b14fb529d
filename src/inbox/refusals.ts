/**
 * Deliveries that were not taken: nobody knows whether the service sends one again, so they are counted where a command can read
 * it. The file is written once a second at most, whatever is sent.
 */

import { join } from 'node:path'
import { OWNER_ONLY, readIfThere, writeFileAtomic } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { StorageError } from '../support/errors.ts'
import { jsonOrNull } from '../support/json.ts'
import { SECOND } from '../support/units.ts'

/** What was refused so far. */
export interface Refused {
  readonly deliveries: number
  /** By status: 413 is one that was too long. */
  readonly by_status: Readonly<Record<string, number>>
  /** Why the last one was, and when, milliseconds since 1970 UTC. */
  readonly last: { readonly at: number; readonly status: number; readonly reason: string } | null
}

const NONE: Refused = { deliveries: 0, by_status: {}, last: null }

/** What requests to the path of deliveries are answered with that are not taken; others are no deliveries. */
const COUNTED: ReadonlySet<number> = new Set([400, 401, 413, 503])

const fileIn = (folder: string) => join(folder, 'refused.json')

/** What receivers refused whose inbox is this folder. */
export function readRefused(folder: string): Refused {
  const text = readIfThere(fileIn(folder))?.toString() ?? ''
  // A file that was changed by hand counts as none: status shows the rest all the same.
  return (jsonOrNull(text) as Refused | null) ?? NONE
}

/** Counts refusals into the folder of an inbox. */
export class Refusals {
  readonly #folder: string
  readonly #clock: Clock
  #waiting: { readonly at: number; readonly status: number; readonly reason: string }[] = []
  /** Whether what came within a second after the last writing is written when that is over. */
  #isLater = false
  #writtenAt = Number.NEGATIVE_INFINITY

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  note(status: number, reason: string): void {
    if (!COUNTED.has(status)) return
    this.#waiting.push({ at: this.#clock.now(), status, reason })
    if (this.#clock.monotonic() - this.#writtenAt >= SECOND) this.flush()
    else if (!this.#isLater) {
      this.#isLater = true
      void this.#clock.sleep(SECOND).then(() => this.flush())
    }
  }

  /** Writes what was counted since. What the disk refuses is kept for the next time. */
  flush(): void {
    this.#isLater = false
    const waiting = this.#waiting
    const last = waiting.at(-1)
    if (last === undefined) return
    this.#writtenAt = this.#clock.monotonic()
    try {
      const before = readRefused(this.#folder)
      const byStatus = { ...before.by_status }
      for (const { status } of waiting) byStatus[status] = (byStatus[status] ?? 0) + 1
      const refused = {
        deliveries: before.deliveries + waiting.length,
        by_status: byStatus,
        last,
      } satisfies Refused
      writeFileAtomic(fileIn(this.#folder), `${JSON.stringify(refused)}\n`, OWNER_ONLY)
      this.#waiting = []
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
    }
  }
}
