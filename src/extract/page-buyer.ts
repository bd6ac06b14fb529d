/**
 * Buys one page: waits for its turn, writes down that it asks, asks, and puts the answer into the journal before
 * anybody looks at it. Everything that can go wrong with one request is decided here, with the pure retry policy.
 */

import {
  BadRequestError,
  RefusedError,
  UnavailableError,
  UnexpectedStatusError,
} from '../api/errors.ts'
import { WaitTooLongError, type Pacer, type RateReport } from '../api/pacer.ts'
import { rateReport } from '../api/retry-after.ts'
import { decideRetry, type Failure, type RetryDecision } from '../api/retry-policy.ts'
import { errorMessage, parsePage, type PageEnvelope } from '../api/schemas.ts'
import { NoAnswerError, type Answer, type Transport } from '../api/transport.ts'
import { CREDITS_PER_PAGE } from '../journal/history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { SliceRecord } from '../journal/records.ts'
import type { TakenPage } from '../journal/slice-history.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import { receivedJson } from '../support/json.ts'
import type { Logger } from '../support/logger.ts'
import { newUlid } from '../support/ulid.ts'
import type { Budget } from './budget.ts'
import { createPageLedger, type PageRequest } from './page-ledger.ts'
import { requestBody } from './request-body.ts'

const SEARCH_PATH = '/api/v1/job-changes/search'

/** What buying a page needs of the world. */
export interface PageBuyerOptions {
  readonly runId: string
  readonly transport: Transport
  readonly pacer: Pacer
  readonly budget: Budget
  readonly writer: JournalWriter
  readonly clock: Clock
  /** A random number in [0, 1), for jitter. */
  readonly random: () => number
  readonly logger: Logger
  /** Where requests go, for messages. */
  readonly baseUrl: string
  /** The longest wait the service may order, in milliseconds. */
  readonly maxWaitMs: number
  /** Stops new requests; one in flight is finished. */
  readonly stop: AbortSignal
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
}

/** A page that is in the journal. */
export interface BoughtPage extends TakenPage {
  readonly creditsUsed: number
  /** Equal for pages with the same number of events, the same first and the same last one. */
  readonly fingerprint: string
}

/** Buys pages for one run. */
export interface PageBuyer {
  /**
   * Buys page `page` (from 1) of `slice`, asking again as often as the retry policy allows.
   * @throws BadRequestError when the service does not accept the question
   * @throws RefusedError, UnavailableError, UnexpectedStatusError, BudgetReachedError when the run must stop
   * @throws StorageError when the journal cannot be written
   */
  buy(slice: SliceRecord, page: number): Promise<BoughtPage>
}

// Retries are free of charge, but a service in trouble is not helped by more than a tenth on top (Google SRE, ch. 21).
const RETRY_SHARE = 0.1
const RETRIES_ALWAYS_ALLOWED = 20
const PAUSES_IN_A_ROW_MAX = 20

// A service that answers with another page than the asked one twice will not do better the third time.
const WRONG_PAGES_MAX = 2

/** One page that is wanted, and how asking for it went so far. */
interface Wish {
  readonly slice: SliceRecord
  readonly page: number
  failures: number
  wrongPages: number
  /** The last wait, in milliseconds. */
  previousWaitMs: number
}

/** One request. */
interface Attempt extends PageRequest {
  readonly wish: Wish
  /** On the monotonic clock. */
  readonly sentAt: number
}

/** A request that brought no page, and what follows from it. */
interface Setback {
  readonly failure: Failure
  readonly decision: RetryDecision
  /** When the wait ends that was decided, milliseconds since 1970 UTC. */
  readonly notBefore: number
}

/** A buyer for one run; its counters of retries and pauses are shared by all workers. */
export function createPageBuyer(options: PageBuyerOptions): PageBuyer {
  const { transport, pacer, budget, clock, logger, stop, abort } = options
  const ledger = createPageLedger(options.runId, options.writer)
  let requests = 0
  let retries = 0
  let pausesInARow = 0
  /** When the last pause began, on the monotonic clock. */
  let pausedAt = Number.NEGATIVE_INFINITY

  async function buy(slice: SliceRecord, page: number): Promise<BoughtPage> {
    const wish: Wish = { slice, page, failures: 0, wrongPages: 0, previousWaitMs: 0 }
    for (;;) {
      const result = await tryOnce(wish)
      if ('events' in result) {
        pausesInARow = 0
        return result
      }
      await follow(result, wish)
    }
  }

  /** Does what was decided, or throws what ends the slice or the run. */
  async function follow(setback: Setback, { page }: Wish): Promise<void> {
    const { decision, failure } = setback
    switch (decision.kind) {
      case 'bad-request':
        throw new BadRequestError(wordsOf(failure))
      case 'refused':
        throw new RefusedError(decision.status, wordsOf(failure))
      case 'unexpected-status':
        throw new UnexpectedStatusError(
          failure.kind === 'status' ? failure.status : 0,
          `${options.baseUrl}${SEARCH_PATH}`,
          wordsOf(failure),
        )
      case 'give-up':
        throw new UnavailableError(`page ${page} could not be had: ${wordsOf(failure)}`, null)
      case 'pause-all':
        refuseLongPause(decision.waitMs, decision.reason, setback)
        if (decision.reason !== '429') spendRetry(failure)
        return
      case 'retry':
        spendRetry(failure)
        logger.warn(
          { page, wait_ms: Math.round(decision.waitMs), reason: wordsOf(failure) },
          'retry',
        )
        await clock.sleep(decision.waitMs, stop)
        return
    }
  }

  // The pause itself holds already, see setBack(); its end is waited for by the pacer, with all other workers.
  function refuseLongPause(waitMs: number, reason: string, { failure, notBefore }: Setback): void {
    const message = wordsOf(failure)
    logger.warn({ status: reason, wait_ms: Math.round(waitMs), message }, 'paused')
    if (waitMs <= options.maxWaitMs && pausesInARow <= PAUSES_IN_A_ROW_MAX) return
    throw new UnavailableError(
      `the service asks for no request before ${isoInstant(notBefore)} (${reason}: ${message})`,
      notBefore,
    )
  }

  function spendRetry(failure: Failure): void {
    retries += 1
    if (retries <= Math.max(RETRIES_ALWAYS_ALLOWED, requests * RETRY_SHARE)) return
    throw new UnavailableError(
      `the service fails too often (${retries} of ${requests} requests): ${wordsOf(failure)}`,
      null,
    )
  }

  async function tryOnce(wish: Wish): Promise<BoughtPage | Setback> {
    await budget.reserve(stop)
    let charged = 0
    try {
      await turn()
      let answered = false
      try {
        const result = await ask(wish)
        answered = 'events' in result
        charged = chargeOf(result)
        return result
      } finally {
        pacer.done(answered)
      }
    } finally {
      budget.settle(charged)
    }
  }

  async function ask(wish: Wish): Promise<BoughtPage | Setback> {
    const requestedAt = clock.now()
    const attempt: Attempt = {
      wish,
      slice: wish.slice,
      page: wish.page,
      requestId: newUlid(requestedAt),
      requestedAt,
      sentAt: clock.monotonic(),
    }
    ledger.sent(attempt)
    requests += 1
    const answer = await send(attempt)
    if (!('body' in answer)) return setBack(attempt, answer)
    const { status, headers, body } = answer
    // Retry-After wins over the counters.
    if (headers['retry-after'] === undefined) learn(rateReport(headers, answer.receivedAt))
    if (status !== 200) {
      return setBack(attempt, { kind: 'status', status, headers, message: errorMessage(body) })
    }
    const envelope = parsePage(body)
    if (typeof envelope === 'string') {
      return setBack(attempt, { kind: 'not-a-page', reason: envelope }, status)
    }
    if (envelope.page !== wish.page) {
      wish.wrongPages += 1
      const reason = `asked for page ${wish.page}, got page ${envelope.page}`
      return setBack(attempt, { kind: 'not-a-page', reason }, status)
    }
    return keep(attempt, answer, envelope)
  }

  // When the plan's requests are used up, the service has named a time like with a 429: it is kept across restarts.
  function learn(report: RateReport): void {
    pacer.learn(report)
    if (report.remaining !== 0 || report.resetMs === null) return
    const at = clock.now()
    ledger.paused(at, Math.ceil(at + report.resetMs), 'requests of the plan used up')
  }

  async function turn(): Promise<void> {
    try {
      await pacer.turn(stop)
    } catch (error) {
      if (!(error instanceof WaitTooLongError)) throw error
      const notBefore = Math.ceil(clock.now() + error.waitMs)
      throw new UnavailableError(
        `the service takes no request before ${isoInstant(notBefore)}`,
        notBefore,
      )
    }
  }

  // Workers in flight when a pause begins get the same order; together they are one pause.
  function countPause(sentAt: number): void {
    if (sentAt < pausedAt) return
    pausesInARow += 1
    pausedAt = clock.monotonic()
  }

  async function send({ wish }: Attempt): Promise<Answer | Failure> {
    try {
      return await transport.post(SEARCH_PATH, requestBody(wish.slice, wish.page), abort)
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      return { kind: 'no-answer', reason: error.message, inDoubt: error.inDoubt }
    }
  }

  async function keep(
    attempt: Attempt,
    answer: Answer,
    envelope: PageEnvelope,
  ): Promise<BoughtPage> {
    const taken = await ledger.received(attempt, answer, envelope)
    const { events } = envelope
    const expected = events.length === 0 ? 0 : CREDITS_PER_PAGE
    if (envelope.creditsUsed !== expected) {
      const { creditsUsed } = envelope
      const { page } = attempt.wish
      logger.warn({ page, credits_used: creditsUsed, expected }, 'unexpected_charge')
    }
    const fingerprint = receivedJson([events.length, events[0], events.at(-1)])
    return { ...taken, creditsUsed: envelope.creditsUsed, fingerprint }
  }

  // Decides before anything is awaited: a pause holds from the moment its order was read, also while that is being
  // written down. One fsync puts the failure and the pause on the disk.
  async function setBack(
    attempt: Attempt,
    failure: Failure,
    status = failure.kind === 'status' ? failure.status : null,
  ): Promise<Setback> {
    const { wish } = attempt
    const decision = decide(attempt, failure)
    const waitMs = 'waitMs' in decision ? decision.waitMs : 0
    const at = clock.now()
    const notBefore = Math.ceil(at + waitMs)
    wish.previousWaitMs = waitMs
    if (decision.kind === 'pause-all') {
      pacer.pause(waitMs)
      ledger.paused(at, notBefore, decision.reason)
    }
    await ledger.failed(attempt, at, { status, error: wordsOf(failure), inDoubt: inDoubt(failure) })
    return { failure, decision, notBefore }
  }

  function decide({ wish, sentAt }: Attempt, failure: Failure): RetryDecision {
    if (wish.wrongPages >= WRONG_PAGES_MAX) return { kind: 'give-up' }
    if (isPauseOrder(failure)) countPause(sentAt)
    else wish.failures += 1
    return decideRetry(failure, {
      attempt: wish.failures,
      pausesInARow,
      nowMs: clock.now(),
      previousWaitMs: wish.previousWaitMs,
      random: options.random(),
    })
  }

  return { buy }
}

function chargeOf(result: BoughtPage | Setback): number {
  if ('events' in result) return result.creditsUsed
  return inDoubt(result.failure) ? CREDITS_PER_PAGE : 0
}

// Errors of this endpoint are free. A page that came damaged was sent, and so probably charged; so may be what came with
// a status that says success but is not 200.
function inDoubt(failure: Failure): boolean {
  switch (failure.kind) {
    case 'status':
      return failure.status >= 200 && failure.status < 300
    case 'no-answer':
      return failure.inDoubt
    case 'not-a-page':
      return true
  }
}

function wordsOf(failure: Failure): string {
  return failure.kind === 'status' ? failure.message : failure.reason
}

function isPauseOrder(failure: Failure): boolean {
  return failure.kind === 'status' && (failure.status === 429 || failure.status === 503)
}
