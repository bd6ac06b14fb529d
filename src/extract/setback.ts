/**
 * What follows a request that brought no page, for all workers of a run together: pauses in a row, retries, and the
 * errors that end a batch or the run. The decision itself is the pure retry policy's; it gets to know here what happened
 * since this attempt at the run began, and nothing of earlier attempts.
 */

import {
  BadRequestError,
  PaymentRequiredError,
  RefusedError,
  UnexpectedStatusError,
} from '../api/errors.ts'
import type { RequestOutcome } from '../api/circuit-breaker.ts'
import {
  decideRetry,
  isNeverReached,
  isOrderToWait,
  isUnreadable,
  type Failure,
  type RetryDecision,
} from '../api/retry-policy.ts'
import type { Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { isInDoubt, messageOf, outcomeOf, wordsOf } from './failure.ts'
import { giveUpError } from './give-up.ts'

/** How asking for one page went so far. */
export interface Wish {
  readonly page: number
  readonly batchId: string
  /** Attempts that failed; see RetryState.attempts. */
  failures: number
  /** Of these, those that may have been billed. */
  billable: number
  /** Answers that were another page than the asked one. */
  wrongPages: number
  /** The last wait, in milliseconds. */
  previousWaitMs: number
}

/** A page that was not asked for yet. */
export function newWish(batchId: string, page: number): Wish {
  return { batchId, page, failures: 0, billable: 0, wrongPages: 0, previousWaitMs: 0 }
}

/** The request that failed. */
export interface FailedRequest {
  /** On the monotonic clock. */
  readonly sentAt: number
  /** It alone was to find out whether the service answers again. */
  readonly isHalfOpen: boolean
}

/** A request that brought no page, and what follows from it. */
export interface Setback {
  readonly failure: Failure
  readonly decision: RetryDecision
  /** What it says of the service's health. */
  readonly outcome: RequestOutcome
  /** When it happened and when the wait ends that was decided, milliseconds since 1970 UTC. */
  readonly at: number
  readonly notBefore: number
}

/** What setbacks need of the world. */
export interface SetbackOptions {
  readonly clock: Clock
  /** A random number in [0, 1), for jitter. */
  readonly random: () => number
  readonly logger: Logger
  /** Where requests go, for messages. */
  readonly url: string
  /** The longest wait, in milliseconds: that the service may order, and for an answer at all. */
  readonly maxWaitMs: number
  /** Ends waits. */
  readonly stop: AbortSignal
}

/** Deals with the setbacks of one attempt at a run. */
export interface Setbacks {
  /** A page came. */
  answered(): void
  /** What the last failure said, when nothing was answered since; null when all is well. */
  trouble(): string | null
  /** Decides what follows; nothing is awaited, so that an order to wait can hold from the moment it was read. */
  decide(failure: Failure, wish: Wish, request: FailedRequest): Setback
  /**
   * Does what was decided, and returns when the page may be asked for again.
   * @throws BadRequestError, RefusedError, PaymentRequiredError, UnexpectedStatusError, UnavailableError, ConfigError when it may
   *   not
   */
  follow(setback: Setback, wish: Wish): Promise<void>
}

// A service that answers with another page than the asked one twice will not do better the third time.
const WRONG_PAGES_MAX = 2

/** For one attempt at a run. */
export function createSetbacks(options: SetbackOptions): Setbacks {
  const { clock, logger, stop, maxWaitMs } = options
  /** Whether there was a connection, whatever came of it. */
  let wasReached = false
  /** When something was answered last, on the monotonic clock. */
  let answeredAt = Number.NEGATIVE_INFINITY
  /** The first request that failed since was sent then, or was on its way when something else was answered. */
  let troubleSince: number | null = null
  /** Failures since, one after another: those of requests that were in flight together count once. */
  let failuresInARow = 0
  let failedAt = Number.NEGATIVE_INFINITY
  let trouble: string | null = null
  let pausesInARow = 0
  /** When the last pause began, on the monotonic clock. */
  let pausedAt = Number.NEGATIVE_INFINITY
  let unreadableInARow = 0
  let unreadableAt = Number.NEGATIVE_INFINITY

  function answered(): void {
    wasReached = true
    answeredAt = clock.monotonic()
    troubleSince = null
    failuresInARow = 0
    trouble = null
    pausesInARow = 0
    unreadableInARow = 0
  }

  // The failure of a probe says nothing of its page; an answer that cannot be read does, and more of them would be paid
  // for; and before the service was reached there is nothing to probe. Requests that were in flight together get the same
  // order, or the same rubbish: they count once.
  function count(failure: Failure, wish: Wish, { sentAt, isHalfOpen }: FailedRequest): void {
    const isNever = isNeverReached(failure, { wasReached })
    wasReached ||= !isNever
    troubleSince ??= Math.max(sentAt, answeredAt)
    if (sentAt >= failedAt) {
      failuresInARow += 1
      failedAt = clock.monotonic()
    }
    if (isOrderToWait(failure)) {
      if (sentAt < pausedAt) return
      pausesInARow += 1
      pausedAt = clock.monotonic()
      return
    }
    if (isUnreadable(failure) && sentAt >= unreadableAt) {
      unreadableInARow += 1
      unreadableAt = clock.monotonic()
    }
    if (isHalfOpen && !isUnreadable(failure) && !isNever) return
    wish.failures += 1
    if (isInDoubt(failure)) wish.billable += 1
  }

  function decisionOf(failure: Failure, wish: Wish): RetryDecision {
    if (wish.wrongPages >= WRONG_PAGES_MAX) return { kind: 'give-up', why: 'unreadable' }
    return decideRetry(failure, {
      attempts: wish.failures,
      billable: wish.billable,
      unreadableInARow,
      pausesInARow,
      outageMs: clock.monotonic() - (troubleSince ?? clock.monotonic()),
      failuresInARow,
      wasReached,
      maxWaitMs,
      nowMs: clock.now(),
      previousWaitMs: wish.previousWaitMs,
      random: options.random(),
    })
  }

  return {
    answered,
    trouble: () => trouble,
    decide(failure, wish, request) {
      // A request that never left says nothing of the service.
      const outcome = isNeverReached(failure, { wasReached }) ? 'undecided' : outcomeOf(failure)
      if (outcome === 'answered') answered()
      else count(failure, wish, request)
      const decision = decisionOf(failure, wish)
      const waitMs = 'waitMs' in decision ? decision.waitMs : 0
      const at = clock.now()
      wish.previousWaitMs = waitMs
      if (outcome !== 'answered') trouble = wordsOf(failure)
      return { failure, decision, outcome, at, notBefore: Math.ceil(at + waitMs) }
    },
    async follow(setback, wish) {
      const { decision, failure } = setback
      const words = wordsOf(failure)
      switch (decision.kind) {
        case 'bad-request':
          throw new BadRequestError(messageOf(failure))
        case 'refused':
          throw new RefusedError(decision.status, words)
        case 'payment-required':
          throw new PaymentRequiredError(words)
        case 'unexpected-status':
          throw new UnexpectedStatusError(
            failure.kind === 'status' ? failure.status : 0,
            options.url,
            words,
          )
        case 'give-up':
          throw giveUpError(decision.why, { wish, maxWaitMs, ...setback })
        case 'pause-all': {
          const { status, waitMs } = decision
          logger.warn({ status, wait_ms: Math.round(waitMs), message: words }, 'paused')
          if (decision.giveUp !== null)
            throw giveUpError(decision.giveUp, { wish, maxWaitMs, ...setback })
          // The pause itself holds already; its end is waited for by the pacer, with all other workers.
          return
        }
        case 'retry':
          logger.warn(
            { page: wish.page, wait_ms: Math.round(decision.waitMs), reason: words },
            'retry',
          )
          await clock.sleep(decision.waitMs, stop)
          return
      }
    },
  }
}
