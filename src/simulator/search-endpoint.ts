/**
 * One search from its parts to its answer: key, plan, rate limit, parameters, faults, page, charge. It knows neither
 * sockets nor clocks: the time comes with the call, the answer goes back to the server.
 */

import type { AccountEntry } from './account.ts'
import type { CompanyDirectory } from './companies.ts'
import type { EventSource } from './events.ts'
import type { FaultPlan, Strike } from './faults.ts'
import { renderPage } from './page-faults.ts'
import { errorBody } from './page.ts'
import { rateLimitHeaders, type RateLimit, type RateWindow } from './rate-window.ts'
import { BadRequest, searchFromBody, type SearchRequest } from './search-request.ts'
import type { Search } from './search.ts'
import type { Answer } from './wire-faults.ts'

/** The path of the endpoint. */
export const SEARCH_PATH = '/api/v1/job-changes/search'

/** The parts of a request that matter, and the server's time. */
export interface SearchCall {
  readonly body: string
  readonly contentType: string | undefined
  readonly authorization: string | undefined
  /** Milliseconds since 1970 UTC. */
  readonly nowMs: number
  readonly monotonicMs: number
}

/** What an account entry says about a search, apart from when and how it came. */
export type SearchFacts = Omit<AccountEntry, 'at' | 'method' | 'path' | 'status'>

/** An answer, the fault that changes how it travels, and the facts for the account. */
export interface Reply {
  readonly answer: Answer
  readonly strike: Strike | undefined
  readonly facts: SearchFacts
}

/** What the endpoint works with. */
export interface SearchEndpointParts {
  readonly source: EventSource
  readonly search: Search
  readonly directory: CompanyDirectory
  readonly apiKeys: ReadonlySet<string>
  readonly keysWithoutPlan: ReadonlySet<string>
  readonly limit: { readonly rate: RateLimit; readonly window: RateWindow } | undefined
  /** The faults of the moment: they can be replaced while the simulator runs. */
  readonly faults: () => FaultPlan
}

/** Facts about a request that did not get as far as a search. */
export const NO_FACTS: SearchFacts = {
  key: null,
  organizations: null,
  event_type: null,
  days_ago: null,
  page: null,
  limit: null,
  events: 0,
  credits_used: 0,
  fault: null,
}

const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8' }

/** An error answer in the shape of the endpoint. */
export function errorAnswer(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: errorBody(message) }
}

/** Answers one call of the endpoint. */
export function answerSearch(parts: SearchEndpointParts, call: SearchCall): Reply {
  const key = bearerKey(call.authorization)
  if (key === undefined) return refusal(401, 'missing API key: send Authorization: Bearer <key>')
  if (parts.keysWithoutPlan.has(key)) {
    return refusal(403, 'your plan does not include job change data', { ...NO_FACTS, key })
  }
  if (!parts.apiKeys.has(key)) return refusal(401, 'invalid API key')

  const { limit } = parts
  const admission = limit?.window.admit(key, call.monotonicMs)
  const headers = limit && admission ? rateLimitHeaders(limit.rate, admission, call.nowMs) : {}
  if (admission?.isAdmitted === false) {
    return refusal(429, 'rate limit of the plan exceeded', { ...NO_FACTS, key }, headers)
  }

  let request: SearchRequest
  let organizations: number[] | undefined
  try {
    request = readSearch(call)
    organizations = parts.directory.named(request)
  } catch (error) {
    if (!(error instanceof BadRequest)) throw error
    return refusal(400, error.message, { ...NO_FACTS, key }, headers)
  }
  return answerPage(parts, request, organizations, call.nowMs, key, headers)
}

function answerPage(
  parts: SearchEndpointParts,
  request: SearchRequest,
  organizations: readonly number[] | undefined,
  nowMs: number,
  key: string,
  headers: Readonly<Record<string, string>>,
): Reply {
  const { source, search } = parts
  const ids = organizations?.map((number) => source.organizations[number]?.organization_id ?? '')
  const strike = parts.faults().strike(request.page, new Set(ids))
  const facts: SearchFacts = {
    ...NO_FACTS,
    key,
    organizations: organizations?.length ?? 0,
    event_type: request.eventType ?? null,
    days_ago: request.daysAgo ?? null,
    page: request.page,
    limit: request.limit,
    fault: strike?.action ?? null,
  }
  if (strike?.fault.status !== undefined) {
    return { answer: statusAnswer(strike.fault, headers), strike, facts }
  }
  const find = (page: number) => search.page({ ...request, page }, organizations, nowMs)
  const page = renderPage(source, request, find, strike)
  return {
    answer: { status: 200, headers: { ...JSON_HEADERS, ...headers }, body: page.body },
    strike,
    facts: {
      ...facts,
      events: page.events,
      credits_used: strike?.isCharged === false ? 0 : page.creditsUsed,
    },
  }
}

function refusal(
  status: number,
  message: string,
  facts: SearchFacts = NO_FACTS,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return { answer: errorAnswer(status, message, headers), strike: undefined, facts }
}

function bearerKey(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

function readSearch(call: SearchCall): SearchRequest {
  if (call.body !== '' && !/^application\/json\b/i.test(call.contentType ?? '')) {
    throw new BadRequest('send the body with Content-Type: application/json')
  }
  return searchFromBody(call.body)
}

function statusAnswer(fault: Strike['fault'], headers: Readonly<Record<string, string>>): Answer {
  const status = fault.status ?? 503
  const own = Object.entries(fault.headers ?? {}).map(([name, value]) => [name, String(value)])
  const answer = errorAnswer(status, fault.message ?? `fault: status ${status}`, {
    ...headers,
    ...Object.fromEntries(own),
  })
  if (fault.body === undefined) return answer
  const body = typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body)
  return { ...answer, body: Buffer.from(body) }
}
