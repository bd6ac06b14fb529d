/**
 * Limits how many requests may be sent while a service fails. It only slows down, and never ends a run: the more of the
 * last requests failed, the fewer are in flight at a time, and after 5 consecutive failures the circuit opens. Then, as
 * after a pause, one request alone tests whether the service answers again (the circuit is half-open), and the others
 * follow when it was answered.
 */

import { SECOND } from '../support/units.ts'

/**
 * The outcome of a request. `answered`: the service works (a page, or a 4xx about the question). `failed`: it does not
 * work (a 5xx other than 503; no answer; a 200 that is not a page). `deferred`: it asks us to retry later (503).
 * `throttled`: we sent one request too many (429). `undecided`: unknown, because we aborted the request or never sent
 * it.
 */
export type RequestOutcome = 'answered' | 'failed' | 'deferred' | 'throttled' | 'undecided'

/** Failures in a row, of all workers, that open the circuit (reliability practice: graphql-hive, Finagle). */
const FAILURES_TO_OPEN = 5
/** How long an open circuit lets nothing through before the next trial. */
const TRIAL_EVERY_MS = 30 * SECOND
/** The weight of one request in the share of failures: about the last 20 decide. */
const FAILURE_WEIGHT = 0.05

/** The health of a service, as its answers show it. Times are milliseconds on the monotonic clock. */
export class CircuitBreaker {
  #failuresInARow = 0
  /** The share of requests that failed lately, 0 to 1; the newest count most. */
  #failureShare = 0
  #openUntil = Number.NEGATIVE_INFINITY
  #isHalfOpen = false

  /** While the circuit is open: when the next trial may be sent; minus infinity when it is closed. */
  get openUntil(): number {
    return this.#openUntil
  }

  /** The next request is a trial; until it ends, no other request is sent. */
  get isHalfOpen(): boolean {
    return this.#isHalfOpen
  }

  /** So many requests at a time that on average no more than one of them fails; at least 1. */
  get mostInFlight(): number {
    return this.#isHalfOpen ? 1 : Math.max(1, Math.floor(1 / this.#failureShare))
  }

  /** The next request is a trial: the service has ordered a pause. */
  expectTrial(): void {
    this.#isHalfOpen = true
  }

  /**
   * Learns how a request ended.
   * @param isTrial whether it was sent while the circuit was half-open
   * @param isPaused whether the service has ordered a pause that is not over
   */
  ended(outcome: RequestOutcome, isTrial: boolean, isPaused: boolean, now: number): void {
    if (outcome === 'undecided') return
    if (outcome === 'answered') {
      this.#weigh(0)
      this.#failuresInARow = 0
      this.#openUntil = Number.NEGATIVE_INFINITY
      if (isTrial && !isPaused) this.#isHalfOpen = false
      return
    }
    if (outcome === 'failed') this.#weigh(1)
    // The first order to wait says nothing about the service's health, nor do those to requests that were in flight
    // with it. When the service orders each trial to wait again, we ask it less often than it allows.
    else if (!isTrial) return
    this.#failuresInARow += 1
    // Requests in flight when the circuit opened also fail; that does not delay the first trial.
    const opens = isTrial
      ? this.#failuresInARow >= FAILURES_TO_OPEN
      : this.#failuresInARow === FAILURES_TO_OPEN
    if (!opens) return
    this.#openUntil = now + TRIAL_EVERY_MS
    this.#isHalfOpen = true
  }

  #weigh(failed: 0 | 1): void {
    this.#failureShare += (failed - this.#failureShare) * FAILURE_WEIGHT
  }
}
