/**
 * Two limits on how fast requests may follow each other: ours, and the count that the service keeps of us. All times
 * are milliseconds on the monotonic clock.
 *
 * Ours is strict: at most a number of requests in any window, as the service counts them, and evenly spaced. The service
 * counts a request when it arrives, which is some time after it was sent and at the latest when it was answered. So a
 * request keeps its place in the window for as long, beyond the window itself, as its round trip took longer than the
 * shortest one known.
 *
 * Of the service's count (`X-RateLimit-Remaining` and `-Reset`) only the last report is trusted, which works for windows
 * that begin at a fixed time and for sliding ones: how many more requests are accepted until when. At the reset one
 * request goes ahead and finds out what is taken now. Requests in flight may not be in a count yet, so all of them are
 * taken off it. Answers overtake each other: a report is out of date only when it had come before the request of a later
 * one was sent; of the others the lowest counts. Who keeps a limit as strict as the service's goes by that limit alone,
 * until a request is refused all the same.
 */

import { SECOND } from '../support/units.ts'
import type { RateReport } from './retry-after.ts'

/** So many requests in any window of that length. */
export interface RateLimit {
  /** A whole number from 1. */
  readonly requests: number
  readonly windowMs: number
}

/** A request in flight, by when it was sent on the monotonic clock. */
export interface SentRequest {
  readonly sentAt: number
}

// The shortest round trip that is known is still a little longer than the shortest there can be.
const SURE_SHARE = 0.01
// One late answer (from a server that took long) must not hold its place forever.
const LONGEST_HOLD_MS = SECOND
// How late a request may be sent without delaying the next one: timers are late by some milliseconds each time.
const CATCH_UP_MS = 50
// Until this many round trips are known, the shortest may be one that opened its connection, and would be too long.
const ROUND_TRIPS_TO_TRUST = 20

/**
 * The limit for a number of requests per second: whole requests in the shortest window of a second or more.
 * @param requestsPerSecond above 0; 2.5 is 3 in 1.2 s, 0.5 is 1 in 2 s
 */
export function rateLimitOf(requestsPerSecond: number): RateLimit {
  const requests = Math.ceil(requestsPerSecond)
  return { requests, windowMs: (requests / requestsPerSecond) * SECOND }
}

/** Keeps our limit. */
export class RateLimiter {
  readonly limit: RateLimit
  /** For each request that has ended and may still be in a window: when it can have arrived at the latest. */
  #arrived: number[] = []
  /** When the last request was due in a row of evenly spaced ones. */
  #dueAt = Number.NEGATIVE_INFINITY
  #roundTrips = 0
  #fastestMs = Number.POSITIVE_INFINITY
  /** False once the service has refused a request that should have been within the limit. */
  isTrusted = true

  constructor(limit: RateLimit) {
    this.limit = limit
  }

  /** When the next request may be sent; minus infinity for at once. */
  nextSlotAt(inFlight: Iterable<SentRequest>, now: number): number {
    const arriving = Array.from(inFlight, ({ sentAt }) => this.#arrivalOf(sentAt, now))
    const newestFirst = [...this.#arrived, ...arriving].toSorted((a, b) => b - a)
    const nthNewest = newestFirst[this.limit.requests - 1] ?? Number.NEGATIVE_INFINITY
    return Math.max(nthNewest + this.#windowMs, this.#dueAt + this.#spacingMs)
  }

  /** Takes note that a request is sent now. A little lateness is made up for by the requests after it. */
  sent(now: number): void {
    this.#dueAt = Math.max(this.#dueAt + this.#spacingMs, now - CATCH_UP_MS)
  }

  /** Takes note that a request, sent at `sentAt`, has been answered or has failed now. */
  ended(sentAt: number, now: number): void {
    this.#roundTrips += 1
    this.#fastestMs = Math.min(this.#fastestMs, now - sentAt)
    const leftAt = now - this.#windowMs
    this.#arrived = [...this.#arrived.filter((at) => at > leftAt), this.#arrivalOf(sentAt, now)]
  }

  get #windowMs(): number {
    return this.limit.windowMs * (1 + SURE_SHARE)
  }

  get #spacingMs(): number {
    return this.limit.windowMs / this.limit.requests
  }

  /** When a request can have arrived at the latest that is known to have come back, or to be on its way, at `now`. */
  #arrivalOf(sentAt: number, now: number): number {
    const fastestMs = this.#roundTrips < ROUND_TRIPS_TO_TRUST ? 0 : this.#fastestMs
    const lateMs = Math.max(0, now - sentAt - fastestMs)
    return sentAt + Math.min(lateMs, LONGEST_HOLD_MS)
  }
}

// A reset "in 0 seconds" is one that was rounded down; one of some seconds may be rounded up.
const RESET_ROUNDING_MS = SECOND

interface CountReport {
  readonly receivedAt: number
  readonly limit: number | null
  /** Requests that it still accepts. */
  readonly remaining: number
  /** The time from which it accepts more. */
  readonly endsAt: number
}

/** The count of the service, as its answers tell it. */
export class ServiceQuota {
  /** Reports that no later one has replaced; none when the service sends none. */
  #reports: readonly CountReport[] = []
  /** The longest reported time until a reset: no window is shorter. */
  #longestResetMs = 0

  /** Learns from the answer to a request. @returns whether it tells a count, which has that request */
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

  /** Learns that a request ended without a count. */
  learnNothing({ sentAt }: SentRequest, isAnswered: boolean): void {
    // The service has stopped sending its count.
    if (isAnswered && sentAt >= this.#endsAt) this.#reports = []
    // The service may still have counted the request.
    this.#reports = this.#reports.map((report) => ({ ...report, remaining: report.remaining - 1 }))
  }

  /**
   * When another request may be sent, as far as the service's count is known: minus infinity for at once, infinity for when one
   * in flight has ended.
   * @param inFlight requests that no count has yet
   * @param own the limit that is kept anyway
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
    const { requests, windowMs } = own.limit
    const isLongEnough = this.#longestResetMs <= windowMs + RESET_ROUNDING_MS
    return isLongEnough && this.#reports.every(({ limit }) => limit !== null && limit >= requests)
  }

  get #endsAt(): number {
    return Math.max(...this.#reports.map(({ endsAt }) => endsAt))
  }
}
