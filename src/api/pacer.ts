/**
 * When the next request may leave, for all workers together: at most so many a second, none before a time the service
 * named, and none that the service's own counters say it would refuse. After a pause, when everything sent before it
 * has ended, one request goes first, as a probe; the others follow when it was answered. Durations are on the monotonic
 * clock: the wall clock may jump.
 */

import { createBell } from '../support/bell.ts'
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
   * @throws WaitTooLongError when the turn would come later than the pacer may let wait
   */
  turn(signal: AbortSignal): Promise<void>
  /** Ends a turn. `answered`: the service gave a page, so a probe has succeeded. */
  done(answered: boolean): void
  /** Lets nobody through for `ms` milliseconds from now; of several pauses the latest end counts. */
  pause(ms: number): void
  /** Learns from the headers of an answer. */
  learn(report: RateReport): void
}

/** The window in which the service counts requests. */
interface RateWindow {
  readonly limit: number | null
  /** Requests the service will still take. */
  left: number
  /** On the monotonic clock; null for a window that has begun and of which no answer has spoken yet. */
  readonly endsAt: number | null
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
 */
export function createPacer(
  clock: Clock,
  requestsPerSecond: number | null,
  maxWaitMs = Number.POSITIVE_INFINITY,
): Pacer {
  const intervalMs = requestsPerSecond === null ? 0 : SECOND / requestsPerSecond
  let nextTurnAt = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY
  let inFlight = 0
  /** What the service's counters say; null when it never said. */
  let window: RateWindow | null = null
  /** Set by a pause; the next turn is then the probe, and later ones wait for its end. */
  let probe: 'none' | 'wanted' | 'running' = 'none'
  const turnEnded = createBell()

  function blockedFor(): number {
    const now = clock.monotonic()
    if (window !== null && hasEnded(window, now)) window = nextWindow(window)
    const renewedAt = window !== null && window.left <= 0 ? window.endsAt : null
    return Math.max(nextTurnAt, pausedUntil, renewedAt ?? now) - now
  }

  function waitsForOthers(): boolean {
    // A probe is the only request in flight, so its end cannot be confused with that of an older request.
    if (probe === 'running' || (probe === 'wanted' && inFlight > 0)) return true
    return window !== null && window.endsAt === null && window.left <= 0 && inFlight > 0
  }

  return {
    async turn(signal) {
      // No lock is needed: between the checks and the taking of the turn nothing else runs. Of several workers that
      // wake together the first takes it, and the others find that they must wait on.
      for (;;) {
        signal.throwIfAborted()
        const waitMs = blockedFor()
        if (waitMs > maxWaitMs) throw new WaitTooLongError(waitMs)
        if (waitMs > 0) await clock.sleep(waitMs, signal)
        else if (waitsForOthers()) await turnEnded.wait(signal)
        else break
      }
      nextTurnAt = clock.monotonic() + intervalMs
      inFlight += 1
      if (window !== null) window.left -= 1
      if (probe === 'wanted') probe = 'running'
    },
    done(answered) {
      inFlight -= 1
      if (probe === 'running') probe = answered ? 'none' : 'wanted'
      turnEnded.ring()
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
      const endsAt = now + resetMs
      // Answers overtake each other: within one window the lower count and the later end are the newer ones.
      window =
        window !== null && window.endsAt !== null && !hasEnded(window, now)
          ? { limit, left: Math.min(window.left, left), endsAt: Math.max(window.endsAt, endsAt) }
          : { limit, left, endsAt }
    },
  }
}

function hasEnded({ endsAt }: RateWindow, now: number): boolean {
  return endsAt !== null && now >= endsAt
}

// Until an answer tells of the new window, no more leave at a time than it will take.
function nextWindow({ limit }: RateWindow): RateWindow | null {
  return limit === null ? null : { limit, left: limit, endsAt: null }
}
