/**
 * One search of job changes from its parts to its answer: parameters, faults, page, charge. It knows neither sockets nor clocks:
 * the time comes with the call, the answer goes back to the server.
 */

import { companyDirectory, type NamedCompanies, type UnknownNames } from './companies.ts'
import type { EventSource } from './events.ts'
import type { FaultPlan } from './faults.ts'
import { replyOf, type Admitted, type Call, type Reply } from './gate.ts'
import { BadRequest, searchFromBody, type SearchRequest } from './search-request.ts'
import { Search, type FoundPage } from './search.ts'

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

  /** @throws BadRequest for a request that breaks a rule */
  answer(call: Call, admitted: Admitted, faults: FaultPlan): Reply {
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
    return replyOf(admitted, strike, {
      body: pageBody(request, found, price),
      credits: price,
      items: found.events.length,
      facts: {
        organizations: ids.length,
        event_type: request.eventType ?? null,
        days_ago: request.daysAgo ?? null,
        page: request.page,
        limit: request.limit,
      },
    })
  }
}

function pageBody({ page, limit }: SearchRequest, found: FoundPage, price: number): string {
  const data = found.events.map(({ json }) => json).join()
  const pagination = JSON.stringify({ page, limit, has_more: found.hasMore })
  return `{"success":true,"message":"ok","data":[${data}],"pagination":${pagination},"credit_used":${price}}`
}
