/**
 * Buys one page: waits for its permit, writes down that it asks, asks, and puts the answer into the journal before
 * anything is decided from it. What follows when a request brings no page, retries.ts says. Free probes go the
 * same way: they ask for the last page that the service counts, which is empty unless a list is too long.
 */

import type { RequestOutcome } from '../api/circuit-breaker.ts'
import { BadRequestError, UnavailableError } from '../api/errors.ts'
import { SEARCH_PATH } from '../api/free-question.ts'
import { WaitTooLongError, type Permit } from '../api/pacer.ts'
import { rateReport } from '../api/retry-after.ts'
import type { Failure } from '../api/retry-policy.ts'
import { errorMessage, parsePage } from '../api/schemas.ts'
import { NoAnswerError, type Answer } from '../api/transport.ts'
import type { OrganizationRef, BatchRecord, PageReceived } from '../journal/records.ts'
import { CREDITS_PER_PAGE, expectedCredits } from '../journal/spending.ts'
import { isoInstant } from '../support/clock.ts'
import { newUlid } from '../support/ulid.ts'
import { SECOND } from '../support/units.ts'
import type { Budget } from './budget.ts'
import { isInDoubt, wordsOf, type FailedAttempt, type PageAttempts } from './failed-attempt.ts'
import { IdLearner, type LearntId } from './learn-ids.ts'
import type { BuyingOptions, ClockTrouble } from './options.ts'
import { eventFacts, pageRecord, shownIn, type ReceivedPage } from './page-record.ts'
import { LAST_PAGE, requestBody } from './question.ts'
import { Retries } from './retries.ts'
import { ServiceClock } from './service-clock.ts'
import { isAboutCompany, type ProbeAnswer } from './untracked.ts'

// An answer takes a second or so. Who starts a run by hand is told within ten that none comes, on a slow machine too.
const SILENT_MS = 5 * SECOND

export interface BoughtPage {
  readonly record: PageReceived
  readonly page: number
  /** Events in a page, as the service says it counted; null when it does not say. */
  readonly limit: number | null
}

interface Question {
  readonly batch: BatchRecord
  readonly page: number
  readonly isFreeProbe: boolean
  readonly attempts: PageAttempts
}

interface Attempt extends Question {
  readonly permit: Permit
  readonly requestId: string
  /** Milliseconds since 1970 UTC. */
  readonly requestedAt: number
  /** On the monotonic clock. */
  readonly sentAt: number
}

/** Buys the pages of one run; what it learns of the service's state is shared by all workers. */
export class PageBuyer {
  readonly #runId: string
  readonly #budget: Budget
  readonly #options: BuyingOptions
  readonly #serviceClock: ServiceClock
  readonly #retries: Retries
  readonly #ids = new IdLearner()
  #unexpectedCharges = 0
  /** Whether it was said that nothing is answered. */
  #isSilenceSaid = false

  constructor(runId: string, budget: Budget, options: BuyingOptions) {
    this.#runId = runId
    this.#budget = budget
    this.#options = options
    this.#serviceClock = new ServiceClock(options)
    this.#retries = new Retries(options, `${options.baseUrl}${SEARCH_PATH}`)
  }

  /** Pages so far that cost something else than expected. */
  get unexpectedCharges(): number {
    return this.#unexpectedCharges
  }

  /** Where the service's clock and this machine's did not agree; null where they did. */
  get clockTrouble(): ClockTrouble | null {
    return this.#serviceClock.trouble
  }

  /** As {@link serviceTime}, by the answers to this process alone; null before the first. */
  get heardTime(): number | null {
    return this.#serviceClock.heard()
  }

  /** The service's time now, milliseconds since 1970 UTC. */
  get serviceTime(): number {
    return this.#serviceClock.now()
  }

  /**
   * Buys page `page` (from 1) of `batch`, asking again as often as the retry policy allows.
   * @throws BadRequestError when the service does not accept the question
   * @throws JobtideError when the run must stop
   * @throws StorageError when the journal cannot be written
   */
  buy(batch: BatchRecord, page: number): Promise<BoughtPage> {
    return this.#get(batch, page, false)
  }

  /**
   * Asks for free whether the service accepts these companies of `batch`.
   * @throws what buy() throws, but for BadRequestError
   */
  async accepts(
    batch: BatchRecord,
    organizations: readonly OrganizationRef[],
  ): Promise<ProbeAnswer> {
    const answer = await this.#probe({ ...batch, organizations }, LAST_PAGE)
    if ('record' in answer) return answer.record.events === 0 ? 'accepted' : null
    return isAboutCompany(answer.serverMessage) ? answer : null
  }

  /**
   * Asks for a page of `batch` to find something out, for free where the page is empty; it is not taken as read. Null when
   * the service refuses the question or answers with another page.
   * @throws what buy() throws, but for BadRequestError
   */
  async probePage(batch: BatchRecord, page: number): Promise<PageReceived | null> {
    const answer = await this.#probe(batch, page)
    return 'record' in answer && answer.page === page ? answer.record : null
  }

  async #probe(batch: BatchRecord, page: number): Promise<BoughtPage | BadRequestError> {
    try {
      return await this.#get(batch, page, true)
    } catch (error) {
      if (error instanceof BadRequestError) return error
      throw error
    }
  }

  /**
   * Notes the ids that the pages of `batch` have shown. Call it when the batch was read to its end.
   * @returns the ids, with the URL or slug that each was learnt for
   * @throws StorageError when the journal cannot be written
   */
  learnIds(batch: BatchRecord): readonly LearntId[] {
    const { clock, writer } = this.#options
    const ids = this.#ids.learn(batch)
    for (const learnt of ids) {
      const at = clock.now()
      writer.write({ kind: 'organization_learnt', run_id: this.#runId, at, ...learnt })
    }
    return ids
  }

  async #get(batch: BatchRecord, page: number, isFreeProbe: boolean): Promise<BoughtPage> {
    const counts = { failures: 0, billable: 0, wrongPages: 0, previousWaitMs: 0 }
    const attempts: PageAttempts = { page, batchId: batch.batch_id, ...counts }
    for (;;) {
      const result = await this.#tryOnce({ batch, page, isFreeProbe, attempts })
      if ('record' in result) {
        this.#retries.answered()
        return result
      }
      await this.#retries.follow(result, attempts)
    }
  }

  async #tryOnce(question: Question): Promise<BoughtPage | FailedAttempt> {
    const { stop, abort } = this.#options
    for (;;) {
      const reservation = await this.#budget.reserve(stop)
      let charged = 0
      try {
        const permit = await this.#waitForPermit()
        let outcome: RequestOutcome = 'undecided'
        try {
          if (!reservation.canDispatch()) continue
          const attempt = this.#dispatch(question, permit)
          // Whatever comes in between, the request is on its way: it is in doubt until its answer is on the disk.
          charged = CREDITS_PER_PAGE
          const result = await this.#ask(attempt)
          charged = chargeOf(result)
          outcome = 'record' in result ? 'answered' : result.outcome
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
      const notBefore = Math.ceil(clock.now() + error.waitMs)
      const { trouble } = this.#retries
      throw new UnavailableError(
        `the service takes no request before ${isoInstant(notBefore)}${trouble === null ? '' : `: ${trouble}`}`,
        notBefore,
      )
    }
  }

  /** Notes that a request leaves: handed to the operating system, which a killed process survives. */
  #dispatch(question: Question, permit: Permit): Attempt {
    const { clock, writer } = this.#options
    const requestedAt = clock.now()
    const requestId = newUlid(requestedAt)
    const about = this.#about({ ...question, requestId })
    writer.write({ kind: 'request_sent', at: requestedAt, ...about })
    return { ...question, permit, requestId, requestedAt, sentAt: clock.monotonic() }
  }

  async #ask(attempt: Attempt): Promise<BoughtPage | FailedAttempt> {
    const { page, isFreeProbe, attempts } = attempt
    const answer = await this.#send(attempt)
    if (!('body' in answer)) return this.#fail(attempt, answer, null)
    const { status, headers, body } = answer
    this.#learnPace(attempt, answer)
    if (status !== 200) {
      const failure: Failure = { kind: 'status', status, headers, reason: errorMessage(body) }
      return this.#fail(attempt, failure, status)
    }
    const envelope = parsePage(body)
    if (typeof envelope === 'string') {
      return this.#fail(attempt, { kind: 'not-a-page', reason: envelope }, status)
    }
    if (envelope.page !== page && !isFreeProbe) {
      attempts.wrongPages += 1
      const reason = `asked for page ${page}, got page ${envelope.page}`
      return this.#fail(attempt, { kind: 'not-a-page', reason }, status)
    }
    const events = envelope.events.map(eventFacts)
    const shown = shownIn(attempt.batch, events)
    if (!isFreeProbe && events.length > 0 && shown.own.length === 0) {
      // It answers another question.
      attempts.wrongPages += 1
      const reason = `none of the ${events.length} events of page ${page} is of an organisation that was asked for`
      return this.#fail(attempt, { kind: 'not-a-page', reason }, status)
    }
    return this.#keep(attempt, answer, { envelope, events, shown })
  }

  async #send({ batch, page }: Attempt): Promise<Answer | Failure> {
    const { transport, abort } = this.#options
    const answered = new AbortController()
    void this.#sayWhenSilent(page, answered.signal)
    try {
      const answer = await transport.post(SEARCH_PATH, requestBody(batch, page), abort)
      this.#isSilenceSaid = false
      return answer
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      const { message, inDoubt, obstacle } = error
      return { kind: 'no-answer', reason: message, inDoubt, obstacle }
    } finally {
      answered.abort()
    }
  }

  /** Says once, for all workers, that the service is silent. */
  async #sayWhenSilent(page: number, answered: AbortSignal): Promise<void> {
    const { clock, logger, baseUrl } = this.#options
    await clock.sleep(SILENT_MS, answered).catch(() => undefined)
    if (answered.aborted || this.#isSilenceSaid) return
    this.#isSilenceSaid = true
    logger.warn({ page, waited_ms: SILENT_MS, url: baseUrl }, 'still_waiting')
  }

  // Retry-After wins over the counters. When a page used up the plan's requests, the service has named a time: it is
  // kept across restarts. An order to wait is noted with its own time; see #fail().
  #learnPace({ permit }: Attempt, { status, headers, receivedAt }: Answer): void {
    if (headers['retry-after'] !== undefined) return
    const report = rateReport(headers, receivedAt)
    permit.learn(report)
    if (status !== 200 || report.remaining !== 0 || report.resetMs === null) return
    const at = this.#options.clock.now()
    this.#notePause(at, Math.ceil(at + report.resetMs), 'requests of the plan used up')
  }

  // When the append resolves the page is on the disk, and bought.
  async #keep(
    attempt: Attempt,
    answer: Answer,
    read: Pick<ReceivedPage, 'envelope' | 'events' | 'shown'>,
  ): Promise<BoughtPage> {
    const { writer, logger } = this.#options
    const { batch, page, isFreeProbe } = attempt
    const { envelope, events } = read
    const time = this.#serviceClock.read(answer.headers, answer.receivedAt)
    const record = pageRecord({ ...attempt, ...read, runId: this.#runId, answer, time })
    await writer.append(record, answer.body)
    const { credits_used: charged, credits_sent: sent } = record
    const expected = expectedCredits(events.length)
    if (charged !== expected || sent !== undefined) {
      this.#unexpectedCharges += 1
      logger.warn({ page, credits_used: sent ?? charged, expected }, 'unexpected_charge')
    }
    const { has_more: hasMore, requested_at: sentAt } = record
    const counts = { events: events.length, credits_used: charged, has_more: hasMore }
    logger.debug({ batch: batch.batch_id, page, ...counts, ms: answer.receivedAt - sentAt }, 'page')
    if (!isFreeProbe) this.#ids.look(batch, events)
    return { record, page: envelope.page, limit: envelope.limit }
  }

  // Decides before anything is awaited: a pause holds from the moment its order was read, also while that is being
  // written down. One fsync puts the failure and the pause on the disk.
  async #fail(attempt: Attempt, failure: Failure, status: number | null): Promise<FailedAttempt> {
    const { writer, pacer } = this.#options
    const { attempts, requestedAt, permit, sentAt } = attempt
    const { isHalfOpen } = permit
    const failed = this.#retries.decide(failure, attempts, { sentAt, isHalfOpen })
    const { decision, at, notBefore } = failed
    if (decision.kind === 'pause-all') {
      pacer.pause(decision.waitMs)
      this.#notePause(at, notBefore, String(decision.status))
    }
    await writer.append({
      kind: 'request_failed',
      ...this.#about(attempt),
      requested_at: requestedAt,
      at,
      status,
      error: wordsOf(failure),
      in_doubt: isInDoubt(failure),
    })
    return failed
  }

  #about({ batch, page, requestId }: Pick<Attempt, 'batch' | 'page' | 'requestId'>) {
    return { run_id: this.#runId, batch_id: batch.batch_id, page, request_id: requestId }
  }

  /** Notes a time before which no request may leave. */
  #notePause(at: number, notBefore: number, reason: string): void {
    const { clock, writer } = this.#options
    const uptime = clock.uptime?.() ?? null
    const pause = { run_id: this.#runId, at, not_before: notBefore, reason }
    writer.write({ kind: 'paused', ...pause, ...(uptime === null ? {} : { uptime }) })
  }
}

function chargeOf(result: BoughtPage | FailedAttempt): number {
  if ('record' in result) return result.record.credits_used
  return isInDoubt(result.failure) ? CREDITS_PER_PAGE : 0
}
