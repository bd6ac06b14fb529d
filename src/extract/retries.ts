/**
 * What follows a request that brought no page, for all workers of a run together. The decision itself is the pure retry
 * policy's; it gets to know here what happened since this attempt at the run began, and nothing of earlier attempts.
 */

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
import {
  errorOf,
  isInDoubt,
  outcomeOf,
  wordsOf,
  type FailedAttempt,
  type PageAttempts,
} from './failed-attempt.ts'

/** What retrying needs of the world. */
export interface RetryOptions {
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

/** The request that failed. */
export interface FailedRequest {
  /** On the monotonic clock. */
  readonly sentAt: number
  /** It alone was to find out whether the service answers again. */
  readonly isHalfOpen: boolean
}

// A service that answers with another page than the asked one twice will not do better the third time.
const WRONG_PAGES_MAX = 2

/** The failures of one attempt at a run. Times are on the monotonic clock. */
export class Retries {
  readonly #options: RetryOptions
  /** Whether there was a connection, whatever came of it. */
  #wasReached = false
  #answeredAt = Number.NEGATIVE_INFINITY
  /** The first request that failed since was sent then, or was on its way when another one was answered. */
  #troubleSince: number | null = null
  /** Failures since, one after another: those of requests that were in flight together count once. */
  #failuresInARow = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #trouble: string | null = null
  #pausesInARow = 0
  #pausedAt = Number.NEGATIVE_INFINITY
  #unreadableInARow = 0
  #unreadableAt = Number.NEGATIVE_INFINITY

  constructor(options: RetryOptions) {
    this.#options = options
  }

  /** What the last failure said, when nothing was answered since; null when all is well. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** A page came. */
  answered(): void {
    this.#wasReached = true
    this.#answeredAt = this.#options.clock.monotonic()
    this.#troubleSince = null
    this.#failuresInARow = 0
    this.#trouble = null
    this.#pausesInARow = 0
    this.#unreadableInARow = 0
  }

  /** Decides what follows. Nothing is awaited, so that an order to wait holds from the moment it was read. */
  decide(failure: Failure, attempts: PageAttempts, request: FailedRequest): FailedAttempt {
    // A request that never left says nothing of the service.
    const isNever = isNeverReached(failure, { wasReached: this.#wasReached })
    const outcome = isNever ? 'undecided' : outcomeOf(failure)
    if (outcome === 'answered') this.answered()
    else this.#count(failure, attempts, request)
    const decision = this.#decisionOf(failure, attempts)
    const waitMs = 'waitMs' in decision ? decision.waitMs : 0
    const at = this.#options.clock.now()
    attempts.previousWaitMs = waitMs
    if (outcome !== 'answered') this.#trouble = wordsOf(failure)
    return { failure, decision, outcome, at, notBefore: Math.ceil(at + waitMs) }
  }

  /**
   * Does what was decided, and returns when the page may be asked for again.
   * @throws BadRequestError, RefusedError, PaymentRequiredError, UnexpectedStatusError, UnavailableError, ConfigError when
   *   it may not
   */
  async follow(failed: FailedAttempt, attempts: PageAttempts): Promise<void> {
    const { clock, logger, stop } = this.#options
    const { decision, failure } = failed
    const waitMs = 'waitMs' in decision ? Math.round(decision.waitMs) : 0
    const reason = wordsOf(failure)
    if (decision.kind === 'pause-all') {
      logger.warn({ status: decision.status, wait_ms: waitMs, message: reason }, 'paused')
    }
    const error = errorOf(failed, attempts, this.#options)
    if (error !== null) throw error
    // The end of a pause is waited for by the pacer, with all other workers.
    if (decision.kind !== 'retry') return
    logger.warn({ page: attempts.page, wait_ms: waitMs, reason }, 'retry')
    await clock.sleep(decision.waitMs, stop)
  }

  // The failure of a half-open probe says nothing of its page; an answer that cannot be read does, and more of them would
  // be paid for; and before the service was reached there is nothing to probe. Requests that were in flight together get
  // the same order, or the same rubbish: they count once.
  #count(failure: Failure, attempts: PageAttempts, { sentAt, isHalfOpen }: FailedRequest): void {
    const now = this.#options.clock.monotonic()
    const isNever = isNeverReached(failure, { wasReached: this.#wasReached })
    this.#wasReached ||= !isNever
    this.#troubleSince ??= Math.max(sentAt, this.#answeredAt)
    if (sentAt >= this.#failedAt) {
      this.#failuresInARow += 1
      this.#failedAt = now
    }
    if (isOrderToWait(failure)) {
      if (sentAt < this.#pausedAt) return
      this.#pausesInARow += 1
      this.#pausedAt = now
      return
    }
    if (isUnreadable(failure) && sentAt >= this.#unreadableAt) {
      this.#unreadableInARow += 1
      this.#unreadableAt = now
    }
    if (isHalfOpen && !isUnreadable(failure) && !isNever) return
    attempts.failures += 1
    if (isInDoubt(failure)) attempts.billable += 1
  }

  #decisionOf(failure: Failure, attempts: PageAttempts): RetryDecision {
    if (attempts.wrongPages >= WRONG_PAGES_MAX) return { kind: 'give-up', why: 'unreadable' }
    const { clock, maxWaitMs, random } = this.#options
    return decideRetry(failure, {
      attempts: attempts.failures,
      billable: attempts.billable,
      unreadableInARow: this.#unreadableInARow,
      pausesInARow: this.#pausesInARow,
      outageMs: clock.monotonic() - (this.#troubleSince ?? clock.monotonic()),
      failuresInARow: this.#failuresInARow,
      wasReached: this.#wasReached,
      maxWaitMs,
      nowMs: clock.now(),
      previousWaitMs: attempts.previousWaitMs,
      random: random(),
    })
  }
}
