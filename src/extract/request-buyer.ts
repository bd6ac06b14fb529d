/**
 * Sends billable requests: reserves the price, waits for a permit, records the request, sends it, and records the
 * outcome. retries.ts decides what follows a failed request. It knows no endpoint: the request and the reader of its
 * answer are arguments.
 */

import { UnavailableError } from '../api/errors.ts'
import { WaitTooLongError, type Permit, type RequestOutcome } from '../api/pacer.ts'
import { rateReport } from '../api/retry-after.ts'
import { isInDoubt, type Failure } from '../api/retry-policy.ts'
import { chargeIn, errorMessage } from '../api/schemas.ts'
import { NoAnswerError, type Answer } from '../api/transport.ts'
import { CREDITS_PER_PAGE, chargeOfNothing } from '../journal/spending.ts'
import { isoInstant } from '../support/clock.ts'
import { newUlid } from '../support/ulid.ts'
import type { Budget } from './budget.ts'
import type { BuyingOptions } from './options.ts'
import {
  Retries,
  UnansweredError,
  wordsOf,
  type FailedAttempt,
  type RequestOnItsWay,
} from './retries.ts'

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

export interface SentRequest {
  readonly requestId: string
  readonly requestedAt: number
}

/** The record of an answer that is on the disk. */
interface Paid {
  readonly credits_used: number
}

/** Reads and journals an answer of a known status, or returns why it is not usable. */
export type ReadAnswer<T> = (answer: Answer, sent: SentRequest) => Promise<T> | Failure

interface Failed extends FailedAttempt {
  /** The credits that it counts as. */
  readonly credits: number
}

interface Attempt extends PaidRequest, SentRequest, RequestOnItsWay {
  readonly permit: Permit
}

/** The requests of one run. All workers share what it learns about the service's state. */
export class RequestBuyer {
  readonly #runId: string
  readonly #budget: Budget
  readonly #options: BuyingOptions
  readonly #retries: Retries

  constructor(runId: string, budget: Budget, options: BuyingOptions, path: string) {
    this.#runId = runId
    this.#budget = budget
    this.#options = options
    this.#retries = new Retries(options, `${options.baseUrl}${path}`)
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
        this.#retries.answered()
        return result
      }
      if (request.isGivenUp?.(result, tries) === true)
        throw new UnansweredError(result, this.#retries.endingOf(result))
      await this.#retries.follow(result)
    }
  }

  async #tryOnce<T extends Paid>(
    request: PaidRequest & Pick<Attempt, 'attempts'>,
    read: ReadAnswer<T>,
  ): Promise<T | Failed> {
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
          charged = isBought ? result.credits_used : result.credits
          outcome = isBought ? 'answered' : result.health
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
      const { trouble } = this.#retries
      const words = trouble === null ? '' : `: ${trouble}`
      // The service ordered nothing: the next command may try at once.
      if (error.isForTrial)
        throw new UnavailableError(`the service gave no usable answer${words}`, null)
      const notBefore = Math.ceil(clock.now() + error.waitMs)
      throw new UnavailableError(
        `the service accepts no request before ${isoInstant(notBefore)}${words}`,
        notBefore,
      )
    }
  }

  /** Records that a request leaves. The record is handed to the operating system, so it survives a killed process. */
  #dispatch(request: PaidRequest & Pick<Attempt, 'attempts'>, permit: Permit): Attempt {
    const { clock, writer } = this.#options
    const requestedAt = clock.now()
    const { isHalfOpen } = permit
    const sent = { requestedAt, requestId: newUlid(requestedAt), sentAt: clock.monotonic() }
    const attempt = { ...request, ...sent, permit, isHalfOpen }
    writer.write({ kind: 'request_sent', at: requestedAt, ...this.#about(attempt) })
    return attempt
  }

  async #ask<T extends Paid>(attempt: Attempt, read: ReadAnswer<T>): Promise<T | Failed> {
    const answer = await this.#send(attempt)
    if (!('body' in answer)) return this.#fail(attempt, answer, null)
    const { status, headers, body } = answer
    this.#learnPace(attempt, answer)
    if (status !== 200 && attempt.statuses?.includes(status) !== true) {
      const failure: Failure = { kind: 'status', status, headers, reason: errorMessage(body) }
      return this.#fail(attempt, failure, answer)
    }
    const kept = await read(answer, attempt)
    if ('credits_used' in kept) return kept
    const failure: Failure = kept.kind === 'not-a-page' ? { ...kept, headers } : kept
    return this.#fail(attempt, failure, answer)
  }

  async #send({ path, body }: Attempt): Promise<Answer | Failure> {
    const { transport, abort } = this.#options
    try {
      return await transport.send(path, body, abort)
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      const { message, inDoubt, obstacle } = error
      return { kind: 'no-answer', reason: message, inDoubt, obstacle }
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
  async #fail(attempt: Attempt, seen: Failure, answer: Answer | null): Promise<Failed> {
    const { writer, pacer } = this.#options
    const named =
      answer === null ? 0 : chargeOfNothing(chargeIn(answer.body), attempt.credits).credits
    const failure = seen.kind === 'status' && named > 0 ? { ...seen, isCharged: true } : seen
    const inDoubt = isInDoubt(failure)
    // A page that cannot be read may name anything as its price.
    const credits = isInDoubt(seen) ? Math.max(named, attempt.credits) : named
    const failed = this.#retries.decide(failure, attempt)
    const { decision, at, notBefore } = failed
    if (decision.kind === 'pause-all') {
      pacer.pause(decision.waitMs)
      const about = decision.giveUp === 'mistaken-wait' ? ', a wait of over 24 h' : ''
      this.#notePause(at, notBefore, `${decision.status}${about}`)
    }
    await writer.append({
      kind: 'request_failed',
      ...this.#about(attempt),
      requested_at: attempt.requestedAt,
      at,
      status: answer && answer.status,
      error: wordsOf(failure),
      in_doubt: inDoubt,
      ...(inDoubt && credits !== attempt.credits ? { credits_named: credits } : {}),
    })
    return { ...failed, credits }
  }

  #about({ batchId, page, requestId, credits }: Attempt) {
    const price = priceOf({ credits })
    return { run_id: this.#runId, batch_id: batchId, page, request_id: requestId, ...price }
  }

  #notePause(at: number, notBefore: number, reason: string): void {
    const { clock, writer } = this.#options
    const uptime = clock.uptime?.() ?? null
    const pause = { run_id: this.#runId, at, not_before: notBefore, reason }
    writer.write({ kind: 'paused', ...pause, ...(uptime === null ? {} : { uptime }) })
  }
}

export function priceOf({ credits }: Pick<PaidRequest, 'credits'>): { readonly price?: number } {
  return credits === CREDITS_PER_PAGE ? {} : { price: credits }
}
