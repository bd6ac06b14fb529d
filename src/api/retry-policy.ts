/**
 * Decides what to do after an attempt: when a request, or a run, gives up because of an answer. Pure; one condition is
 * one rule. Three other files also decide: src/extract/retries.ts about an answer that is a page other than the
 * requested one, src/extract/paging-guard.ts about pagination that never ends, pacer.ts about how fast requests follow
 * each other and when a wait is too long.
 */

import { DAY, SECOND } from '../support/units.ts'
import { isMistakenWait, obeyedWait } from '../support/waits.ts'
import { unsaidWait, waitWanted, type Headers } from './retry-after.ts'
import type { Obstacle } from './unreachable.ts'

/** The outcome of one attempt, other than a good page. */
export type Failure =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers: Headers
      readonly reason: string
    }
  /**
   * No usable answer. `inDoubt`: the service may have done the work and charged for it. `obstacle`: why no connection
   * was made; null when there was one, or it is unknown.
   */
  | {
      readonly kind: 'no-answer'
      readonly reason: string
      readonly inDoubt: boolean
      readonly obstacle: Obstacle | null
    }
  /** A 200 that is not a page. It may have been charged. */
  | { readonly kind: 'not-a-page'; readonly reason: string; readonly headers?: Headers }

/**
 * Why a run gives up. `page`: this request fails, while others are answered. `unreadable`: answers are not pages, and
 * each may be billed. `outage`: the service answered nothing for as long as a run may wait. `long-wait`: the service
 * ordered a longer wait than that. `mistaken-wait`: it ordered a wait of more than a day. `unreachable`: no connection
 * was ever made.
 */
export type GiveUpReason =
  'page' | 'unreadable' | 'outage' | 'long-wait' | 'mistaken-wait' | 'unreachable'

export type RetryDecision =
  /** Ask again after `waitMs`; the other workers do not wait. */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** All workers wait for `waitMs`; then retry, or end the run as `giveUp` says, and keep the time. */
  | {
      readonly kind: 'pause-all'
      readonly waitMs: number
      readonly status: number
      readonly giveUp: 'long-wait' | 'mistaken-wait' | 'outage' | null
    }
  /** Never retried; the status alone decides its meaning. */
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'give-up'; readonly why: GiveUpReason }

export interface RetryState {
  /**
   * Failed attempts at this request so far, including this one. Orders to wait do not count, nor does a failed trial,
   * unless its answer is not a page or the service was never reached.
   */
  readonly attempts: number
  /** Of these, how many may have been billed. */
  readonly billable: number
  /**
   * Consecutive answers, to all requests, that were not pages, including this one; answers that came together count
   * once.
   */
  readonly unreadableInARow: number
  /** Waits ordered by the service in a row, over all requests, this one included if it is one; from 1. */
  readonly pausesInARow: number
  /** How long nothing was answered, in milliseconds from the first request that failed since. */
  readonly outageMs: number
  /** Failures in that time, one after another: those of requests that were in flight together count once. */
  readonly failuresInARow: number
  /** Whether there was any connection since this attempt at the run began. */
  readonly wasReached: boolean
  /** The longest wait, in milliseconds: for an answer at all, and that the service may order. */
  readonly maxWaitMs: number
  /** Our time, milliseconds since 1970 UTC. */
  readonly nowMs: number
  /** The last backoff of this request in milliseconds, 0 before the first. */
  readonly previousWaitMs: number
  /** A random number in [0, 1). */
  readonly random: number
}

/**
 * Attempts at one request, as long as others are answered: a faulty page is given up after some minutes. Where every
 * second request fails by chance, a run of 400 pages reaches this bound once in 2,600 times.
 */
export const ATTEMPTS_MAX = 20
/**
 * Of these, attempts that may be billed: a faulty page costs 60 credits in doubt at most. Where each seventh request
 * fails by chance, half of them like that, a run of 400 pages reaches this bound once in 12,000 times.
 */
export const BILLABLE_MAX = 6
const SPREAD_FROM = 3
/**
 * A service that answers everything with other content is retried for less time than one that is down: each answer may
 * be billed.
 */
export const UNREADABLE_IN_A_ROW_MAX = 5
/** A wrong address, proxy or certificate does not fix itself; a service that is being started gets this long. */
const UNREACHABLE_MS = 8 * SECOND
const UNREACHABLE_ATTEMPTS = 2
/** Time in which no request was sent tells nothing of the service: it must have been asked meanwhile. */
const OUTAGE_FAILURES_LEAST = 3
const UNREACHABLE_BACKOFF_CAP_MS = 2 * SECOND
const BACKOFF_BASE_MS = SECOND
const BACKOFF_CAP_MS = 30 * SECOND
const PASSING_4XX: ReadonlySet<number> = new Set([408, 425])

export function decideRetry(failure: Failure, state: RetryState): RetryDecision {
  const decision = decide(failure, state)
  const headers = failure.kind === 'not-a-page' ? failure.headers : undefined
  if (decision.kind !== 'retry' || headers?.['retry-after'] === undefined) return decision
  // An answer that is not a page may still name a time.
  return pauseAll(200, headers, state)
}

function decide(failure: Failure, state: RetryState): RetryDecision {
  if (failure.kind === 'status') {
    const { status } = failure
    if (isOrderToWait(failure)) return pauseAll(status, failure.headers, state)
    // Every 5xx is retried: gateways have their own in addition to 500, 502 and 504 (520 to 530), and all of them are
    // free.
    const isAskedAgain = status >= 500 || isPassing(status) || isUnreadable(failure)
    if (!isAskedAgain) return { kind: 'refused', status }
  }
  if (isUnreadable(failure) && state.unreadableInARow >= UNREADABLE_IN_A_ROW_MAX) {
    return { kind: 'give-up', why: 'unreadable' }
  }
  if (isNeverReached(failure, state)) {
    const isTried = state.attempts >= UNREACHABLE_ATTEMPTS && state.outageMs >= UNREACHABLE_MS
    if (isTried) return { kind: 'give-up', why: 'unreachable' }
    return backoff(state, UNREACHABLE_BACKOFF_CAP_MS)
  }
  if (state.attempts >= ATTEMPTS_MAX || state.billable >= BILLABLE_MAX) {
    return { kind: 'give-up', why: 'page' }
  }
  const wasAsked = state.failuresInARow >= OUTAGE_FAILURES_LEAST
  if (wasAsked && state.outageMs >= state.maxWaitMs) return { kind: 'give-up', why: 'outage' }
  const wait = backoff(state, BACKOFF_CAP_MS)
  // While nothing is answered, the attempts that may be billed are spread over the time that a run may wait.
  const isSpread = state.billable >= SPREAD_FROM && state.outageMs >= BACKOFF_CAP_MS
  return isSpread
    ? { ...wait, waitMs: Math.max(wait.waitMs, state.maxWaitMs / BILLABLE_MAX) }
    : wait
}

/** Whether there was no connection this time, nor at any time since this attempt at the run began. */
export function isNeverReached(
  failure: Failure,
  { wasReached }: Pick<RetryState, 'wasReached'>,
): boolean {
  return failure.kind === 'no-answer' && failure.obstacle !== null && !wasReached
}

/**
 * Whether the service considers it an answer although it is not a page: a 200 with other content, or a 204 and similar.
 */
export function isUnreadable(failure: Failure): boolean {
  if (failure.kind === 'status') return failure.status >= 200 && failure.status < 300
  return failure.kind === 'not-a-page'
}

/** 429 and 503, and any other retryable answer that names a time (a gateway's 502): all workers wait. */
export function isOrderToWait(failure: Failure): boolean {
  if (failure.kind !== 'status') return false
  const { status, headers } = failure
  if (status === 429 || status === 503) return true
  return (status >= 500 || isPassing(status)) && headers['retry-after'] !== undefined
}

/** Whether a status below 500 is about the service rather than the question. */
export function isPassing(status: number): boolean {
  return PASSING_4XX.has(status)
}

function pauseAll(status: number, headers: Headers, state: RetryState): RetryDecision {
  const { random, pausesInARow, maxWaitMs, outageMs, nowMs } = state
  const wantedMs = waitWanted(headers, nowMs) ?? unsaidWait(pausesInARow)
  const waitMs = withJitter(obeyedWait(wantedMs), random)
  const outage = outageMs >= maxWaitMs ? 'outage' : null
  const tooLong = waitMs > maxWaitMs ? 'long-wait' : outage
  const giveUp = isMistakenWait(wantedMs) ? 'mistaken-wait' : tooLong
  return { kind: 'pause-all', waitMs, status, giveUp }
}

// Decorrelated jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"): spreads workers that failed together.
function backoff(state: RetryState, capMs: number): RetryDecision & { readonly kind: 'retry' } {
  const upper = Math.max(BACKOFF_BASE_MS, state.previousWaitMs * 3)
  const waitMs = BACKOFF_BASE_MS + state.random * (upper - BACKOFF_BASE_MS)
  return { kind: 'retry', waitMs: Math.min(capMs, waitMs) }
}

const JITTER_SHARE = 0.1
const JITTER_CAP_MS = 2 * SECOND

// The service's time always wins: jitter only makes the wait longer. A wait of a day stays a day: anything longer
// counts as a mistake.
function withJitter(waitMs: number, random: number): number {
  return Math.min(DAY, waitMs + Math.min(waitMs * JITTER_SHARE, JITTER_CAP_MS) * random)
}
