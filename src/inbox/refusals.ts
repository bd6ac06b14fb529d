/**
 * Counts rejected deliveries in a file that a command can read, because the service may not send them again. The file is
 * written at most once a second.
 */

import { join } from 'node:path'
import { readJson, writeJson } from '../support/atomic-file.ts'
import type { Clock } from '../support/clock.ts'
import { StorageError } from '../support/errors.ts'
import { SECOND } from '../support/units.ts'

/** The rejections so far. */
export interface Refused {
  readonly deliveries: number
  /** By status: 413 is one that was too long. */
  readonly by_status: Readonly<Record<string, number>>
  /** Reason and time of the last one, milliseconds since 1970 UTC. */
  readonly last: { readonly at: number; readonly status: number; readonly reason: string } | null
}

const NONE: Refused = { deliveries: 0, by_status: {}, last: null }

/** Statuses of rejected requests to the delivery path; other requests are not deliveries. */
const COUNTED: ReadonlySet<number> = new Set([400, 401, 413, 503])

const fileIn = (folder: string) => join(folder, 'refused.json')

/** The rejections of receivers with this inbox folder. */
export function readRefused(folder: string): Refused {
  // A file that was edited by hand counts as empty, so that status can show the rest.
  return (readJson(fileIn(folder)) as Refused | null) ?? NONE
}

/** Counts rejections in the folder of an inbox. */
export class Refusals {
  readonly #folder: string
  readonly #clock: Clock
  #waiting: { readonly at: number; readonly status: number; readonly reason: string }[] = []
  /** Whether a write is scheduled for the end of the current second. */
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

  /** Writes the new counts. After a write error they are kept for the next time. */
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
      writeJson(fileIn(this.#folder), refused)
      this.#waiting = []
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
    }
  }
}
