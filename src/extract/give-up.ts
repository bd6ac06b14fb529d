/** How a request that failed ends a run, a batch or an item: the errors, in the operator's terms. */

import { UnavailableError, refusalOf, unreachableError } from '../api/errors.ts'
import { waitWanted } from '../api/retry-after.ts'
import type { Attempts, Failure, RetryDecision } from '../api/retry-policy.ts'
import { shortened } from '../api/schemas.ts'
import { waitEnd } from '../support/clock.ts'
import { JobtideError, type ErrorDetails } from '../support/errors.ts'
import { MINUTE, SECOND } from '../support/units.ts'

export interface FailedAttempt {
  readonly request: { readonly batchId: string; readonly page: number; readonly attempts: Attempts }
  readonly failure: Failure
  readonly decision: RetryDecision
  /** When it happened, and when the wait that was decided ends, in milliseconds since 1970 UTC. */
  readonly at: number
  readonly notBefore: number
}

/** The cause in the words of the service or the network, shortened. */
export function wordsOf({ reason }: Failure): string {
  return shortened(reason)
}

// Without the status, "ok" from a 201 explains nothing. A page with 200 has its own reason.
export function statusAndWords(failure: Failure): string {
  const { status, outcome } = failure
  const isSaid = status === null || (status === 200 && outcome === 'unreadable')
  return isSaid ? wordsOf(failure) : `${status}: ${wordsOf(failure)}`
}

/** One item gets no answer: a run of `kind: collect` continues without it, unless nothing else is answered. */
export class UnansweredError extends JobtideError {
  readonly reason: string
  /** Whether it may soon be answered: the error is temporary and free. */
  readonly isPassing: boolean

  constructor({ failure }: FailedAttempt, ending: JobtideError) {
    super(ending.exitCode, ending.message, { cause: ending })
    this.reason = statusAndWords(failure)
    this.isPassing = failure.outcome !== 'refused' && failure.outcome !== 'unreadable'
  }
}

const PAGE_HINT =
  'Run the same command again later: it continues where it stopped. If this page fails again, report it to the provider.'
const UNREADABLE_HINT =
  'Each of these answers may have been billed. Check that JOBTIDE_BASE_URL is the address of the service, and that no proxy answers in its place. Then run the same command again: it continues where it stopped.'

/**
 * The error that ends the run or, as a BadRequestError, the batch.
 * @param url where the request went @param others whether another request was answered meanwhile
 * @param maxWaitMs the longest wait of the run
 */
export function endingOf(
  { failure, decision, at, notBefore, request }: FailedAttempt,
  url: string,
  others: boolean,
  maxWaitMs: number,
): JobtideError {
  const { page, batchId, attempts } = request
  if (failure.outcome === 'refused') return refusalOf(failure.status ?? 0, failure.reason, url)
  const what = `page ${page} of batch ${batchId}`
  const words = wordsOf(failure)
  const unavailable = (text: string, details: ErrorDetails = {}) =>
    new UnavailableError(`${text}: ${statusAndWords(failure)}`, null, details)
  // An item of a collection may end before the policy says why.
  switch (decision.why ?? 'page') {
    case 'long-wait': {
      const text = `the service asks for no request before ${waitEnd(notBefore)}: ${words}`
      return new UnavailableError(text, notBefore)
    }
    case 'mistaken-wait': {
      const wantedMs = waitWanted(failure.headers, at) ?? 0
      const text = `the service asks for no request before ${waitEnd(at + wantedMs)}, which is more than 24 hours away and counts as a mistake: ${words}`
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
        { hint: UNREADABLE_HINT },
      )
    case 'page':
      return unavailable(
        `${what} failed in ${Math.max(attempts.attempts, attempts.billable)} attempts${others ? ', while other requests were answered' : ''}`,
        { hint: PAGE_HINT },
      )
    case 'unreachable':
      return failure.obstacle === null
        ? new UnavailableError(words, null)
        : unreachableError(failure.obstacle, words)
  }
}
