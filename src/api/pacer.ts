/**
 * Gives out the right to send one request, to all workers of this process and in step with all other processes that use
 * the same store. This file waits and wakes; whose turn it is and when is decided in pace-rules.ts. Within a process
 * turns are given in the order in which they were asked for, and only the first in line asks the store.
 */

import { randomUUID } from 'node:crypto'
import { onAbort } from '../support/abort.ts'
import { createBell } from '../support/bell.ts'
import type { Clock } from '../support/clock.ts'
import { isSurelyGone } from '../support/lock-file.ts'
import type { RequestOutcome } from './circuit-breaker.ts'
import {
  askForTurn,
  endTurn,
  pausePace,
  stopWaiting,
  type Asker,
  type Priority,
  type TurnAnswer,
} from './pace-rules.ts'
import type { OpenTurn, PaceState } from './pace-state.ts'
import { createMemoryPaceStore, type PaceStore } from './pace-store.ts'
import { rateLimitOf } from './rate-limit.ts'
import type { RateReport } from './retry-after.ts'
import type { HeardReport } from './service-count.ts'

/** The right to send one request. */
export interface Permit {
  /**
   * True when this request alone finds out whether the service answers again: after a pause, or while the circuit
   * breaker is open. Its failure says nothing of the page that it asks for.
   */
  readonly isHalfOpen: boolean
  /** Takes note of the headers of the answer; they count when the permit is given back. */
  learn(report: RateReport): void
  /**
   * Gives the permit back; a second call does nothing.
   * @throws StorageError when the store refuses
   */
  release(outcome: RequestOutcome): void
}

/** Gives out permits. */
export interface Pacer {
  /**
   * Resolves when one request may leave. Each permit must be given back.
   * @throws the signal's reason when it aborts first
   * @throws WaitTooLongError when the turn would come later than the pacer may let wait
   * @throws StorageError when the store refuses
   */
  permit(signal: AbortSignal): Promise<Permit>
  /**
   * Lets nobody through for `ms` milliseconds from now; of several pauses the latest end counts.
   * @throws StorageError when the store refuses
   */
  pause(ms: number): void
}

/** With whom a pacer shares its pace, and who goes first. */
export interface PaceSharing {
  readonly store: PaceStore
  readonly priority: Priority
}

/** A turn would come later than anybody may wait. */
export class WaitTooLongError extends Error {
  override readonly name = 'WaitTooLongError'
  /** Milliseconds until the turn. */
  readonly waitMs: number
  constructor(waitMs: number) {
    super(`the next request may leave in ${waitMs} ms`)
    this.waitMs = waitMs
  }
}

/**
 * A pacer.
 * @param requestsPerSecond above 0; null for as fast as the service allows
 * @param maxWaitMs the longest that a turn may let wait
 * @param sharing by default nobody else shares the pace
 */
export function createPacer(
  clock: Clock,
  requestsPerSecond: number | null,
  maxWaitMs = Number.POSITIVE_INFINITY,
  sharing: PaceSharing = { store: createMemoryPaceStore(), priority: 'nightly' },
): Pacer {
  const { store, priority } = sharing
  const limit = requestsPerSecond === null ? null : rateLimitOf(requestsPerSecond)
  const pacer = randomUUID()
  const asker: Asker = { pacer, owner: store.owner, priority, limit, isGone: isSurelyGone }
  const line: symbol[] = []
  const lineMoved = createBell()
  let turnsTaken = 0
  let wakeFirst = () => {}

  async function permit(signal: AbortSignal): Promise<Permit> {
    const place = Symbol('a place in the line')
    line.push(place)
    try {
      while (line[0] !== place) await lineMoved.wait(signal)
      return await firstTurn(signal)
    } finally {
      line.splice(line.indexOf(place), 1)
      lineMoved.ring()
    }
  }

  async function firstTurn(signal: AbortSignal): Promise<Permit> {
    try {
      for (;;) {
        signal.throwIfAborted()
        const answer = store.update(ask)
        if (answer.kind === 'turn') {
          turnsTaken += 1
          return turnOf(answer.turn)
        }
        const now = clock.monotonic()
        const waitMs = (answer.until ?? now) - now
        if (waitMs > maxWaitMs) throw new WaitTooLongError(waitMs)
        // Timers count whole milliseconds; one that is rounded down only wakes to sleep again.
        await nap(Math.max(1, Math.ceil(answer.askAgainAt - now)), signal)
      }
    } catch (error) {
      store.update((pace) => ({ pace: stopWaiting(pace, pacer) }))
      throw error
    }
  }

  function turnOf(open: OpenTurn): Permit {
    let report: HeardReport | null = null
    return {
      isHalfOpen: open.isHalfOpen,
      learn(heard) {
        report = { ...heard, receivedAt: clock.monotonic() }
      },
      release(outcome) {
        const end = { outcome, report, limit }
        store.update((pace) => ({ pace: endTurn(pace, open, end, clock.monotonic()) }))
        wakeFirst()
      },
    }
  }

  // The time is read here, when nobody else can change the pace any more: waiting for that may take a while.
  function ask(pace: PaceState): TurnAnswer {
    return askForTurn(pace, asker, `${pacer}-${turnsTaken}`, clock.monotonic())
  }

  /** Sleeps until something has changed in this process, at most for `ms` milliseconds. */
  async function nap(ms: number, signal: AbortSignal): Promise<void> {
    const waking = new AbortController()
    wakeFirst = () => waking.abort()
    const stopListening = onAbort(signal, wakeFirst)
    try {
      await clock.sleep(ms, waking.signal)
    } catch (error) {
      if (!waking.signal.aborted) throw error
    } finally {
      stopListening()
    }
  }

  return {
    permit,
    pause(ms) {
      store.update((pace) => ({ pace: pausePace(pace, ms, clock.monotonic(), clock.now()) }))
    },
  }
}
