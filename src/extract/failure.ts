/** What a request that brought no page means for its charge, its page and the service. Pure. */

import type { RequestOutcome } from '../api/circuit-breaker.ts'
import { isPassing, isUnreadable, type Failure } from '../api/retry-policy.ts'
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

/** What the failure says of the service's health. */
export function outcomeOf(failure: Failure): RequestOutcome {
  if (failure.kind !== 'status' || isPassing(failure.status)) return 'failed'
  if (failure.status === 429) return 'refused'
  if (failure.status === 503) return 'deferred'
  return failure.status >= 400 && failure.status < 500 ? 'answered' : 'failed'
}
