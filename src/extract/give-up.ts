/** What is said when a run gives up. Pure; when it does is the retry policy's to say. */

import { UnavailableError, unreachableError } from '../api/errors.ts'
import type { Failure, GiveUpReason } from '../api/retry-policy.ts'
import { isoInstant } from '../support/clock.ts'
import type { JobtideError } from '../support/errors.ts'
import { MINUTE, SECOND } from '../support/units.ts'
import { wordsOf } from './failure.ts'
import type { Wish } from './setback.ts'

/** The last failure, and what it was for. */
export interface LastFailure {
  readonly failure: Failure
  readonly wish: Wish
  /** When the wait ends that the service ordered, milliseconds since 1970 UTC. */
  readonly notBefore: number
  /** How long nothing may be answered, in milliseconds. */
  readonly maxWaitMs: number
}

const PAGE_HINT =
  'Run the same command again later: it goes on where it stopped. When this page fails again, report it to the provider.'
const UNREADABLE_HINT =
  'Each of these answers may have been billed. Is JOBTIDE_BASE_URL the address of the service, and does something on the way answer instead? Run the same command again later: it goes on where it stopped.'

/** The error that ends the run. */
export function giveUpError(
  why: GiveUpReason,
  { failure, wish, notBefore, maxWaitMs }: LastFailure,
): JobtideError {
  const words = wordsOf(failure)
  const what = `page ${wish.page} of batch ${wish.batchId}`
  switch (why) {
    case 'long-wait':
      return new UnavailableError(
        `the service asks for no request before ${isoInstant(notBefore)}: ${words}`,
        notBefore,
      )
    case 'outage':
      return new UnavailableError(
        `the service gave no usable answer for ${durationText(maxWaitMs)}, the last time to ${what}: ${words}`,
        null,
      )
    case 'unreadable':
      return new UnavailableError(
        `the service answers with something that is no page, the last time to ${what}: ${words}`,
        null,
        { hint: UNREADABLE_HINT },
      )
    case 'page':
      return new UnavailableError(
        `${what} could not be had in ${wish.failures} attempts, while other requests were answered: ${words}`,
        null,
        { hint: PAGE_HINT },
      )
    case 'unreachable': {
      const obstacle = failure.kind === 'no-answer' ? failure.obstacle : null
      return obstacle === null
        ? new UnavailableError(words, null)
        : unreachableError(obstacle, words)
    }
  }
}

function durationText(ms: number): string {
  return ms < MINUTE ? `${Math.round(ms / SECOND)} s` : `${Math.round(ms / MINUTE)} min`
}
