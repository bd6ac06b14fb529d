/**
 * Buys the pages of job changes: builds the request for a page of a batch, and checks its answer before it goes into
 * the journal and any decision. Free probes work the same way: they request the last page that the service counts,
 * which is empty unless a list is too long.
 */

import { BadRequestError } from '../api/errors.ts'
import { SEARCH_PATH } from '../api/free-question.ts'
import type { Failure } from '../api/retry-policy.ts'
import { errorMessage, isFreeError, parseJson, parsePage } from '../api/schemas.ts'
import type { Answer } from '../api/transport.ts'
import type { OrganizationRef, BatchRecord, PageReceived } from '../journal/records.ts'
import { CREDITS_PER_PAGE, expectedCredits } from '../journal/spending.ts'
import type { Budget } from './budget.ts'
import { IdLearner, type LearntId } from './names.ts'
import type { BuyingOptions, ClockTrouble } from './options.ts'
import { eventFacts, pageRecord, shownIn, type ReceivedPage } from './page-record.ts'
import { LAST_PAGE, requestBody } from './question.ts'
import { RequestBuyer, type Bought, type SentRequest } from './request-buyer.ts'
import { noAttempts, type PageAttempts } from './retries.ts'
import { ServiceClock } from './service-clock.ts'
import { isAboutCompany } from './untracked.ts'

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

/** Buys the pages of one run; what it learns of the service's state is shared by all workers. */
export class PageBuyer {
  readonly #runId: string
  readonly #options: BuyingOptions
  readonly #requests: RequestBuyer
  readonly #serviceClock: ServiceClock
  readonly #ids = new IdLearner()
  #unexpectedCharges = 0

  constructor(runId: string, budget: Budget, options: BuyingOptions) {
    this.#runId = runId
    this.#options = options
    this.#requests = new RequestBuyer(runId, budget, options, SEARCH_PATH)
    this.#serviceClock = new ServiceClock(options)
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
   * Asks for free whether the service accepts these companies of `batch`; null when it does not say.
   * @throws what buy() throws, but for BadRequestError
   */
  async accepts(
    batch: BatchRecord,
    organizations: readonly OrganizationRef[],
  ): Promise<boolean | null> {
    const answer = await this.#probe({ ...batch, organizations }, LAST_PAGE)
    if ('record' in answer) return answer.record.events === 0 ? true : null
    return isAboutCompany(answer.serverMessage) ? false : null
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

  #get(batch: BatchRecord, page: number, isFreeProbe: boolean): Promise<BoughtPage> {
    const attempts = noAttempts(batch.batch_id, page)
    const body = requestBody(batch, page)
    const request = { path: SEARCH_PATH, body, credits: CREDITS_PER_PAGE, attempts }
    const question = { batch, page, isFreeProbe, attempts }
    return this.#requests.buy(request, (answer, sent) => this.#read(question, answer, sent))
  }

  #read(
    question: Question,
    answer: Answer,
    sent: SentRequest,
  ): Promise<Bought<BoughtPage>> | Failure {
    const { batch, page, isFreeProbe, attempts } = question
    const envelope = parsePage(answer.body)
    if (typeof envelope === 'string') {
      if (!isFreeError(parseJson(answer.body))) return { kind: 'not-a-page', reason: envelope }
      const { headers, body } = answer
      return { kind: 'status', status: 500, headers, reason: `no success: ${errorMessage(body)}` }
    }
    if (envelope.page !== page && !isFreeProbe) {
      attempts.wrongPages += 1
      return { kind: 'not-a-page', reason: `asked for page ${page}, got page ${envelope.page}` }
    }
    const events = envelope.events.map(eventFacts)
    const shown = shownIn(batch, events)
    if (!isFreeProbe && events.length > 0 && shown.own.length === 0) {
      // It answers another question.
      attempts.wrongPages += 1
      const reason = `none of the ${events.length} events of page ${page} is about a requested organisation`
      return { kind: 'not-a-page', reason }
    }
    return this.#keep({ ...question, ...sent }, answer, { envelope, events, shown })
  }

  // When the append resolves the page is on the disk, and bought.
  async #keep(
    asked: Question & SentRequest,
    answer: Answer,
    read: Pick<ReceivedPage, 'envelope' | 'events' | 'shown'>,
  ): Promise<Bought<BoughtPage>> {
    const { writer, logger } = this.#options
    const { batch, page, isFreeProbe } = asked
    const { envelope, events } = read
    const time = this.#serviceClock.read(answer.headers, answer.receivedAt)
    const record = pageRecord({ ...asked, ...read, runId: this.#runId, answer, time })
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
    return { bought: { record, page: envelope.page, limit: envelope.limit }, charged }
  }
}
