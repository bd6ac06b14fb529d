/**
 * Grants permits for one request each to all workers of this process, in the order in which they ask. A permit waits
 * for its slot in the rate, and as long as the service's own counter says that it would refuse the request. All state
 * is in memory, because one process buys at a time; the journal also keeps a pause that the service ordered.
 *
 * A circuit breaker guards the service: `closed` lets requests pass; `paused` lasts until a time that the service named;
 * `open` lasts 30 s after 5 consecutive failures; `half-open` follows both: one request tests whether the service
 * answers again, and the others follow once it does.
 */

import { once } from 'node:events'
import { onAbort } from '../support/abort.ts'
import type { Clock } from '../support/clock.ts'
import { SECOND } from '../support/units.ts'
import { RateLimiter, ServiceQuota, type SentRequest } from './rate-limits.ts'
import type { RateReport } from './retry-after.ts'

/**
 * The outcome of a request. `answered`: the service works (a page, or a 4xx about the question). `failed`: it does not
 * work (a 5xx other than 503; no answer; a 200 that is not a page). `deferred`: it asks us to retry later (503).
 * `throttled`: we sent one request too many (429). `undecided`: unknown, because the request was aborted or never sent.
 */
export type RequestOutcome = 'answered' | 'failed' | 'deferred' | 'throttled' | 'undecided'

/** Consecutive failures, of all workers, that open the circuit (as in graphql-hive and Finagle). */
const FAILURES_TO_OPEN = 5
const TRIAL_EVERY_MS = 30 * SECOND

export interface Permit {
  /** It alone tests whether the service answers again; its failure says nothing about the page it asks for. */
  readonly isHalfOpen: boolean
  /** Takes the answer's headers into account, at once: what follows the answer may wait for the disk. */
  learn(report: RateReport): void
  /** Returns the permit; a second call does nothing. */
  release(outcome: RequestOutcome): void
}

/** The permit would take longer than the longest allowed wait. */
export class WaitTooLongError extends Error {
  override readonly name = 'WaitTooLongError'
  /** Milliseconds until the permit. */
  readonly waitMs: number
  /** Whether it waits for the next trial, because requests failed, and the service ordered no such wait. */
  readonly isForTrial: boolean
  constructor(waitMs: number, isForTrial: boolean) {
    super(`the next request may be sent in ${waitMs} ms`)
    this.waitMs = waitMs
    this.isForTrial = isForTrial
  }
}

interface InFlight extends SentRequest {
  readonly isHalfOpen: boolean
  /** Whether a report of the service's counter includes it. */
  isCounted: boolean
}

export class Pacer {
  readonly #clock: Clock
  readonly #maxWaitMs: number
  readonly #limiter: RateLimiter | null
  readonly #quota = new ServiceQuota()
  readonly #inFlight = new Set<InFlight>()
  #pausedUntil = Number.NEGATIVE_INFINITY
  #openUntil = Number.NEGATIVE_INFINITY
  /** No other request is sent until a trial is answered. */
  #isHalfOpen = false
  #failuresInARow = 0
  /** The permit that was requested last: the next request waits for it first. */
  #last: Promise<unknown> = Promise.resolve()
  #wakeFirst = () => {}

  /** @param requestsPerSecond above 0; null for no limit of our own @param maxWaitMs the longest wait for a permit */
  constructor(clock: Clock, requestsPerSecond: number | null, maxWaitMs: number) {
    this.#clock = clock
    this.#maxWaitMs = maxWaitMs
    this.#limiter = requestsPerSecond === null ? null : new RateLimiter(requestsPerSecond)
  }

  /**
   * Resolves when one request may be sent. Each permit must be returned.
   * @throws the signal's reason when it aborts first
   * @throws WaitTooLongError when the permit would take longer than the longest wait
   */
  permit(signal: AbortSignal): Promise<Permit> {
    const permit = this.#last.then(() => this.#first(signal))
    this.#last = permit.catch(() => undefined)
    return permit
  }

  /** Gives no permit for `ms` milliseconds from now; of several pauses the last to end counts. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms)
    this.#isHalfOpen = true
  }

  async #first(signal: AbortSignal): Promise<Permit> {
    for (;;) {
      signal.throwIfAborted()
      const now = this.#clock.monotonic()
      const at = this.#nextAt(now)
      if (at <= now) return this.#take(now)
      const waitMs = at - now
      if (waitMs > this.#maxWaitMs && waitMs !== Number.POSITIVE_INFINITY)
        throw new WaitTooLongError(waitMs, at === this.#openUntil && at > this.#pausedUntil)
      await this.#nap(waitMs, signal)
    }
  }

  /** When the next request may be sent; infinity if a request in flight must end first. */
  #nextAt(now: number): number {
    const inFlight = this.#inFlight.size
    const uncounted = [...this.#inFlight].filter(({ isCounted }) => !isCounted).length
    const at = Math.max(
      this.#pausedUntil,
      this.#openUntil,
      this.#limiter?.nextSlotAt(this.#inFlight, now) ?? now,
      this.#quota.notBefore(uncounted, this.#limiter, now),
    )
    // A trial is the only request in flight, so its result cannot be confused with that of an older request.
    return at <= now && this.#isHalfOpen && inFlight > 0 ? Number.POSITIVE_INFINITY : at
  }

  #take(now: number): Permit {
    const isHalfOpen = this.#isHalfOpen
    const request: InFlight = { sentAt: now, isHalfOpen, isCounted: false }
    this.#inFlight.add(request)
    this.#limiter?.sent(now)
    return {
      isHalfOpen,
      learn: (report) => {
        request.isCounted = this.#quota.learn(request, report, this.#clock.monotonic())
      },
      release: (outcome) => {
        if (!this.#inFlight.delete(request)) return
        if (!request.isCounted) this.#quota.learnNothing(request, outcome === 'answered')
        this.#ended(request, outcome)
        this.#wakeFirst()
      },
    }
  }

  #ended({ sentAt, isHalfOpen: isTrial }: InFlight, outcome: RequestOutcome): void {
    const now = this.#clock.monotonic()
    this.#limiter?.ended(sentAt, now)
    if (outcome === 'throttled' && this.#limiter !== null) this.#limiter.isTrusted = false
    if (outcome === 'undecided') return
    if (outcome === 'answered') {
      this.#failuresInARow = 0
      this.#openUntil = Number.NEGATIVE_INFINITY
      if (isTrial && this.#pausedUntil <= now) this.#isHalfOpen = false
      return
    }
    // The first order to wait says nothing about the service's health, and neither do those to requests in flight with
    // it. If the service answers each trial with another order to wait, we ask less often than it allows.
    if (outcome !== 'failed' && !isTrial) return
    this.#failuresInARow += 1
    // Requests that were in flight when the circuit opened fail as well. That does not delay the first trial.
    const beyond = this.#failuresInARow - FAILURES_TO_OPEN
    if (beyond < 0 || (beyond > 0 && !isTrial)) return
    this.#openUntil = now + TRIAL_EVERY_MS
    this.#isHalfOpen = true
  }

  /** Waits until a request has ended, at most for `ms` milliseconds. */
  async #nap(ms: number, signal: AbortSignal): Promise<void> {
    const waking = new AbortController()
    this.#wakeFirst = () => waking.abort()
    const stopListening = onAbort(signal, this.#wakeFirst)
    try {
      // Timers count whole milliseconds. A wait that is rounded down would only wake up to sleep again.
      await (ms === Number.POSITIVE_INFINITY
        ? once(waking.signal, 'abort')
        : this.#clock.sleep(Math.max(1, Math.ceil(ms)), waking.signal))
    } catch (error) {
      if (!waking.signal.aborted) throw error
    } finally {
      stopListening()
    }
  }
}
