/** What a request that brought no page means for its charge, its page and the service. Pure. */

import type { TurnOutcome } from '../api/pace-rules.ts'
import type { Failure } from '../api/retry-policy.ts'
import { shortened } from '../api/schemas.ts'

/** What was wrong, in the words of the service or the network, not too many of them. */
export function wordsOf(failure: Failure): string {
  return shortened(messageOf(failure))
}

/** All words of the service or the network. */
export function messageOf(failure: Failure): string {
  return failure.kind === 'status' ? failure.message : failure.reason
}

/**
 * Whether it may have been charged. Errors of this endpoint are free. A page that came damaged was sent, and so probably
 * charged; so may be what came with a status that says success but is not 200.
 */
export function isInDoubt(failure: Failure): boolean {
  return failure.kind === 'no-answer' ? failure.inDoubt : isUnreadable(failure)
}

/** Whether the service takes it for an answer, and it is no page. */
export function isUnreadable(failure: Failure): boolean {
  if (failure.kind === 'status') return failure.status >= 200 && failure.status < 300
  return failure.kind === 'not-a-page'
}

/** 429 and 503: everybody is to wait. */
export function isOrderToWait(failure: Failure): boolean {
  return failure.kind === 'status' && (failure.status === 429 || failure.status === 503)
}

// Statuses below 500 that speak of the service and not of the question.
const PASSING: ReadonlySet<number> = new Set([408, 425])

/** What the failure says of the service's health. */
export function outcomeOf(failure: Failure): TurnOutcome {
  if (failure.kind !== 'status' || PASSING.has(failure.status)) return 'failed'
  if (failure.status === 429) return 'refused'
  return failure.status >= 400 && failure.status < 500 ? 'answered' : 'failed'
}
