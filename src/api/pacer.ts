/**
 * When the next request may leave, for all workers together: at most so many a second, none before a time the service
 * named, and none that the service's own counters say it would refuse. After a pause one request goes first, as a
 * probe; the others follow when it was answered. Durations are on the monotonic clock: the wall clock may jump.
 */

import type { Clock } from '../support/clock.ts'
import { SECOND } from '../support/units.ts'

/** What the service says about the plan's limit (`X-RateLimit-*`). */
export interface RateReport {
  /** Requests per window, when it said so. */
  readonly limit: number | null
  /** Requests left in this window, when it said so. */
  readonly remaining: number | null
  /** Milliseconds until the window begins anew, when it said so. */
  readonly resetMs: number | null
}

/** Gives out the right to send one request. */
export interface Pacer {
  /**
   * Resolves when one request may leave. Each turn must be ended with `done`.
   * @throws the signal's reason when it aborts first
   */
  turn(signal: AbortSignal): Promise<void>
  /** Ends a turn. `answered`: the service gave a page, so a probe has succeeded. */
  done(answered: boolean): void
  /** Lets nobody through for `ms` milliseconds from now; of several pauses the latest end counts. */
  pause(ms: number): void
  /** Learns from the headers of an answer. */
  learn(report: RateReport): void
}

/** A pacer. @param requestsPerSecond above 0; null for as fast as the service allows */
export function createPacer(clock: Clock, requestsPerSecond: number | null): Pacer {
  const intervalMs = requestsPerSecond === null ? 0 : SECOND / requestsPerSecond
  let nextTurnAt = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY
  let inFlight = 0
  /** Requests the service will still take before `windowEndsAt`; null when it never said. */
  let allowance: number | null = null
  let windowEndsAt = Number.NEGATIVE_INFINITY
  let windowLimit: number | null = null
  /** Set by a pause; the next turn is then the probe, and later ones wait for its end. */
  let probe: 'none' | 'wanted' | 'running' = 'none'
  let wakeWaiting: (() => void)[] = []
  // Workers queue here, so that turns are given one at a time and each measures from the one before it.
  let queue: Promise<void> = Promise.resolve()

  function blockedFor(): number {
    const now = clock.monotonic()
    if (allowance !== null && now >= windowEndsAt) allowance = windowLimit
    const window = allowance !== null && allowance <= 0 ? windowEndsAt : now
    return Math.max(nextTurnAt, pausedUntil, window) - now
  }

  async function waitForTurn(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      if (probe === 'running') {
        await untilWoken(signal)
        continue
      }
      const waitMs = blockedFor()
      if (waitMs <= 0) break
      await clock.sleep(waitMs, signal)
    }
    nextTurnAt = clock.monotonic() + intervalMs
    inFlight += 1
    if (allowance !== null) allowance -= 1
    if (probe === 'wanted') probe = 'running'
  }

  function untilWoken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      wakeWaiting.push(resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  return {
    turn(signal) {
      const mine = queue.then(() => waitForTurn(signal))
      queue = mine.catch(() => undefined)
      return mine
    },
    done(answered) {
      inFlight -= 1
      if (answered) probe = 'none'
      else if (probe === 'running') probe = 'wanted'
      const woken = wakeWaiting
      wakeWaiting = []
      for (const wake of woken) wake()
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms)
      if (probe === 'none') probe = 'wanted'
    },
    learn({ limit, remaining, resetMs }) {
      if (remaining === null || resetMs === null) return
      const now = clock.monotonic()
      // Requests in flight may not be in the service's count yet; assume that none is.
      const left = remaining - Math.max(0, inFlight - 1)
      const sameWindow = allowance !== null && now < windowEndsAt
      allowance = sameWindow ? Math.min(allowance ?? left, left) : left
      windowEndsAt = sameWindow ? Math.max(windowEndsAt, now + resetMs) : now + resetMs
      windowLimit = limit
    },
  }
}
