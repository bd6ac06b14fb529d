/**
 * Decides what follows an attempt at any request. This is the only place that does. Pure. The pacer carries out pauses
 * and trials, src/extract/request-buyer.ts counts attempts, and page-limit.ts there stops pagination that never ends.
 *
 * | outcome | others are answered | nothing is answered | exhausted: the run ends, or one item |
 * | --- | --- | --- | --- |
 * | `refused`: 3xx, 4xx | ends the request | ends the request | |
 * | `order`: 429, 503, any with Retry-After | all pause, then one trial | the same | longer than max_wait, or a day |
 * | `failed`: 5xx, 408, 425, no answer or a cut one | backoff | backoff; 5 in a row: one trial every 30 s | 20 attempts; max_wait |
 * | `unreadable`: 200 and no page, 2xx | backoff | the same | 6 billed attempts; 5 in a row; 2 wrong pages |
 * | `unreachable`: never a connection | | backoff to 2 s | 2 attempts and 8 s |
 */

import { DAY, SECOND } from '../support/units.ts'
import { isMistakenWait, obeyedWait } from '../support/waits.ts'
import { unsaidWait, waitWanted, type Headers } from './retry-after.ts'
import type { RequestOutcome } from './pacer.ts'
import type { Obstacle } from './unreachable.ts'

/** An attempt without a usable answer. */
export interface Failure {
  readonly outcome: Outcome
  /** Null without an answer. */
  readonly status: number | null
  /** Empty without an answer. */
  readonly headers: Headers
  /** In the words of the service or the network. */
  readonly reason: string
  /** Whether it may have been charged: errors are free unless they say otherwise, and unreadable answers may not be. */
  readonly inDoubt: boolean
  /** The credits that it counts as; 0 if it was not charged. */
  readonly credits: number
  /** Why no connection was made; null if one was, or unknown. */
  readonly obstacle: Obstacle | null
  /** The page is another one, or about others. */
  readonly isWrongPage: boolean
}

/**
 * Why a run gives up. `page`: this request fails while others are answered. `unreadable`: answers are not pages, and
 * each may be billed. `outage`: the service answered nothing for as long as a run may wait. `long-wait`: the service
 * ordered a longer wait than that. `mistaken-wait`: it ordered a wait of more than a day. `unreachable`: no connection
 * was ever made.
 */
export type GiveUpReason =
  'page' | 'unreadable' | 'outage' | 'long-wait' | 'mistaken-wait' | 'unreachable'

export interface RetryDecision {
  /**
   * `retry`: ask again after `waitMs`; the other workers do not wait. `pause-all`: all workers wait for `waitMs`; then
   * retry, or end the run and keep the time. `refused`: never retried. `give-up`: the run ends, or one item.
   */
  readonly kind: 'retry' | 'pause-all' | 'refused' | 'give-up'
  readonly waitMs: number
  /** Null if the run continues, and for a refusal: its status alone decides its meaning. */
  readonly why: GiveUpReason | null
}

/** The attempts at one request so far, including the last one. */
export interface Attempts {
  /** Without orders to wait. A failed trial counts only after an unreadable answer, or if none was ever reached. */
  attempts: number
  /** How many of these may have been billed. */
  billable: number
  /** Answers to it that were another page, or about others. */
  wrongPages: number
  /** The last backoff in milliseconds, 0 before the first. */
  previousWaitMs: number
}

export interface RetryState extends Readonly<Attempts> {
  /** Consecutive answers to all requests that were not pages; answers that arrived together count once. */
  readonly unreadableInARow: number
  /** Consecutive orders to wait, over all requests, including this one if it is one; from 1. */
  readonly pausesInARow: number
  /** Milliseconds without an answer, counted from the first request that failed since the last one. */
  readonly outageMs: number
  /** Failures in that time; those of requests that were in flight together count once. */
  readonly failuresInARow: number
  /** The longest wait in milliseconds, both for any answer and as ordered by the service. */
  readonly maxWaitMs: number
  /** Our time, milliseconds since 1970 UTC. */
  readonly nowMs: number
  /** In [0, 1). */
  readonly random: number
}

/**
 * Attempts at one request while others are answered: a faulty page is given up after some minutes. If every second
 * request fails by chance, one run of 400 pages in 2,600 reaches this bound.
 */
export const ATTEMPTS_MAX = 20
/**
 * The same for attempts that may be billed: a faulty page costs at most 60 credits in doubt. If every seventh request
 * fails by chance, half of them billable, one run of 400 pages in 12,000 reaches this bound.
 */
export const BILLABLE_MAX = 6
const SPREAD_FROM = 3
/** Fewer than for a service that is down: each answer may be billed. */
export const UNREADABLE_IN_A_ROW_MAX = 5
/** A wrong address, proxy or certificate does not fix itself. A service that is starting gets this long. */
const UNREACHABLE_MS = 8 * SECOND
const UNREACHABLE_ATTEMPTS = 2
/** Time without a request says nothing about the service: it must have been asked so often meanwhile. */
const OUTAGE_FAILURES_LEAST = 3
const UNREACHABLE_BACKOFF_CAP_MS = 2 * SECOND
const BACKOFF_BASE_MS = SECOND
const BACKOFF_CAP_MS = 30 * SECOND
// A service that sends the wrong page twice will not send the right one the third time.
const WRONG_PAGES_MAX = 2
/** Failures of the service rather than of the request. */
const PASSING_4XX: ReadonlySet<number> = new Set([408, 425])

/** The row of the table above that an attempt falls into. */
export type Outcome = 'refused' | 'order' | 'failed' | 'unreadable' | 'unreachable'

/** What an answer that cannot be used means, by its status and headers. */
export function outcomeOf(status: number, headers: Headers): Outcome {
  if (status >= 200 && status < 300) return 'unreadable'
  if (status === 429 || status === 503) return 'order'
  // Every 5xx, all of them free: gateways also send 520 to 530.
  if (status < 500 && !PASSING_4XX.has(status)) return 'refused'
  return headers['retry-after'] === undefined ? 'failed' : 'order'
}

/** The failure as evidence of the service's health. */
export function healthOf({ outcome, status }: Failure): RequestOutcome {
  // A request that never left says nothing about the service.
  if (outcome === 'unreachable') return 'undecided'
  if (outcome === 'refused') return 'answered'
  return status === 429 ? 'throttled' : status === 503 ? 'deferred' : 'failed'
}

export function decideRetry({ outcome, headers }: Failure, state: RetryState): RetryDecision {
  const { attempts, billable, unreadableInARow, wrongPages, outageMs, maxWaitMs } = state
  if (outcome === 'refused') return { kind: 'refused', waitMs: 0, why: null }
  if (outcome === 'order') return pauseAll(headers, state)
  if (outcome === 'unreachable') {
    const isTried = attempts >= UNREACHABLE_ATTEMPTS && outageMs >= UNREACHABLE_MS
    return isTried ? giveUp('unreachable') : retry(backoff(state, UNREACHABLE_BACKOFF_CAP_MS))
  }
  const isRubbish = unreadableInARow >= UNREADABLE_IN_A_ROW_MAX || wrongPages >= WRONG_PAGES_MAX
  if (outcome === 'unreadable' && isRubbish) return giveUp('unreadable')
  if (attempts >= ATTEMPTS_MAX || billable >= BILLABLE_MAX) return giveUp('page')
  const wasAsked = state.failuresInARow >= OUTAGE_FAILURES_LEAST
  if (wasAsked && outageMs >= maxWaitMs) return giveUp('outage')
  // An answer that is not a page may still name a time to wait.
  if (headers['retry-after'] !== undefined) return pauseAll(headers, state)
  // While nothing is answered, billable attempts are spread over the time that a run may wait.
  const isSpread = billable >= SPREAD_FROM && outageMs >= BACKOFF_CAP_MS
  const leastMs = isSpread ? maxWaitMs / BILLABLE_MAX : 0
  return retry(Math.max(leastMs, backoff(state, BACKOFF_CAP_MS)))
}

function retry(waitMs: number): RetryDecision {
  return { kind: 'retry', waitMs, why: null }
}

function giveUp(why: GiveUpReason): RetryDecision {
  return { kind: 'give-up', waitMs: 0, why }
}

const JITTER_SHARE = 0.1
const JITTER_CAP_MS = 2 * SECOND

function pauseAll(headers: Headers, state: RetryState): RetryDecision {
  const { random, pausesInARow, maxWaitMs, outageMs, nowMs } = state
  const wantedMs = waitWanted(headers, nowMs) ?? unsaidWait(pausesInARow)
  const obeyedMs = obeyedWait(wantedMs)
  // The service's time always wins: jitter only makes the wait longer. A wait of a day stays a day, because anything
  // longer counts as a mistake.
  const jitterMs = Math.min(obeyedMs * JITTER_SHARE, JITTER_CAP_MS) * random
  const waitMs = Math.min(DAY, obeyedMs + jitterMs)
  const outage = outageMs >= maxWaitMs ? 'outage' : null
  const tooLong = waitMs > maxWaitMs ? 'long-wait' : outage
  const why = isMistakenWait(wantedMs) ? 'mistaken-wait' : tooLong
  return { kind: 'pause-all', waitMs, why }
}

// Decorrelated jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"): spreads workers that failed together.
function backoff({ previousWaitMs, random }: RetryState, capMs: number): number {
  const upper = Math.max(BACKOFF_BASE_MS, previousWaitMs * 3)
  return Math.min(capMs, BACKOFF_BASE_MS + random * (upper - BACKOFF_BASE_MS))
}
