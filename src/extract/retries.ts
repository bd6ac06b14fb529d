/**
 * Counts the failed requests of a run, for all workers together, and carries out what the retry policy decides about
 * them. It knows what happened since this attempt at the run began, but nothing about earlier attempts.
 */

import { UnavailableError, refusalOf, unreachableError } from '../api/errors.ts'
import type { RequestOutcome } from '../api/pacer.ts'
import { waitWanted } from '../api/retry-after.ts'
import {
  decideRetry,
  healthOf,
  isInDoubt,
  outcomeOf,
  type Attempts,
  type Failure,
  type GiveUpReason,
  type Outcome,
  type RetryDecision,
} from '../api/retry-policy.ts'
import { shortened } from '../api/schemas.ts'
import { isoInstant } from '../support/clock.ts'
import { JobtideError, type ErrorDetails } from '../support/errors.ts'
import { MINUTE, SECOND } from '../support/units.ts'
import type { BuyingOptions, ExtractOptions } from './options.ts'

export interface RequestOnItsWay {
  readonly batchId: string
  readonly page: number
  readonly attempts: Attempts
  /** On the monotonic clock. */
  readonly sentAt: number
  /** Whether it is the single request that tests whether the service answers again. */
  readonly isHalfOpen: boolean
}

export interface FailedAttempt {
  readonly request: RequestOnItsWay
  readonly failure: Failure
  readonly decision: RetryDecision
  readonly health: RequestOutcome
  /** When it happened, and when the wait that was decided ends, in milliseconds since 1970 UTC. */
  readonly at: number
  readonly notBefore: number
}

/** The cause in the words of the service or the network, shortened. */
export function wordsOf(failure: Failure): string {
  return shortened(failure.reason)
}

// Without the status, "ok" from a 201 explains nothing.
function statusAndWords(failure: Failure): string {
  const words = wordsOf(failure)
  if (failure.kind !== 'status') return words
  return `${failure.statusSent ?? failure.status}: ${words}`
}

/** One item gets no answer: a run of `kind: collect` continues without it, unless nothing else is answered. */
export class UnansweredError extends JobtideError {
  readonly reason: string
  /** Whether it may soon be answered: the error is temporary and free. */
  readonly isPassing: boolean

  constructor({ failure, decision }: FailedAttempt, ending: JobtideError) {
    super(ending.exitCode, ending.message, { cause: ending })
    this.reason = statusAndWords(failure)
    this.isPassing = decision.kind !== 'refused' && outcomeOf(failure, true) !== 'unreadable'
  }
}

/** Waits until a time that an earlier run was asked to. @throws UnavailableError if that is too long */
export function respectStoredRetryAfter(
  options: Pick<ExtractOptions, 'notBefore' | 'clock' | 'maxWaitMs' | 'pacer' | 'logger'>,
): void {
  const { notBefore, clock, maxWaitMs, pacer, logger } = options
  const waitMs = notBefore - clock.now()
  if (waitMs <= 0) return
  const time = isoInstant(notBefore)
  if (waitMs > maxWaitMs) {
    throw new UnavailableError(`the service asked for no request before ${time}`, notBefore, {
      hint: `Run the same command again after ${time}: it continues where it stopped. If that time is a mistake, add --forget-pause. \`jobtide doctor\` says why the service named it.`,
      context: { not_before: time },
    })
  }
  logger.warn({ wait_ms: Math.round(waitMs), not_before: time }, 'waiting')
  pacer.pause(waitMs)
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

/** The failures of one attempt at a run. Times are on the monotonic clock. */
export class Retries {
  readonly #options: BuyingOptions
  readonly #url: string
  #wasReached = false
  #answeredAt = Number.NEGATIVE_INFINITY
  /**
   * When the first request that failed since the last answer was sent, on the monotonic clock; it may have been in
   * flight when that answer came.
   */
  #troubleSince: number | null = null
  #trouble: string | null = null
  readonly #failures = new Streak()
  readonly #pauses = new Streak()
  readonly #unreadable = new Streak()

  constructor(options: BuyingOptions, url: string) {
    this.#options = options
    this.#url = url
  }

  /** The message of the last failure since the last answer; null if there was none. */
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

  /** Decides what follows. Nothing is awaited, so that an order to wait holds from the moment when it was read. */
  decide(failure: Failure, request: RequestOnItsWay): FailedAttempt {
    const { clock, maxWaitMs, random } = this.#options
    const { attempts } = request
    const outcome = outcomeOf(failure, this.#wasReached)
    if (outcome === 'refused') this.answered()
    else this.#count(failure, outcome, request)
    const decision = decideRetry(failure, {
      ...attempts,
      unreadableInARow: this.#unreadable.count,
      pausesInARow: this.#pauses.count,
      outageMs: clock.monotonic() - (this.#troubleSince ?? clock.monotonic()),
      failuresInARow: this.#failures.count,
      wasReached: this.#wasReached,
      maxWaitMs,
      nowMs: clock.now(),
      random: random(),
    })
    const at = clock.now()
    attempts.previousWaitMs = waitOf(decision)
    const notBefore = Math.ceil(at + waitOf(decision))
    return { request, failure, decision, health: healthOf(failure, outcome), at, notBefore }
  }

  /** Returns when the page may be requested again. @throws BadRequestError to end the batch, others to end the run */
  async follow(failed: FailedAttempt): Promise<void> {
    const { clock, logger, stop } = this.#options
    const { decision, failure, request } = failed
    const wait = { wait_ms: Math.round(waitOf(decision)) }
    if (decision.kind === 'pause-all') {
      logger.warn({ status: decision.status, ...wait, message: wordsOf(failure) }, 'paused')
      // The pacer makes all workers wait for its end.
      if (decision.giveUp === null) return
    }
    if (decision.kind !== 'retry') throw this.endingOf(failed)
    logger.warn({ page: request.page, ...wait, reason: statusAndWords(failure) }, 'retry')
    await clock.sleep(decision.waitMs, stop)
  }

  /** The error that ends the run or, as a BadRequestError, the batch. */
  endingOf(failed: FailedAttempt): JobtideError {
    const { decision, failure } = failed
    if (decision.kind === 'refused') return refusalOf(decision.status, failure.reason, this.#url)
    const why = decision.kind === 'give-up' ? decision.why : 'page'
    const reason = decision.kind === 'pause-all' ? (decision.giveUp ?? why) : why
    const others = this.#answeredAt > Number.NEGATIVE_INFINITY
    return giveUpError(reason, failed, others, this.#options.maxWaitMs)
  }

  // A failed trial says nothing about its page, with two exceptions: an unreadable answer, because more of them would
  // be paid for, and a service that was never reached, where there is nothing to probe.
  #count(failure: Failure, outcome: Outcome, { attempts, sentAt, isHalfOpen }: RequestOnItsWay) {
    const now = this.#options.clock.monotonic()
    this.#wasReached ||= outcome !== 'unreachable'
    this.#troubleSince ??= Math.max(sentAt, this.#answeredAt)
    this.#trouble = wordsOf(failure)
    this.#failures.add(sentAt, now)
    if (outcome === 'order') return this.#pauses.add(sentAt, now)
    // A trial that may be billed costs as much as any request.
    if (isInDoubt(failure)) attempts.billable += 1
    if (outcome === 'unreadable') this.#unreadable.add(sentAt, now)
    if (failure.kind === 'not-a-page' && failure.isWrongPage) attempts.wrongPages += 1
    if (outcome !== 'failed' || !isHalfOpen) attempts.attempts += 1
  }
}

function waitOf(decision: RetryDecision): number {
  return 'waitMs' in decision ? decision.waitMs : 0
}

const PAGE_HINT =
  'Run the same command again later: it continues where it stopped. If this page fails again, report it to the provider.'
const UNREADABLE_HINT =
  'Each of these answers may have been billed. Check that JOBTIDE_BASE_URL is the address of the service, and that no proxy answers in its place. Then run the same command again: it continues where it stopped.'

function giveUpError(
  why: GiveUpReason,
  { failure, at, notBefore, request: { page, batchId, attempts } }: FailedAttempt,
  others: boolean,
  maxWaitMs: number,
): JobtideError {
  const what = `page ${page} of batch ${batchId}`
  const words = wordsOf(failure)
  const unavailable = (text: string, details: ErrorDetails = {}) =>
    new UnavailableError(`${text}: ${statusAndWords(failure)}`, null, details)
  switch (why) {
    case 'long-wait': {
      const text = `the service asks for no request before ${isoInstant(notBefore)}: ${words}`
      return new UnavailableError(text, notBefore)
    }
    case 'mistaken-wait': {
      const wantedMs = ('headers' in failure && waitWanted(failure.headers ?? {}, at)) || 0
      const text = `the service asks for no request before ${isoInstant(at + wantedMs)}, which is more than 24 hours away and counts as a mistake: ${words}`
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
    case 'unreachable': {
      const obstacle = failure.kind === 'no-answer' ? failure.obstacle : null
      return obstacle === null
        ? new UnavailableError(words, null)
        : unreachableError(obstacle, words)
    }
  }
}
