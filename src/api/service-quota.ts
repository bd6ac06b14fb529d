/**
 * Follows the service's own count (`X-RateLimit-Remaining` and `-Reset`). It works for windows that begin at a fixed
 * time and for sliding ones, because it trusts only the last report: how many more requests are accepted until when. At
 * the reset one request goes ahead and finds out what is taken now.
 *
 * Requests in flight may not be in a count yet, so all of them are taken off it. Answers overtake each other: a report
 * is out of date only when it had come before the request of a later one was sent; of the others the lowest counts.
 *
 * That is more careful than need be for who keeps a limit that is as strict as the service's. Who does, and was refused
 * nothing lately, goes by that limit alone.
 */

import { SECOND } from '../support/units.ts'
import type { RateLimiter, SentRequest } from './rate-limiter.ts'
import type { RateReport } from './retry-after.ts'

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

/** The count of a service, as its answers tell it. Times are milliseconds on the monotonic clock. */
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
