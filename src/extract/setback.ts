/**
 * What follows a request that brought no page, for all workers of a run together: pauses in a row, retries, and the
 * errors that end a slice or the run. The decision itself is the pure retry policy's.
 */

import {
  BadRequestError,
  RefusedError,
  UnavailableError,
  UnexpectedStatusError,
} from '../api/errors.ts'
import {
  decideRetry,
  isOrderToWait,
  isUnreadable,
  type Failure,
  type RetryDecision,
} from '../api/retry-policy.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { messageOf, wordsOf } from './failure.ts'
import { createRetryBudget } from './retry-budget.ts'

/** How asking for one page went so far. */
export interface Wish {
  readonly page: number
  failures: number
  /** Answers that were another page than the asked one. */
  wrongPages: number
  /** The last wait, in milliseconds. */
  previousWaitMs: number
}

/** A page that was not asked for yet. */
export function newWish(page: number): Wish {
  return { page, failures: 0, wrongPages: 0, previousWaitMs: 0 }
}

/** The request that failed. */
export interface FailedRequest {
  /** On the monotonic clock. */
  readonly sentAt: number
  /** It alone was to find out whether the service answers again. */
  readonly isProbe: boolean
}

/** A request that brought no page, and what follows from it. */
export interface Setback {
  readonly failure: Failure
  readonly decision: RetryDecision
  /** Whether it is to be sent again, and that counts against the retry budget. */
  readonly isRetry: boolean
  /** When it happened and when the wait ends that was decided, milliseconds since 1970 UTC. */
  readonly at: number
  readonly notBefore: number
}

/** What setbacks need of the world. */
export interface SetbackOptions {
  /** What the run asked before it was taken up again. */
  readonly before: { readonly requests: number; readonly failures: number }
  readonly clock: Clock
  /** A random number in [0, 1), for jitter. */
  readonly random: () => number
  readonly logger: Logger
  /** Where requests go, for messages. */
  readonly url: string
  /** The longest wait the service may order, in milliseconds. */
  readonly maxWaitMs: number
  /** Ends waits. */
  readonly stop: AbortSignal
}

/** Deals with the setbacks of one run. */
export interface Setbacks {
  /** A request leaves. */
  sent(): void
  /** A page came. */
  answered(): void
  /** What the last failure said, when no page came since; null when all is well. */
  trouble(): string | null
  /** Decides what follows; nothing is awaited, so that an order to wait can hold from the moment it was read. */
  decide(failure: Failure, wish: Wish, request: FailedRequest): Setback
  /**
   * Does what was decided, and returns when the page may be asked for again.
   * @throws BadRequestError, RefusedError, UnexpectedStatusError, UnavailableError when it may not
   */
  follow(setback: Setback, wish: Wish): Promise<void>
}

const PAUSES_IN_A_ROW_MAX = 20

// A service that answers with another page than the asked one twice will not do better the third time.
const WRONG_PAGES_MAX = 2

/** For one run. */
export function createSetbacks(options: SetbackOptions): Setbacks {
  const { clock, logger, stop } = options
  const retryBudget = createRetryBudget(options.before)
  let trouble: string | null = null
  let pausesInARow = 0
  /** When the last pause began, on the monotonic clock. */
  let pausedAt = Number.NEGATIVE_INFINITY

  // Returns whether it counts. The failure of a probe says nothing of its page; an answer that cannot be read does, and
  // more of them would be paid for. Requests in flight when a pause begins get the same order: together they are one.
  function count(failure: Failure, wish: Wish, { sentAt, isProbe }: FailedRequest): boolean {
    if (isOrderToWait(failure)) {
      if (sentAt < pausedAt) return false
      pausesInARow += 1
      pausedAt = clock.monotonic()
      return !isProbe
    }
    const counts = !isProbe || isUnreadable(failure)
    if (counts) wish.failures += 1
    return counts
  }

  function decisionOf(failure: Failure, wish: Wish): RetryDecision {
    if (wish.wrongPages >= WRONG_PAGES_MAX) return { kind: 'give-up' }
    return decideRetry(failure, {
      attempt: Math.max(1, wish.failures),
      pausesInARow,
      nowMs: clock.now(),
      previousWaitMs: wish.previousWaitMs,
      random: options.random(),
    })
  }

  // The pause itself holds already; its end is waited for by the pacer, with all other workers.
  function refuseLongPause(waitMs: number, reason: string, { failure, notBefore }: Setback): void {
    const message = wordsOf(failure)
    logger.warn({ status: reason, wait_ms: Math.round(waitMs), message }, 'paused')
    // How long a service may be away is the circuit breaker's to say; one that refuses for ever is not away.
    const isEndless = reason === '429' && pausesInARow > PAUSES_IN_A_ROW_MAX
    if (waitMs <= options.maxWaitMs && !isEndless) return
    throw new UnavailableError(
      `the service asks for no request before ${isoInstant(notBefore)} (${reason}: ${message})`,
      notBefore,
    )
  }

  return {
    sent: () => retryBudget.sent(),
    answered() {
      pausesInARow = 0
      trouble = null
    },
    trouble: () => trouble,
    decide(failure, wish, request) {
      const counts = count(failure, wish, request)
      const decision = decisionOf(failure, wish)
      // A 429 is our own haste, not trouble of the service.
      const isRetry =
        counts &&
        (decision.kind === 'retry' || (decision.kind === 'pause-all' && decision.reason !== '429'))
      const waitMs = 'waitMs' in decision ? decision.waitMs : 0
      const at = clock.now()
      wish.previousWaitMs = waitMs
      trouble = wordsOf(failure)
      return { failure, decision, isRetry, at, notBefore: Math.ceil(at + waitMs) }
    },
    async follow(setback, { page }) {
      const { decision, failure, isRetry } = setback
      const words = wordsOf(failure)
      switch (decision.kind) {
        case 'bad-request':
          throw new BadRequestError(messageOf(failure))
        case 'refused':
          throw new RefusedError(decision.status, words)
        case 'unexpected-status':
          throw new UnexpectedStatusError(
            failure.kind === 'status' ? failure.status : 0,
            options.url,
            words,
          )
        case 'give-up':
          throw new UnavailableError(`page ${page} could not be had: ${words}`, null)
        case 'pause-all':
          refuseLongPause(decision.waitMs, decision.reason, setback)
          if (isRetry) retryBudget.spend(words)
          return
        case 'retry':
          if (isRetry) retryBudget.spend(words)
          logger.warn({ page, wait_ms: Math.round(decision.waitMs), reason: words }, 'retry')
          await clock.sleep(decision.waitMs, stop)
          return
      }
    },
  }
}
