/**
 * A request that brought no page: its effect on the charge and on the view of the service, and the error that ends the
 * run. Pure.
 */

import { UnavailableError, refusalOf, unreachableError } from '../api/errors.ts'
import type { RequestOutcome } from '../api/circuit-breaker.ts'
import { waitWanted } from '../api/retry-after.ts'
import {
  isPassing,
  isUnreadable,
  type Failure,
  type GiveUpReason,
  type RetryDecision,
} from '../api/retry-policy.ts'
import { shortened } from '../api/schemas.ts'
import { isoInstant } from '../support/clock.ts'
import { JobtideError } from '../support/errors.ts'
import { MINUTE, SECOND } from '../support/units.ts'

/** The attempts at one page so far. */
export interface PageAttempts {
  readonly page: number
  readonly batchId: string
  /** Attempts that failed; see RetryState.attempts. */
  failures: number
  /** Of these, those that may have been billed. */
  billable: number
  /** Answers that were another page than the asked one. */
  wrongPages: number
  previousWaitMs: number
}

/**
 * One item gets no answer, while others may: a run of `kind: collect` continues without it. Its cause is the error that
 * ends a run in which nothing is answered.
 */
export class UnansweredError extends JobtideError {
  /** In the words of the service or the network. */
  readonly reason: string
  /** Whether it may be answered in a moment: an error that passes, and that may not be billed. */
  readonly isPassing: boolean

  constructor(failed: FailedAttempt, ending: JobtideError) {
    super(ending.exitCode, ending.message, { cause: ending })
    const { failure } = failed
    this.reason =
      failure.kind === 'status' ? `${failure.status}: ${wordsOf(failure)}` : wordsOf(failure)
    this.isPassing = failed.decision.kind !== 'refused' && !isUnreadable(failure)
  }
}

/** How often one item is requested before the others are, whatever its failures. */
export interface Patience {
  /** Attempts; null for as many as the retry policy allows. */
  readonly attempts: number | null
  /** Whether anything was answered: where nothing is, the service is at fault. */
  readonly isWell: boolean
  /** Whether every item was requested before. */
  readonly isAgain: boolean
}

// An answer that cannot be read may have been billed. One may be cut on its way; the second one is the service's.
const UNREADABLE_PATIENCE = 2

/**
 * Whether a failure is due to the requested item, so that no other item has to wait for it.
 * @param tries attempts at it, including those that test whether the service answers again
 */
export function isOfOneThing(
  { decision, failure }: FailedAttempt,
  tries: number,
  { attempts, isWell, isAgain }: Patience,
): boolean {
  if (decision.kind === 'refused') return !OF_THE_ACCOUNT.has(decision.status)
  if (decision.kind === 'retry') {
    const most = isUnreadable(failure) ? UNREADABLE_PATIENCE : Number.POSITIVE_INFINITY
    return attempts !== null && tries >= Math.min(attempts, most)
  }
  if (decision.kind !== 'give-up') return false
  const { why } = decision
  return why === 'page' || (isWell && (why === 'unreadable' || (why === 'outage' && isAgain)))
}

// 400 ends its request alone anyway (BadRequestError). Other refusals may be due to the address, but then nothing is
// answered.
const OF_THE_ACCOUNT: ReadonlySet<number> = new Set([400, 401, 402, 403])

/** A request that brought no page, and the decision about it. */
export interface FailedAttempt {
  readonly failure: Failure
  readonly decision: RetryDecision
  readonly outcome: RequestOutcome
  /** When it happened and when the wait ends that was decided, milliseconds since 1970 UTC. */
  readonly at: number
  readonly notBefore: number
}

/** The cause in the words of the service or the network, shortened. */
export function wordsOf(failure: Failure): string {
  return shortened(failure.reason)
}

/**
 * Whether it may have been charged. Errors of this endpoint are free. A page that came damaged was sent, and so probably
 * charged; so may be what came with a status that says success but is not 200.
 */
export function isInDoubt(failure: Failure): boolean {
  return failure.kind === 'no-answer' ? failure.inDoubt : isUnreadable(failure)
}

/** The failure as evidence of the service's health. */
export function outcomeOf(failure: Failure): RequestOutcome {
  if (failure.kind !== 'status' || isPassing(failure.status)) return 'failed'
  if (failure.status === 429) return 'throttled'
  if (failure.status === 503) return 'deferred'
  return failure.status >= 400 && failure.status < 500 ? 'answered' : 'failed'
}

/**
 * The error that ends the run, or the batch (BadRequestError); null when the page may be requested again.
 * @param url where the request went
 * @param maxWaitMs how long nothing may be answered
 */
export function errorOf(
  failed: FailedAttempt,
  attempts: PageAttempts,
  url: string,
  maxWaitMs: number,
): JobtideError | null {
  const { decision, failure } = failed
  switch (decision.kind) {
    case 'retry':
      return null
    case 'pause-all':
      return decision.giveUp && giveUpError(decision.giveUp, failed, attempts, maxWaitMs)
    case 'give-up':
      return giveUpError(decision.why, failed, attempts, maxWaitMs)
    case 'refused':
      return refusalOf(decision.status, failure.reason, url)
  }
}

const PAGE_HINT =
  'Run the same command again later: it continues where it stopped. When this page fails again, report it to the provider.'
const UNREADABLE_HINT =
  'Each of these answers may have been billed. Is JOBTIDE_BASE_URL the address of the service, or does a proxy answer in its place? Run the same command again later: it continues where it stopped.'

function giveUpError(
  why: GiveUpReason,
  { failure, at, notBefore }: FailedAttempt,
  { page, batchId, failures }: PageAttempts,
  maxWaitMs: number,
): JobtideError {
  const what = `page ${page} of batch ${batchId}`
  const words = wordsOf(failure)
  const unavailable = (text: string, hint?: string) =>
    new UnavailableError(`${text}: ${words}`, null, hint === undefined ? {} : { hint })
  switch (why) {
    case 'long-wait': {
      const time = isoInstant(notBefore)
      const text = `the service asks for no request before ${time}: ${words}`
      return new UnavailableError(text, notBefore)
    }
    case 'mistaken-wait': {
      const wantedMs = ('headers' in failure && waitWanted(failure.headers ?? {}, at)) || 0
      const text = `the service asks for no request before ${isoInstant(at + wantedMs)}, which is more than 24 hours away and taken for a mistake: ${words}`
      return new UnavailableError(text, notBefore)
    }
    case 'outage': {
      const [unit, name] = maxWaitMs < MINUTE ? [SECOND, 's'] : [MINUTE, 'min']
      const wait = `${Math.round(maxWaitMs / unit)} ${name}`
      return unavailable(`the service gave no usable answer for ${wait}, the last time to ${what}`)
    }
    case 'unreadable':
      return unavailable(
        `the service answers with something that is not a page, the last time to ${what}`,
        UNREADABLE_HINT,
      )
    case 'page':
      return unavailable(
        `${what} failed in ${failures} attempts, while other requests were answered`,
        PAGE_HINT,
      )
    case 'unreachable': {
      const obstacle = failure.kind === 'no-answer' ? failure.obstacle : null
      return obstacle === null
        ? new UnavailableError(words, null)
        : unreachableError(obstacle, words)
    }
  }
}
