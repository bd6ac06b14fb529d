/**
 * Buys the pages of job changes: builds the request for a page of a batch, and checks the answer before it is journalled
 * and used. Free probes work the same way, for a page that is empty unless a list is too long.
 */

import { BadRequestError } from '../api/errors.ts'
import { SEARCH_PATH } from '../api/free-question.ts'
import { parsePage } from '../api/schemas.ts'
import type { Answer } from '../api/transport.ts'
import { PAGE_EVENTS, encodeMarks } from '../journal/batch-history.ts'
import type { OrganizationRef, BatchRecord, PageReceived } from '../journal/records.ts'
import {
  CREDITS_PER_PAGE,
  chargeOfPage,
  expectedCredits,
  isUnexpectedCharge,
} from '../journal/spending.ts'
import { sha256Hex } from '../support/hash.ts'
import type { Budget } from './budget.ts'
import type { Names } from './names.ts'
import type { BuyingOptions } from './options.ts'
import { eventFacts, seenOrganizations, shownIn } from './page-record.ts'
import { RequestBuyer, type AnswerStamp, type Unusable } from './request-buyer.ts'
import { ServiceClock } from './service-clock.ts'
import { isAboutCompany } from './untracked.ts'

/** The service counts pages up to this number; a batch with more was too wide. */
export const LAST_PAGE = 10_000

/** Buys the pages of one run. All workers share what it learns about the service's state. */
export class PageBuyer {
  readonly serviceClock: ServiceClock
  readonly #options: BuyingOptions
  readonly #requests: RequestBuyer
  readonly #names: Names | undefined
  unexpectedCharges = 0

  /** @param names learns what the pages show */
  constructor(runId: string, budget: Budget, options: BuyingOptions, names?: Names) {
    this.#options = options
    this.#names = names
    this.#requests = new RequestBuyer(runId, budget, options, SEARCH_PATH)
    this.serviceClock = new ServiceClock(options)
  }

  /**
   * @param page from 1 @throws BadRequestError when the service refuses the request
   * @throws JobtideError when the run must stop; StorageError when the journal cannot be written
   */
  buy(batch: BatchRecord, page: number, isFreeProbe = false): Promise<PageReceived> {
    const body = requestBody(batch, page)
    const price = { path: SEARCH_PATH, credits: CREDITS_PER_PAGE }
    const request = { batchId: batch.batch_id, page, body, ...price }
    return this.#requests.buy(request, (answer, stamp) =>
      this.#read(batch, isFreeProbe, answer, stamp),
    )
  }

  /**
   * Asks for free whether the service accepts these companies of `batch`; null if it does not say.
   * @throws what buy() throws, except BadRequestError
   */
  async accepts(batch: BatchRecord, organizations: readonly OrganizationRef[]) {
    const answer = await this.#probe({ ...batch, organizations }, LAST_PAGE)
    if (!(answer instanceof BadRequestError)) return answer.events === 0 ? true : null
    return isAboutCompany(answer.serverMessage) ? false : null
  }

  /** Whether a page promises more: free if it is empty. It does not count as read. @throws as accepts() */
  async goesOnAt(batch: BatchRecord, page: number): Promise<boolean> {
    const answer = await this.#probe(batch, page)
    return !(answer instanceof BadRequestError) && answer.has_more
  }

  async #probe(batch: BatchRecord, page: number): Promise<PageReceived | BadRequestError> {
    try {
      return await this.buy(batch, page, true)
    } catch (error) {
      if (error instanceof BadRequestError) return error
      throw error
    }
  }

  // When the append resolves, the page is on the disk and counts as bought.
  async #read(batch: BatchRecord, isFreeProbe: boolean, answer: Answer, stamp: AnswerStamp) {
    const { writer, logger } = this.#options
    const { page, requested_at } = stamp
    const { receivedAt: at, status, headers, body } = answer
    const envelope = parsePage(body)
    if (typeof envelope === 'string') return { reason: envelope }
    const { hasMore: has_more, limit } = envelope
    if (envelope.page !== page && !isFreeProbe)
      return wrongPage(`requested page ${page}, got page ${envelope.page}`)
    const events = envelope.events.map(eventFacts)
    const { own, foreign } = shownIn(batch, events)
    // It is the answer to another request.
    if (!isFreeProbe && events.length > 0 && own.length === 0) {
      const what = `none of the ${events.length} events of page ${page}`
      return wrongPage(`${what} is about a requested organisation`)
    }
    const { at: server_at, dispute } = this.serviceClock.read(headers, at)
    const { credits, sent } = chargeOfPage(envelope.creditsSent, events.length)
    // Some services state the number of events only on the last page.
    const isOwnCount = !has_more && limit === events.length
    const isUsual = limit === null || limit === PAGE_EVENTS || isOwnCount
    const record: PageReceived = {
      kind: 'page_received',
      ...stamp,
      at,
      server_at,
      ...(dispute === null ? {} : { clocks: dispute }),
      status,
      events: events.length,
      credits_used: credits,
      ...(sent === null ? {} : { credits_sent: sent }),
      has_more,
      ...(isUsual ? {} : { counted_by: limit }),
      body_sha256: sha256Hex(body),
      ...(isFreeProbe ? { free_probe: true } : {}),
      // Paging needs to know nothing about a page that is the only one.
      ...(page === 1 && !has_more ? {} : { keys: encodeMarks(events) }),
      seen: seenOrganizations(own, server_at),
      ...(foreign.size === 0 ? {} : { foreign: [...foreign] }),
    }
    await writer.append(record, body)
    if (isUnexpectedCharge(record)) {
      this.unexpectedCharges += 1
      const expected = expectedCredits(events.length)
      logger.warn({ page, credits_used: sent ?? credits, expected }, 'unexpected_charge')
    }
    const counts = { events: events.length, credits_used: credits, has_more }
    logger.debug({ batch: batch.batch_id, page, ...counts, ms: at - requested_at }, 'page')
    if (!isFreeProbe) this.#names?.look(batch, events)
    return record
  }
}

function wrongPage(reason: string): Unusable {
  return { reason, isWrongPage: true }
}

function requestBody(batch: BatchRecord, page: number): Record<string, unknown> {
  const named = (by: OrganizationRef['by']) => {
    const values = batch.organizations.flatMap((one) => (one.by === by ? one.value : []))
    return values.length === 0 ? undefined : values
  }
  const [onlyType, another] = batch.event_types
  return {
    organization_ids: named('id'),
    company_urls: named('url'),
    event_type: another === undefined ? onlyType : undefined,
    ...batch.filters,
    days_ago: batch.days_ago ?? undefined,
    page,
    limit: PAGE_EVENTS,
  }
}
