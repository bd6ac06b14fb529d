/**
 * Buys one page: waits for its permit, writes down that it asks, asks, and puts the answer into the journal before
 * anybody looks at it. Everything that can go wrong with one request is decided here, with the pure retry policy. The
 * free question whether companies are tracked goes the same way.
 */

import { BadRequestError, UnavailableError } from '../api/errors.ts'
import type { RequestOutcome } from '../api/circuit-breaker.ts'
import { WaitTooLongError, type Pacer, type Permit } from '../api/pacer.ts'
import { rateReport } from '../api/retry-after.ts'
import type { Failure } from '../api/retry-policy.ts'
import { errorMessage, parsePage, type PageEnvelope } from '../api/schemas.ts'
import { NoAnswerError, type Answer, type Transport } from '../api/transport.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { OrganizationRef, BatchRecord } from '../journal/records.ts'
import { PAGE_EVENTS, type TakenPage } from '../journal/batch-history.ts'
import { CREDITS_PER_PAGE, chargeOfPage, expectedCredits } from '../journal/spending.ts'
import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { newUlid } from '../support/ulid.ts'
import type { Budget } from './budget.ts'
import { isInDoubt, wordsOf } from './failure.ts'
import { createIdLearner } from './learn-ids.ts'
import { isAboutCompany } from './named-companies.ts'
import { createPageLedger, type PageRequest } from './page-ledger.ts'
import { LAST_PAGE, pageAfter, requestBody } from './request-body.ts'
import { createServiceClock, type ClockTrouble } from './service-clock.ts'
import { createSetbacks, newWish, type Setback, type Wish } from './setback.ts'

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
  /** How far the service's clock was ahead of this machine's in the run before, in ms; absent or null: unknown. */
  readonly serverAheadMs?: number | null
  /** Where requests go, for messages. */
  readonly baseUrl: string
  /** The longest wait, in milliseconds: that the service may order, and for an answer at all. */
  readonly maxWaitMs: number
  /** Stops new requests; one in flight is finished. */
  readonly stop: AbortSignal
  /** Breaks off requests in flight. */
  readonly abort: AbortSignal
}

/** A page that is in the journal. */
export interface BoughtPage extends TakenPage {
  readonly creditsUsed: number
  /** Events in a page, as the service says it counted; null when it does not say. */
  readonly limit: number | null
}

/** Whether a list has more events than so many, and when. */
export interface ListSize {
  readonly hasMore: boolean
  /** Server time in whole seconds, milliseconds since 1970 UTC. */
  readonly serverAt: number
}

/** Buys pages for one run. */
export interface PageBuyer {
  /**
   * Buys page `page` (from 1) of `batch`, asking again as often as the retry policy allows.
   * @throws BadRequestError when the service does not accept the question
   * @throws RefusedError, PaymentRequiredError, UnavailableError, UnexpectedStatusError, ConfigError, BudgetReachedError when
   *   the run must stop
   * @throws StorageError when the journal cannot be written
   */
  buy(batch: BatchRecord, page: number): Promise<BoughtPage>
  /**
   * Asks whether the service accepts these companies of `batch`, by the last page it counts: that one is empty, and so
   * free. Null when the answer says neither yes nor no.
   * @throws what buy() throws, but for BadRequestError
   */
  accepts(batch: BatchRecord, companies: readonly OrganizationRef[]): Promise<boolean | null>
  /**
   * Asks whether the list of `batch` has more than so many events: for free, when it has not. It may have when the answer
   * does not tell. Null when that cannot be asked, because the service does not count pages so far.
   * @throws what buy() throws, but for BadRequestError
   */
  hasMoreThan(batch: BatchRecord, events: number): Promise<ListSize | null>
  /**
   * Notes the ids that the pages of `batch` have shown. Call it when the batch was read to its end.
   * @throws StorageError when the journal cannot be written
   */
  learnIds(batch: BatchRecord): void
  /** Pages so far that cost something else than expected. */
  unexpectedCharges(): number
  /** Where the service's clock and this machine's did not agree; null where they did. */
  clockTrouble(): ClockTrouble | null
}

/** What is asked. */
interface Question extends Pick<PageRequest, 'batch' | 'page' | 'isTest'> {
  readonly wish: Wish
  /** Events in a page. */
  readonly limit: number
}

/** One request. */
interface Attempt extends PageRequest, Question {
  readonly permit: Permit
  /** On the monotonic clock. */
  readonly sentAt: number
}

/** A buyer for one run; what it learns of the service's state is shared by all workers. */
export function createPageBuyer(options: PageBuyerOptions): PageBuyer {
  const { runId, transport, pacer, budget, writer, clock, logger, stop, abort } = options
  const serviceClock = createServiceClock(clock, logger, options.serverAheadMs ?? null)
  const ledger = createPageLedger(runId, writer, serviceClock)
  const setbacks = createSetbacks({ ...options, url: `${options.baseUrl}${SEARCH_PATH}` })
  const ids = createIdLearner()
  let unexpectedCharges = 0

  async function get(
    batch: BatchRecord,
    page: number,
    isTest: boolean,
    limit = PAGE_EVENTS,
  ): Promise<BoughtPage> {
    const wish = newWish(batch.batch_id, page)
    for (;;) {
      const result = await tryOnce({ wish, batch, page, isTest, limit })
      if ('events' in result) {
        setbacks.answered()
        return result
      }
      await setbacks.follow(result, wish)
    }
  }

  async function tryOnce(question: Question): Promise<BoughtPage | Setback> {
    for (;;) {
      const reservation = await budget.reserve(stop)
      let charged = 0
      try {
        const permit = await waitForPermit()
        let outcome: RequestOutcome = 'undecided'
        try {
          if (!reservation.mayLeave()) continue
          const attempt = leave(question, permit)
          // Whatever comes in between, the request is on its way: it is in doubt until its answer is on the disk.
          charged = CREDITS_PER_PAGE
          const result = await ask(attempt)
          charged = chargeOf(result)
          outcome = 'events' in result ? 'answered' : result.outcome
          return result
        } finally {
          permit.release(abort.aborted ? 'undecided' : outcome)
        }
      } finally {
        reservation.settle(charged)
      }
    }
  }

  async function waitForPermit(): Promise<Permit> {
    try {
      return await pacer.permit(stop)
    } catch (error) {
      if (!(error instanceof WaitTooLongError)) throw error
      const notBefore = Math.ceil(clock.now() + error.waitMs)
      const trouble = setbacks.trouble()
      throw new UnavailableError(
        `the service takes no request before ${isoInstant(notBefore)}${trouble === null ? '' : `: ${trouble}`}`,
        notBefore,
      )
    }
  }

  function leave(question: Question, permit: Permit): Attempt {
    const requestedAt = clock.now()
    const requestId = newUlid(requestedAt)
    const attempt = { ...question, permit, requestId, requestedAt, sentAt: clock.monotonic() }
    ledger.sent(attempt)
    return attempt
  }

  async function ask(attempt: Attempt): Promise<BoughtPage | Setback> {
    const { wish, page, isTest } = attempt
    const answer = await send(attempt)
    if (!('body' in answer)) return setBack(attempt, answer, null)
    const { status, headers, body } = answer
    learnPace(attempt, answer)
    if (status !== 200) {
      const failure: Failure = { kind: 'status', status, headers, message: errorMessage(body) }
      return setBack(attempt, failure, status)
    }
    const envelope = parsePage(body)
    if (typeof envelope === 'string') {
      return setBack(attempt, { kind: 'not-a-page', reason: envelope }, status)
    }
    if (envelope.page !== page && !isTest) {
      wish.wrongPages += 1
      const reason = `asked for page ${page}, got page ${envelope.page}`
      return setBack(attempt, { kind: 'not-a-page', reason }, status)
    }
    return keep(attempt, answer, envelope)
  }

  async function send({ batch, page, limit }: Attempt): Promise<Answer | Failure> {
    try {
      return await transport.post(SEARCH_PATH, requestBody(batch, { page, limit }), abort)
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      const { message, inDoubt, obstacle } = error
      return { kind: 'no-answer', reason: message, inDoubt, obstacle }
    }
  }

  // Retry-After wins over the counters. When a page used up the plan's requests, the service has named a time: it is
  // kept across restarts. An order to wait is noted with its own time; see setBack().
  function learnPace({ permit }: Attempt, { status, headers, receivedAt }: Answer): void {
    if (headers['retry-after'] !== undefined) return
    const report = rateReport(headers, receivedAt)
    permit.learn(report)
    if (status !== 200 || report.remaining !== 0 || report.resetMs === null) return
    const at = clock.now()
    ledger.paused(at, Math.ceil(at + report.resetMs), 'requests of the plan used up')
  }

  async function keep(
    attempt: Attempt,
    answer: Answer,
    envelope: PageEnvelope,
  ): Promise<BoughtPage> {
    const taken = await ledger.received(attempt, answer, envelope)
    const { events, creditsSent } = envelope
    const { credits: creditsUsed, sent } = chargeOfPage(creditsSent, events.length)
    const { page, batch, isTest } = attempt
    const expected = expectedCredits(events.length)
    if (creditsUsed !== expected || sent !== null) {
      unexpectedCharges += 1
      logger.warn({ page, credits_used: sent ?? creditsUsed, expected }, 'unexpected_charge')
    }
    if (!isTest) ids.look(batch, events)
    return { ...taken, creditsUsed, limit: envelope.limit }
  }

  // Decides before anything is awaited: a pause holds from the moment its order was read, also while that is being
  // written down. One fsync puts the failure and the pause on the disk.
  async function setBack(
    attempt: Attempt,
    failure: Failure,
    status: number | null,
  ): Promise<Setback> {
    const { wish, permit, sentAt } = attempt
    const setback = setbacks.decide(failure, wish, { sentAt, isHalfOpen: permit.isHalfOpen })
    const { decision, at, notBefore } = setback
    if (decision.kind === 'pause-all') {
      pacer.pause(decision.waitMs)
      ledger.paused(at, notBefore, String(decision.status))
    }
    const error = wordsOf(failure)
    await ledger.failed(attempt, at, { status, error, inDoubt: isInDoubt(failure) })
    return setback
  }

  async function accepts(
    batch: BatchRecord,
    organizations: readonly OrganizationRef[],
  ): Promise<boolean | null> {
    try {
      const page = await get({ ...batch, organizations }, LAST_PAGE, true)
      return page.events === 0 ? true : null
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error
      return isAboutCompany(error.serverMessage) ? false : null
    }
  }

  async function hasMoreThan(batch: BatchRecord, events: number): Promise<ListSize | null> {
    const end = pageAfter(events)
    if (end === null) return null
    try {
      const { events: found, serverAt, limit } = await get(batch, end.page, true, end.limit)
      // Pages of another size than the asked one end elsewhere: an empty one is no answer.
      const isCounted = limit === null || limit === end.limit
      return { hasMore: found > 0 || !isCounted, serverAt }
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error
      // A size that the service does not take, or a company that it does not track any more: the page itself will tell.
      return { hasMore: true, serverAt: clock.now() }
    }
  }

  function learnIds(batch: BatchRecord): void {
    for (const { organization, organizationId } of ids.learn(batch)) {
      writer.write({
        kind: 'organization_learnt',
        run_id: runId,
        at: clock.now(),
        organization,
        organization_id: organizationId,
      })
    }
  }

  return {
    buy: (batch, page) => get(batch, page, false),
    accepts,
    hasMoreThan,
    learnIds,
    unexpectedCharges: () => unexpectedCharges,
    clockTrouble: () => serviceClock.trouble(),
  }
}

function chargeOf(result: BoughtPage | Setback): number {
  if ('events' in result) return result.creditsUsed
  return isInDoubt(result.failure) ? CREDITS_PER_PAGE : 0
}
