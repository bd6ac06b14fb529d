/**
 * Sends billable requests: reserves the price, waits for a permit, records the request, sends it, and records the
 * outcome. It counts the failures of a run, for all workers together, and carries out what the retry policy decides
 * about them. It knows what happened since this attempt at the run began, but nothing about earlier attempts, and no
 * endpoint: the request and the reader of its answer are arguments.
 */

import { UnavailableError } from '../api/errors.ts'
import { WaitTooLongError, type Permit, type RequestOutcome } from '../api/pacer.ts'
import { rateReport } from '../api/retry-after.ts'
import {
  decideRetry,
  healthOf,
  outcomeOf,
  type Attempts,
  type Failure,
} from '../api/retry-policy.ts'
import { chargeIn, errorMessage, isFreeError, parseJson } from '../api/schemas.ts'
import { NoAnswerError, type Answer } from '../api/transport.ts'
import { CREDITS_PER_PAGE, chargeOfNothing } from '../journal/spending.ts'
import { waitEnd } from '../support/clock.ts'
import type { JobtideError } from '../support/errors.ts'
import { newUlid } from '../support/ulid.ts'
import type { Budget } from './budget.ts'
import type { BuyingOptions } from './options.ts'
import {
  UnansweredError,
  endingOf,
  statusAndWords,
  wordsOf,
  type FailedAttempt,
} from './give-up.ts'

export interface PaidRequest {
  readonly batchId: string
  readonly page: number
  readonly path: string
  /** Null for a GET request. */
  readonly body: object | null
  /** The most that it may cost, which a request in doubt counts as. */
  readonly credits: number
  /** Statuses other than 200 that `read` knows. */
  readonly statuses?: readonly number[]
  /** Whether the run continues without its answer after this many tries; absent: its error ends the run. */
  readonly isGivenUp?: (failed: FailedAttempt, tries: number) => boolean
}

/** The fields that all records of a request have, and those of its answer. */
export interface RequestStamp {
  readonly run_id: string
  readonly batch_id: string
  readonly page: number
  readonly request_id: string
  /** The credits in doubt; absent for 10. */
  readonly price?: number
}

export interface AnswerStamp extends RequestStamp {
  readonly requested_at: number
}

/** The record of an answer that is on the disk. */
interface Paid {
  readonly credits_used: number
}

/** Why an answer of a known status is not usable. */
export interface Unusable {
  readonly reason: string
  /** It is another page, or about others. */
  readonly isWrongPage?: true
}

/** Reads and journals an answer of a known status. */
export type ReadAnswer<T> = (answer: Answer, stamp: AnswerStamp) => Promise<T | Unusable>

interface Attempt extends PaidRequest {
  readonly attempts: Attempts
  readonly stamp: RequestStamp
  readonly requestedAt: number
  readonly permit: Permit
  /** On the monotonic clock. */
  readonly sentAt: number
}

/** Counts failures in a row. Requests that were in flight together got the same answer, and count once. */
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

/** The requests of one run. All workers share what it learns about the service's state. */
export class RequestBuyer {
  readonly #runId: string
  readonly #budget: Budget
  readonly #options: BuyingOptions
  readonly #url: string
  /** Whether this attempt at the run ever had a connection. */
  #wasReached = false
  // Times are on the monotonic clock.
  #answeredAt = Number.NEGATIVE_INFINITY
  /** When the first request that failed since the last answer was sent; it may have been in flight when that came. */
  #troubleSince: number | null = null
  /** The message of the last failure since the last answer; null if there was none. */
  #trouble: string | null = null
  readonly #failures = new Streak()
  readonly #pauses = new Streak()
  readonly #unreadable = new Streak()

  constructor(runId: string, budget: Budget, options: BuyingOptions, path: string) {
    this.#runId = runId
    this.#budget = budget
    this.#options = options
    this.#url = `${options.baseUrl}${path}`
  }

  /**
   * Makes as many attempts as the retry policy allows.
   * @throws UnansweredError if only this item gets no answer; BadRequestError when the service refuses the request
   * @throws JobtideError when the run must stop; StorageError when the journal cannot be written
   */
  async buy<T extends Paid>(request: PaidRequest, read: ReadAnswer<T>): Promise<T> {
    const attempts = { attempts: 0, billable: 0, wrongPages: 0, previousWaitMs: 0 }
    for (let tries = 1; ; tries += 1) {
      const result = await this.#tryOnce({ ...request, attempts }, read)
      if ('credits_used' in result) {
        this.#answered()
        return result
      }
      if (request.isGivenUp?.(result, tries) === true)
        throw new UnansweredError(result, this.#endingOf(result))
      await this.#follow(result)
    }
  }

  async #tryOnce<T extends Paid>(
    request: PaidRequest & Pick<Attempt, 'attempts'>,
    read: ReadAnswer<T>,
  ): Promise<T | FailedAttempt> {
    const { stop, abort } = this.#options
    for (;;) {
      const reservation = await this.#budget.reserve(stop)
      let charged = 0
      try {
        const permit = await this.#waitForPermit()
        let outcome: RequestOutcome = 'undecided'
        try {
          if (!reservation.canDispatch()) continue
          const attempt = this.#dispatch(request, permit)
          // From here on the request may be under way: it is in doubt until its answer is on the disk.
          charged = request.credits
          const result = await this.#ask(attempt, read)
          const isBought = 'credits_used' in result
          charged = isBought ? result.credits_used : result.failure.credits
          outcome = isBought ? 'answered' : healthOf(result.failure)
          return result
        } finally {
          permit.release(abort.aborted ? 'undecided' : outcome)
        }
      } finally {
        reservation.settle(charged)
      }
    }
  }

  async #waitForPermit(): Promise<Permit> {
    const { pacer, stop, clock } = this.#options
    try {
      return await pacer.permit(stop)
    } catch (error) {
      if (!(error instanceof WaitTooLongError)) throw error
      const words = this.#trouble === null ? '' : `: ${this.#trouble}`
      // The service ordered nothing: the next command may try at once.
      if (error.isForTrial)
        throw new UnavailableError(`the service gave no usable answer${words}`, null)
      const notBefore = Math.ceil(clock.now() + error.waitMs)
      throw new UnavailableError(
        `the service accepts no request before ${waitEnd(notBefore)}${words}`,
        notBefore,
      )
    }
  }

  /** Records that a request leaves. The record is handed to the operating system, so it survives a killed process. */
  #dispatch(request: PaidRequest & Pick<Attempt, 'attempts'>, permit: Permit): Attempt {
    const { clock, writer } = this.#options
    const { batchId: batch_id, page, credits } = request
    const requestedAt = clock.now()
    const price = credits === CREDITS_PER_PAGE ? {} : { price: credits }
    const request_id = newUlid(requestedAt)
    const stamp = { run_id: this.#runId, batch_id, page, request_id, ...price }
    writer.write({ kind: 'request_sent', at: requestedAt, ...stamp })
    return { ...request, stamp, requestedAt, sentAt: clock.monotonic(), permit }
  }

  async #ask<T extends Paid>(attempt: Attempt, read: ReadAnswer<T>): Promise<T | FailedAttempt> {
    const answer = await this.#send(attempt)
    if (answer instanceof NoAnswerError)
      return this.#fail(attempt, this.#unanswered(attempt, answer))
    const { status } = answer
    this.#learnPace(attempt, answer)
    const isKnown = status === 200 || attempt.statuses?.includes(status) === true
    const requested_at = attempt.requestedAt
    const kept = isKnown ? await read(answer, { ...attempt.stamp, requested_at }) : null
    if (kept !== null && 'credits_used' in kept) return kept
    return this.#fail(attempt, failureOf(answer, kept, attempt.credits))
  }

  async #send({ path, body }: Attempt): Promise<Answer | NoAnswerError> {
    const { transport, abort } = this.#options
    try {
      return await transport.send(path, body, abort)
    } catch (error) {
      if (error instanceof NoAnswerError) return error
      throw error
    }
  }

  #unanswered({ credits }: Attempt, { message, inDoubt, obstacle }: NoAnswerError): Failure {
    const isUnreachable = obstacle !== null && !this.#wasReached
    return {
      outcome: isUnreachable ? 'unreachable' : 'failed',
      status: null,
      headers: {},
      reason: message,
      inDoubt,
      credits: inDoubt ? credits : 0,
      obstacle,
      isWrongPage: false,
    }
  }

  // Retry-After wins over the counters. If a page used up the plan's requests, the service named a time, which is kept
  // across restarts. An order to wait is recorded with its own time; see #fail().
  #learnPace({ permit }: Attempt, { status, headers, receivedAt }: Answer): void {
    if (headers['retry-after'] !== undefined) return
    const report = rateReport(headers, receivedAt)
    permit.learn(report)
    if (status !== 200 || report.remaining !== 0 || report.resetMs === null) return
    const at = this.#options.clock.now()
    this.#notePause(at, Math.ceil(at + report.resetMs), 'requests of the plan used up')
  }

  // Decides before anything is awaited, so that a pause holds from the moment when its order was read, even while it is
  // being recorded. One fsync puts the failure and the pause on the disk.
  async #fail(attempt: Attempt, failure: Failure): Promise<FailedAttempt> {
    const { writer, pacer } = this.#options
    const { status, inDoubt, credits } = failure
    const failed = this.#decide(attempt, failure)
    const { decision, at, notBefore } = failed
    if (decision.kind === 'pause-all') {
      pacer.pause(decision.waitMs)
      const about = decision.why === 'mistaken-wait' ? ', a wait of over 24 h' : ''
      this.#notePause(at, notBefore, `${status}${about}`)
    }
    await writer.append({
      kind: 'request_failed',
      ...attempt.stamp,
      requested_at: attempt.requestedAt,
      at,
      status,
      error: wordsOf(failure),
      in_doubt: inDoubt,
      ...(inDoubt && credits !== attempt.credits ? { credits_named: credits } : {}),
    })
    return failed
  }

  #decide(request: Attempt, failure: Failure): FailedAttempt {
    const { clock, maxWaitMs, random } = this.#options
    const { attempts } = request
    if (failure.outcome === 'refused') this.#answered()
    else this.#count(request, failure)
    const at = clock.now()
    const decision = decideRetry(failure, {
      ...attempts,
      unreadableInARow: this.#unreadable.count,
      pausesInARow: this.#pauses.count,
      outageMs: clock.monotonic() - (this.#troubleSince ?? clock.monotonic()),
      failuresInARow: this.#failures.count,
      maxWaitMs,
      nowMs: at,
      random: random(),
    })
    attempts.previousWaitMs = decision.waitMs
    return { request, failure, decision, at, notBefore: Math.ceil(at + decision.waitMs) }
  }

  /** Returns when the page may be requested again. @throws BadRequestError to end the batch, others to end the run */
  async #follow(failed: FailedAttempt): Promise<void> {
    const { clock, logger, stop } = this.#options
    const { failure, request } = failed
    const { kind, waitMs, why } = failed.decision
    const wait = { wait_ms: Math.round(waitMs) }
    if (kind === 'pause-all')
      logger.warn({ status: failure.status, ...wait, message: wordsOf(failure) }, 'paused')
    if (kind === 'refused' || why !== null) throw this.#endingOf(failed)
    // The pacer makes all workers wait for the end of a pause.
    if (kind === 'pause-all') return
    logger.warn({ page: request.page, ...wait, reason: statusAndWords(failure) }, 'retry')
    await clock.sleep(waitMs, stop).catch((error: unknown) => {
      // Else the log would promise a wait of minutes, although the run ended meanwhile.
      logger.warn({ page: request.page, reason: 'the run ended first' }, 'retry_dropped')
      throw error
    })
  }

  #endingOf(failed: FailedAttempt): JobtideError {
    const others = this.#answeredAt > Number.NEGATIVE_INFINITY
    return endingOf(failed, this.#url, others, this.#options.maxWaitMs)
  }

  // A failed trial says nothing about its page, with two exceptions: an unreadable answer, because more of them would
  // be paid for, and a service that was never reached, where there is nothing to probe.
  #count({ attempts, sentAt, permit }: Attempt, failure: Failure): void {
    const { outcome, inDoubt, isWrongPage } = failure
    const now = this.#options.clock.monotonic()
    this.#wasReached ||= outcome !== 'unreachable'
    this.#troubleSince ??= Math.max(sentAt, this.#answeredAt)
    this.#trouble = wordsOf(failure)
    this.#failures.add(sentAt, now)
    if (outcome === 'order') return this.#pauses.add(sentAt, now)
    // A trial that may be billed costs as much as any request.
    if (inDoubt) attempts.billable += 1
    if (outcome === 'unreadable') this.#unreadable.add(sentAt, now)
    if (isWrongPage) attempts.wrongPages += 1
    if (outcome !== 'failed' || !permit.isHalfOpen) attempts.attempts += 1
  }

  #answered(): void {
    this.#wasReached = true
    this.#answeredAt = this.#options.clock.monotonic()
    this.#troubleSince = null
    this.#trouble = null
    for (const streak of [this.#failures, this.#pauses, this.#unreadable]) streak.count = 0
  }

  #notePause(at: number, notBefore: number, reason: string): void {
    const { clock, writer } = this.#options
    const uptime = clock.uptime?.() ?? null
    const pause = { run_id: this.#runId, at, not_before: notBefore, reason }
    writer.write({ kind: 'paused', ...pause, ...(uptime === null ? {} : { uptime }) })
  }
}

/** @param unusable why it cannot be used although its status is known @param price the most that it may cost */
function failureOf({ status, headers, body }: Answer, unusable: Unusable | null, price: number) {
  const json = parseJson(body)
  const isFree = status === 200 && isFreeError(json)
  const outcome = outcomeOf(isFree ? 500 : status, headers)
  const reason = isFree ? `no success: ${errorMessage(body)}` : errorMessage(body)
  const named = chargeOfNothing(chargeIn(json), price).credits
  // A page that cannot be read was probably charged, and may name anything as its price.
  const credits = outcome === 'unreadable' ? Math.max(named, price) : named
  return {
    outcome,
    status,
    headers,
    reason: status === 200 && !isFree && unusable !== null ? unusable.reason : reason,
    inDoubt: outcome === 'unreadable' || named > 0,
    credits,
    obstacle: null,
    isWrongPage: unusable?.isWrongPage === true,
  } satisfies Failure
}
