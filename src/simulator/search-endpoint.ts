/**
 * One search from its parts to its answer: key, plan, rate limit, parameters, faults, page, charge. It knows neither
 * sockets nor clocks: the time comes with the call, the answer goes back to the server.
 */

import type { AccountEntry } from './account.ts'
import { companyDirectory, type NamedCompanies, type UnknownNames } from './companies.ts'
import type { EventSource } from './events.ts'
import { createFaultPlan, type Fault, type FaultPlan, type Strike } from './faults.ts'
import { rateWindow, type RateLimit, type RateWindow } from './rate-window.ts'
import { BadRequest, searchFromBody, type SearchRequest } from './search-request.ts'
import { Search, type FoundPage } from './search.ts'
import type { Answer } from './wire-faults.ts'

export const SEARCH_PATH = '/api/v1/job-changes/search'

export interface SearchEndpointOptions {
  readonly source: EventSource
  /** Keys that are let in; default `simulator-key`. */
  readonly apiKeys?: readonly string[]
  /** Keys that are known but whose plan lacks job changes: 403. */
  readonly keysWithoutPlan?: readonly string[]
  /** Without it there is no 429 and there are no `X-RateLimit-*` headers. */
  readonly rateLimit?: RateLimit
  readonly faults?: readonly Fault[]
  /** Which of the untracked companies a 400 names: the first one (default), all, or none. */
  readonly unknownNames?: UnknownNames
}

export interface SearchCall {
  readonly body: string
  readonly contentType: string | undefined
  readonly authorization: string | undefined
  readonly nowMs: number
  readonly monotonicMs: number
}

/** An answer, the fault that struck, and what the account says about the search, where it got so far. */
export interface Reply {
  readonly answer: Answer
  readonly strike?: Strike | undefined
  readonly facts?: Partial<AccountEntry>
}

// Credits for a page with at least one event; an empty page is free.
const CREDITS_PER_PAGE = 10

export class SearchEndpoint {
  readonly #options: SearchEndpointOptions
  readonly #search: Search
  readonly #named: NamedCompanies
  readonly #limit: RateWindow | undefined
  #faults: FaultPlan

  constructor(options: SearchEndpointOptions) {
    const { source, rateLimit, unknownNames = 'first', faults = [] } = options
    this.#options = options
    this.#search = new Search(source)
    this.#named = companyDirectory(source, unknownNames)
    this.#limit = rateLimit && rateWindow(rateLimit)
    this.#faults = createFaultPlan(faults)
  }

  /** Replaces all faults. @throws ConfigError naming the one that is wrong */
  setFaults(faults: unknown): void {
    this.#faults = createFaultPlan(faults)
  }

  answer(call: SearchCall): Reply {
    const { apiKeys = ['simulator-key'], keysWithoutPlan = [] } = this.#options
    const key = /^Bearer +(\S+)$/i.exec(call.authorization ?? '')?.[1]
    if (key === undefined) return refusal(401, 'missing API key: send Authorization: Bearer <key>')
    if (keysWithoutPlan.includes(key)) {
      return refusal(403, 'your plan does not include job change data', key)
    }
    if (!apiKeys.includes(key)) return refusal(401, 'invalid API key')
    const admission = this.#limit?.(key, call.monotonicMs)
    const headers = admission?.headers ?? {}
    if (admission?.isAdmitted === false) {
      return refusal(429, 'rate limit of the plan exceeded', key, headers)
    }
    try {
      return this.#answerPage(call, key, headers)
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      return refusal(400, error.message, key, headers)
    }
  }

  #answerPage(call: SearchCall, key: string, headers: Answer['headers']): Reply {
    if (call.body !== '' && !/^application\/json\b/i.test(call.contentType ?? '')) {
      throw new BadRequest('send the body with Content-Type: application/json')
    }
    const request = searchFromBody(call.body)
    const organizations = this.#named(request)
    const all = this.#options.source.organizations
    const ids = [...(organizations ?? [])].map((number) => all[number]?.organization_id ?? '')
    const strike = this.#faults(request.page, new Set(ids))
    const found = this.#search.page(request, organizations, call.nowMs)
    const price = found.events.length > 0 ? CREDITS_PER_PAGE : 0
    const { credit_used: said = price } = (strike?.fault.body ?? {}) as { credit_used?: number }
    const isPage = strike?.fault.status === undefined
    return {
      answer: isPage
        ? answerOf(200, pageBody(request, found, price), headers)
        : statusAnswer(strike.fault, headers),
      strike,
      facts: {
        key,
        organizations: ids.length,
        event_type: request.eventType ?? null,
        days_ago: request.daysAgo ?? null,
        page: request.page,
        limit: request.limit,
        fault: strike?.action ?? null,
        events: isPage ? found.events.length : 0,
        credits_used: strike?.isCharged === false ? 0 : said,
      },
    }
  }
}

function answerOf(status: number, body: string, headers: Answer['headers'] = {}): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(body),
  }
}

/** An error answer in the shape of the endpoint. Errors are never charged. */
export function errorAnswer(status: number, message: string, headers?: Answer['headers']): Answer {
  const body = { success: false, message, data: null, credit_used: 0 }
  return answerOf(status, JSON.stringify(body), headers)
}

function refusal(
  status: number,
  message: string,
  key: string | null = null,
  headers: Answer['headers'] = {},
): Reply {
  return { answer: errorAnswer(status, message, headers), facts: { key } }
}

function pageBody({ page, limit }: SearchRequest, found: FoundPage, price: number): string {
  const data = found.events.map(({ json }) => json).join()
  const pagination = JSON.stringify({ page, limit, has_more: found.hasMore })
  return `{"success":true,"message":"ok","data":[${data}],"pagination":${pagination},"credit_used":${price}}`
}

function statusAnswer(
  { status = 503, message, headers: own = {}, body }: Strike['fault'],
  limits: Answer['headers'],
): Answer {
  const texts = Object.entries(own).map(([name, value]) => [name, String(value)])
  const headers = { ...limits, ...(Object.fromEntries(texts) as Answer['headers']) }
  if (typeof body === 'string') return answerOf(status, body, headers)
  if (body !== undefined) return answerOf(status, JSON.stringify(body), headers)
  return errorAnswer(status, message ?? `fault: status ${status}`, headers)
}
