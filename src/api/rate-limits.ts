/**
 * Two limits on the pace of requests: our own, and the service's counter. All times are milliseconds on the monotonic
 * clock.
 *
 * Ours is strict: at most this many requests in any window, as the service counts them, and evenly spaced. The service
 * counts a request on arrival: after it was sent, and at the latest when it was answered. So a request occupies the
 * window longer than the window itself, by as much as its round trip exceeded the shortest known one.
 *
 * Of the service's count (`X-RateLimit-Remaining` and `-Reset`) only the last report is trusted: how many more requests
 * are accepted until when. This works for fixed and for sliding windows. At the reset one request goes first and reads
 * the new counter. Requests in flight may not be counted yet, so all of them are subtracted. Answers overtake each
 * other: a report is outdated only if it arrived before the request of a later report was sent; of the others the
 * lowest counts. If our own limit is as strict as the service's, it alone decides, until a request is refused
 * nevertheless.
 */

import { SECOND } from '../support/units.ts'
import type { RateReport } from './retry-after.ts'

/** A request in flight, by when it was sent on the monotonic clock. */
export interface SentRequest {
  readonly sentAt: number
}

// The shortest known round trip is still a little longer than the shortest possible one.
const SURE_SHARE = 0.01
// One late answer, from a slow server, must not occupy the window forever.
const LONGEST_HOLD_MS = SECOND
// How late a request may be sent without delaying the next one, because timers fire some milliseconds late.
const CATCH_UP_MS = 50
// Until this many round trips are known, even the shortest may include opening its connection, and be too long.
const ROUND_TRIPS_TO_TRUST = 20

/** Keeps our limit: at most `requests` in any window of `windowMs`. */
export class RateLimiter {
  /** A whole number from 1. */
  readonly requests: number
  readonly windowMs: number
  /** For each ended request that may still be in a window: the latest time at which it can have arrived. */
  #arrived: number[] = []
  /** When the last request was due in a row of evenly spaced ones. */
  #dueAt = Number.NEGATIVE_INFINITY
  #roundTrips = 0
  #fastestMs = Number.POSITIVE_INFINITY
  /** False once the service refused a request that was within the limit. */
  isTrusted = true

  /**
   * Whole requests in the shortest window of a second or more: 2.5 a second is 3 in 1.2 s, 0.5 is 1 in 2 s.
   * @param requestsPerSecond above 0
   */
  constructor(requestsPerSecond: number) {
    this.requests = Math.ceil(requestsPerSecond)
    this.windowMs = (this.requests / requestsPerSecond) * SECOND
  }

  /** When the next request may be sent; minus infinity for immediately. */
  nextSlotAt(inFlight: Iterable<SentRequest>, now: number): number {
    const arriving = Array.from(inFlight, ({ sentAt }) => this.#arrivalOf(sentAt, now))
    const newestFirst = [...this.#arrived, ...arriving].toSorted((a, b) => b - a)
    const nthNewest = newestFirst[this.requests - 1] ?? Number.NEGATIVE_INFINITY
    return Math.max(nthNewest + this.#sureMs, this.#dueAt + this.#spacingMs)
  }

  /** Records that a request is sent now. The requests after it make up for a little lateness. */
  sent(now: number): void {
    this.#dueAt = Math.max(this.#dueAt + this.#spacingMs, now - CATCH_UP_MS)
  }

  /** A request, sent at `sentAt`, was answered or failed now. */
  ended(sentAt: number, now: number): void {
    this.#roundTrips += 1
    this.#fastestMs = Math.min(this.#fastestMs, now - sentAt)
    const leftAt = now - this.#sureMs
    this.#arrived = [...this.#arrived.filter((at) => at > leftAt), this.#arrivalOf(sentAt, now)]
  }

  get #sureMs(): number {
    return this.windowMs * (1 + SURE_SHARE)
  }

  get #spacingMs(): number {
    return this.windowMs / this.requests
  }

  /** When a request can have arrived at the latest that is known to have come back, or to be on its way, at `now`. */
  #arrivalOf(sentAt: number, now: number): number {
    const fastestMs = this.#roundTrips < ROUND_TRIPS_TO_TRUST ? 0 : this.#fastestMs
    const lateMs = Math.max(0, now - sentAt - fastestMs)
    return sentAt + Math.min(lateMs, LONGEST_HOLD_MS)
  }
}

// A reset "in 0 seconds" was rounded down; one in some seconds may be rounded up.
const RESET_ROUNDING_MS = SECOND

/** Times are on the monotonic clock, in milliseconds. */
interface CountReport {
  readonly receivedAt: number
  readonly limit: number | null
  /** Requests that the service still accepts. */
  readonly remaining: number
  /** From when on the service accepts more. */
  readonly endsAt: number
}

/** The service's counter, as its answers report it. */
export class ServiceQuota {
  /** Reports that no later one has replaced; empty if the service sends none. */
  #reports: readonly CountReport[] = []
  /** The longest reported time until a reset: a lower bound of the window. */
  #longestResetMs = 0

  /** Learns from the answer to a request. @returns whether it reports a counter, which then includes that request */
  learn({ sentAt }: SentRequest, report: RateReport, receivedAt: number): boolean {
    const { limit, remaining, resetMs } = report
    if (remaining === null || resetMs === null) return false
    const endsAt = receivedAt + (resetMs === 0 ? RESET_ROUNDING_MS : resetMs)
    this.#longestResetMs = Math.max(this.#longestResetMs, resetMs)
    this.#reports = [
      ...this.#reports.filter((known) => known.receivedAt >= sentAt),
      { receivedAt, limit, remaining, endsAt },
    ]
    return true
  }

  /** A request ended without a report. */
  learnNothing({ sentAt }: SentRequest, isAnswered: boolean): void {
    // The service no longer sends its counter.
    if (isAnswered && sentAt >= this.#endsAt) this.#reports = []
    // The service may still have counted the request.
    this.#reports = this.#reports.map((report) => ({ ...report, remaining: report.remaining - 1 }))
  }

  /**
   * When another request may be sent by the service's counter: minus infinity for now, infinity if a request in flight
   * must end first.
   * @param inFlight requests that no report includes yet @param own our own limit; null for none
   */
  notBefore(inFlight: number, own: RateLimiter | null, now: number): number {
    const remaining = Math.min(...this.#reports.map((report) => report.remaining))
    if (remaining > inFlight || this.#isKeptBy(own)) return Number.NEGATIVE_INFINITY
    const isOver = now >= this.#endsAt
    if (!isOver && remaining <= 0) return this.#endsAt
    return isOver && inFlight === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }

  #isKeptBy(own: RateLimiter | null): boolean {
    if (own === null || !own.isTrusted) return false
    const isLongEnough = this.#longestResetMs <= own.windowMs + RESET_ROUNDING_MS
    return isLongEnough && this.#reports.every(({ limit }) => (limit ?? 0) >= own.requests)
  }

  get #endsAt(): number {
    return Math.max(...this.#reports.map(({ endsAt }) => endsAt))
  }
}
