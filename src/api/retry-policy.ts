/** What to do after an attempt. Pure: one condition is one sentence of policy. */

import { MINUTE, SECOND } from '../support/units.ts'
import { unsaidWait, waitWanted, type Headers } from './retry-after.ts'

/** What came of one attempt, other than a good page. */
export type Failure =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers: Headers
      readonly message: string
    }
  /** No usable answer. `inDoubt`: the service may have done the work and charged for it. */
  | { readonly kind: 'no-answer'; readonly reason: string; readonly inDoubt: boolean }
  /** A 200 that is not a page. It may have been charged. */
  | { readonly kind: 'not-a-page'; readonly reason: string }

/** What the caller does next. */
export type RetryDecision =
  /** Ask again after `waitMs`; nobody else has to wait. */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** Nobody asks anything for `waitMs`, then ask again. */
  | { readonly kind: 'pause-all'; readonly waitMs: number; readonly reason: string }
  | { readonly kind: 'bad-request' }
  | { readonly kind: 'refused'; readonly status: 401 | 403 }
  | { readonly kind: 'unexpected-status' }
  | { readonly kind: 'give-up' }

/** What the decision depends on besides the failure. */
export interface RetryState {
  /** Failed attempts at this request so far, this one included; from 1. */
  readonly attempt: number
  /** Waits ordered by the service in a row, over all requests, this one included if it is one; from 1. */
  readonly pausesInARow: number
  /** Our time, milliseconds since 1970 UTC. */
  readonly nowMs: number
  /** The last backoff of this request in milliseconds, 0 before the first. */
  readonly previousWaitMs: number
  /** A random number in [0, 1). */
  readonly random: number
}

/** Attempts at one request before giving up, waits ordered by the service not counted. */
export const ATTEMPTS_MAX = 6
// A page that cannot be understood is asked for again twice: more would be paying for the same fault.
const UNREADABLE_MAX = 3
const BACKOFF_BASE_MS = SECOND
const BACKOFF_CAP_MS = MINUTE
const PASSING_4XX: ReadonlySet<number> = new Set([408, 425])

/** Decides what follows a failure. */
export function decideRetry(failure: Failure, state: RetryState): RetryDecision {
  if (isUnreadable(failure)) {
    return state.attempt < UNREADABLE_MAX ? backoff(state) : { kind: 'give-up' }
  }
  if (failure.kind !== 'status') {
    return state.attempt < ATTEMPTS_MAX ? backoff(state) : { kind: 'give-up' }
  }
  const { status, headers } = failure
  if (status === 400) return { kind: 'bad-request' }
  if (status === 401 || status === 403) return { kind: 'refused', status }
  if (isOrderToWait(failure)) {
    const wanted = waitWanted(headers, state.nowMs) ?? unsaidWait(state.pausesInARow)
    return { kind: 'pause-all', waitMs: withJitter(wanted, state.random), reason: String(status) }
  }
  // Every 5xx: gateways have their own beside 500, 502 and 504 (520 to 530), and all of them are free.
  if (status >= 500 || isPassing(status)) {
    return state.attempt < ATTEMPTS_MAX ? backoff(state) : { kind: 'give-up' }
  }
  return { kind: 'unexpected-status' }
}

/** Whether the service takes it for an answer, and it is no page: a 200 of something else, or 204 and its like. */
export function isUnreadable(failure: Failure): boolean {
  if (failure.kind === 'status') return failure.status >= 200 && failure.status < 300
  return failure.kind === 'not-a-page'
}

/** 429 and 503: everybody is to wait. */
export function isOrderToWait(failure: Failure): boolean {
  return failure.kind === 'status' && (failure.status === 429 || failure.status === 503)
}

/** Whether a status below 500 speaks of the service and not of the question. */
export function isPassing(status: number): boolean {
  return PASSING_4XX.has(status)
}

// Decorrelated jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"): spreads workers that failed together.
function backoff(state: RetryState): RetryDecision {
  const upper = Math.max(BACKOFF_BASE_MS, state.previousWaitMs * 3)
  const waitMs = BACKOFF_BASE_MS + state.random * (upper - BACKOFF_BASE_MS)
  return { kind: 'retry', waitMs: Math.min(BACKOFF_CAP_MS, waitMs) }
}

const JITTER_SHARE = 0.1
const JITTER_CAP_MS = 2 * SECOND

// The service's time always wins: jitter only ever makes the wait longer.
function withJitter(waitMs: number, random: number): number {
  return waitMs + Math.min(waitMs * JITTER_SHARE, JITTER_CAP_MS) * random
}
