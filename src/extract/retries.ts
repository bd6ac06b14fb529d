/**
 * Handles requests that brought no page, for all workers of a run together. The pure retry policy makes the decision,
 * except for wrong pages; it learns here what happened since this attempt at the run began, but nothing of earlier
 * attempts.
 */

import {
  decideRetry,
  isNeverReached,
  isOrderToWait,
  isUnreadable,
  type Failure,
  type RetryDecision,
} from '../api/retry-policy.ts'
import {
  errorOf,
  isInDoubt,
  outcomeOf,
  wordsOf,
  type FailedAttempt,
  type PageAttempts,
} from './failed-attempt.ts'
import type { JobtideError } from '../support/errors.ts'
import type { BuyingOptions } from './options.ts'

export interface FailedRequest {
  /** On the monotonic clock. */
  readonly sentAt: number
  /** It alone was to find out whether the service answers again. */
  readonly isHalfOpen: boolean
}

// A service that answers with another page than the asked one twice will not do better the third time.
const WRONG_PAGES_MAX = 2

/** Failures in a row. Requests that were in flight together got the same order, or the same rubbish: they count once. */
class Streak {
  count = 0
  #lastAt = Number.NEGATIVE_INFINITY

  /** Counts the failure of a request sent at `sentAt`, unless it was in flight when the last one was counted. */
  add(sentAt: number, now: number): void {
    if (sentAt < this.#lastAt) return
    this.count += 1
    this.#lastAt = now
  }
}

/** The failures of one attempt at a run. Times are on the monotonic clock. */
export class Retries {
  readonly #options: BuyingOptions
  readonly #url: string
  /** Whether there was a connection, whatever came of it. */
  #wasReached = false
  #answeredAt = Number.NEGATIVE_INFINITY
  /** The first request that failed since was sent then, or was on its way when another one was answered. */
  #troubleSince: number | null = null
  #trouble: string | null = null
  readonly #failures = new Streak()
  readonly #pauses = new Streak()
  readonly #unreadable = new Streak()

  /** @param url where requests go, for messages */
  constructor(options: BuyingOptions, url: string) {
    this.#options = options
    this.#url = url
  }

  /** The message of the last failure since the last answer; null when all is well. */
  get trouble(): string | null {
    return this.#trouble
  }

  answered(): void {
    this.#wasReached = true
    this.#answeredAt = this.#options.clock.monotonic()
    this.#troubleSince = null
    this.#trouble = null
    for (const streak of [this.#failures, this.#pauses, this.#unreadable]) streak.count = 0
  }

  /** Decides what follows. Nothing is awaited, so that an order to wait holds from the moment it was read. */
  decide(failure: Failure, attempts: PageAttempts, request: FailedRequest): FailedAttempt {
    // A request that never left says nothing of the service.
    const isNever = isNeverReached(failure, { wasReached: this.#wasReached })
    const outcome = isNever ? 'undecided' : outcomeOf(failure)
    if (outcome === 'answered') this.answered()
    else this.#count(failure, attempts, request, isNever)
    const decision = this.#decisionOf(failure, attempts)
    const waitMs = 'waitMs' in decision ? decision.waitMs : 0
    const at = this.#options.clock.now()
    attempts.previousWaitMs = waitMs
    return { failure, decision, outcome, at, notBefore: Math.ceil(at + waitMs) }
  }

  /**
   * Carries out the decision, and returns when the page may be requested again.
   * @throws JobtideError when it may not; BadRequestError when only its batch must end
   */
  async follow(failed: FailedAttempt, attempts: PageAttempts): Promise<void> {
    const { clock, logger, maxWaitMs, stop } = this.#options
    const { decision, failure } = failed
    const waitMs = 'waitMs' in decision ? Math.round(decision.waitMs) : 0
    const reason = wordsOf(failure)
    if (decision.kind === 'pause-all') {
      logger.warn({ status: decision.status, wait_ms: waitMs, message: reason }, 'paused')
    }
    const error = errorOf(failed, attempts, this.#url, maxWaitMs)
    if (error !== null) throw error
    // The end of a pause is waited for by the pacer, with all other workers.
    if (decision.kind !== 'retry') return
    logger.warn({ page: attempts.page, wait_ms: waitMs, reason }, 'retry')
    await clock.sleep(decision.waitMs, stop)
  }

  /** The error that a run ends with in which nothing else is answered. */
  endingOf(failed: FailedAttempt, attempts: PageAttempts): JobtideError {
    const ended: FailedAttempt =
      failed.decision.kind === 'retry'
        ? { ...failed, decision: { kind: 'give-up', why: 'page' } }
        : failed
    const ending = errorOf(ended, attempts, this.#url, this.#options.maxWaitMs)
    if (ending === null) throw new TypeError(`a run goes on after ${ended.decision.kind}`)
    return ending
  }

  // The failure of a trial says nothing of its page; an answer that cannot be read does, and more of them would
  // be paid for; and before the service was reached there is nothing to probe.
  #count(
    failure: Failure,
    attempts: PageAttempts,
    { sentAt, isHalfOpen }: FailedRequest,
    isNever: boolean,
  ): void {
    const now = this.#options.clock.monotonic()
    this.#wasReached ||= !isNever
    this.#troubleSince ??= Math.max(sentAt, this.#answeredAt)
    this.#trouble = wordsOf(failure)
    this.#failures.add(sentAt, now)
    if (isOrderToWait(failure)) return this.#pauses.add(sentAt, now)
    // A trial that may be billed costs as much as any request.
    if (isInDoubt(failure)) attempts.billable += 1
    if (isUnreadable(failure)) this.#unreadable.add(sentAt, now)
    else if (isHalfOpen && !isNever) return
    attempts.failures += 1
  }

  #decisionOf(failure: Failure, attempts: PageAttempts): RetryDecision {
    if (attempts.wrongPages >= WRONG_PAGES_MAX) return { kind: 'give-up', why: 'unreadable' }
    const { clock, maxWaitMs, random } = this.#options
    return decideRetry(failure, {
      attempts: attempts.failures,
      billable: attempts.billable,
      unreadableInARow: this.#unreadable.count,
      pausesInARow: this.#pauses.count,
      outageMs: clock.monotonic() - (this.#troubleSince ?? clock.monotonic()),
      failuresInARow: this.#failures.count,
      wasReached: this.#wasReached,
      maxWaitMs,
      nowMs: clock.now(),
      previousWaitMs: attempts.previousWaitMs,
      random: random(),
    })
  }
}
