/**
 * One search of job changes from its parts to its answer: parameters, faults, page, charge. It knows neither sockets nor clocks:
 * the time comes with the call, the answer goes back to the server.
 */

import { companyDirectory, type NamedCompanies, type UnknownNames } from './companies.ts'
import type { EventSource } from './events.ts'
import type { FaultPlan } from './faults.ts'
import { answerOf, refusal, statusAnswer, type Admitted, type Call, type Reply } from './gate.ts'
import { BadRequest, searchFromBody, type SearchRequest } from './search-request.ts'
import { Search, type FoundPage } from './search.ts'
import type { Answer } from './wire-faults.ts'

export const SEARCH_PATH = '/api/v1/job-changes/search'

export interface SearchEndpointOptions {
  readonly source: EventSource
  /** Which of the untracked companies a 400 names: the first one (default), all, or none. */
  readonly unknownNames?: UnknownNames
}

// Credits for a page with at least one event; an empty page is free.
const CREDITS_PER_PAGE = 10

export class SearchEndpoint {
  readonly #options: SearchEndpointOptions
  readonly #search: Search
  readonly #named: NamedCompanies

  constructor(options: SearchEndpointOptions) {
    const { source, unknownNames = 'first' } = options
    this.#options = options
    this.#search = new Search(source)
    this.#named = companyDirectory(source, unknownNames)
  }

  answer(call: Call, { key, headers }: Admitted, faults: FaultPlan): Reply {
    try {
      return this.#answerPage(call, key, headers, faults)
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      return refusal(400, error.message, key, headers)
    }
  }

  #answerPage(call: Call, key: string, headers: Answer['headers'], faults: FaultPlan): Reply {
    if (call.body !== '' && !/^application\/json\b/i.test(call.contentType ?? '')) {
      throw new BadRequest('send the body with Content-Type: application/json')
    }
    const request = searchFromBody(call.body)
    const organizations = this.#named(request)
    const all = this.#options.source.organizations
    const ids = [...(organizations ?? [])].map((number) => all[number]?.organization_id ?? '')
    const strike = faults(request.page, new Set(ids))
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

function pageBody({ page, limit }: SearchRequest, found: FoundPage, price: number): string {
  const data = found.events.map(({ json }) => json).join()
  const pagination = JSON.stringify({ page, limit, has_more: found.hasMore })
  return `{"success":true,"message":"ok","data":[${data}],"pagination":${pagination},"credit_used":${price}}`
}
