/**
 * The search of job changes: a question (organisations, window, type, filters) is answered with a list of events, which its pages are
 * parts of. Knows neither sockets nor clocks: the time comes with the call.
 */

import { z } from 'zod'
import { jsonOrNull } from '../support/json.ts'
import { companySlug } from '../support/text.ts'
import { DAY } from '../support/units.ts'
import { has, placeOf } from './endpoints/world.ts'
import { EVENT_TYPES, type EventSource, type JobChangeEvent, type ServedEvent } from './events.ts'
import type { FaultPlan } from './faults.ts'
import { BadRequest, replyOf, type Admitted, type Call, type Reply } from './gate.ts'

export const SEARCH_PATH = '/api/v1/job-changes/search'

export interface SearchOptions {
  readonly source: EventSource
  /** Which of the untracked companies a 400 names: the first one (default), all, or none. */
  readonly unknownNames?: 'first' | 'all' | 'none'
}

const COMPANIES_MAX = 50
// Credits for a page with at least one event; an empty page is free.
const CREDITS_PER_PAGE = 10
const LONGEST_SHOWN = 200

const asArray = (value: unknown) => (typeof value === 'string' ? value.split(',') : value)
const names = z.preprocess(asArray, z.array(z.string().trim().min(1)).min(1).default([]))
const integer = (most: number) => z.int().min(1).max(most)
const text = z.string().trim().min(3).optional()

const schema = z.object({
  event_type: z.enum(EVENT_TYPES).optional(),
  organization_ids: names,
  company_urls: names,
  /** Undefined for all events. */
  days_ago: integer(365).optional(),
  page: integer(10_000).default(1),
  limit: integer(50).default(25),
  title: text,
  geo_city: text,
  geo_country_code: z
    .string()
    .regex(/^[a-z]{2}$/i)
    .optional(),
})

/** A search with valid parameters; names are not resolved yet. */
type SearchRequest = z.output<typeof schema>

const NAMES = 'a string or an array of strings, none of them empty'
const TEXT = 'a text of 3 characters or more'
const EXPECTED: Readonly<Record<string, string>> = {
  event_type: `one of ${EVENT_TYPES.join(', ')}`,
  organization_ids: NAMES,
  company_urls: NAMES,
  days_ago: 'an integer from 1 to 365',
  page: 'an integer from 1 to 10000',
  limit: 'an integer from 1 to 50',
  title: TEXT,
  geo_city: TEXT,
  geo_country_code: 'two letters',
}

/** The search in a POST body; an empty body asks for everything. @throws BadRequest */
export function searchFromBody(body: string): SearchRequest {
  const asked = body.trim() === '' ? {} : jsonOrNull(body)
  if (asked === null) throw new BadRequest('the body is not valid JSON')
  const parsed = schema.safeParse(asked)
  if (parsed.success) return parsed.data
  const name = String(parsed.error.issues[0]?.path[0] ?? '')
  if (name === '') throw new BadRequest('the body must be a JSON object')
  const sent = JSON.stringify((asked as Record<string, unknown>)[name]).slice(0, LONGEST_SHOWN)
  throw new BadRequest(`${name} must be ${EXPECTED[name]}; got ${sent}`)
}

export class Search {
  readonly #source: EventSource
  readonly #unknownNames: NonNullable<SearchOptions['unknownNames']>
  /** By organisation: the places of its events in the source. */
  readonly #places: number[][]
  readonly #numberById = new Map<string, number>()
  readonly #numbersBySlug = new Map<string, number[]>()

  constructor({ source, unknownNames = 'first' }: SearchOptions) {
    this.#source = source
    this.#unknownNames = unknownNames
    this.#places = source.organizations.map(() => [])
    for (const [place, { organization }] of source.events.entries()) {
      this.#places[organization]?.push(place)
    }
    for (const [
      number,
      { organization_id: id, slug, network_url: url },
    ] of source.organizations.entries()) {
      this.#numberById.set(id, number)
      const name = companySlug(slug ?? url ?? '')
      this.#numbersBySlug.set(name, [...(this.#numbersBySlug.get(name) ?? []), number])
    }
  }

  /** @throws BadRequest for a request that breaks a rule */
  answer(call: Call, admitted: Admitted, faults: FaultPlan): Reply {
    if (call.body !== '' && !/^application\/json\b/i.test(call.contentType ?? '')) {
      throw new BadRequest('send the body with Content-Type: application/json')
    }
    const request = searchFromBody(call.body)
    const { page, limit, event_type = null, days_ago = null } = request
    const organizations = this.#named(request)
    const all = this.#source.organizations
    const ids = [...(organizations ?? [])].map((number) => all[number]?.organization_id ?? '')
    const strike = faults(page, new Set(ids))
    const { events, hasMore } = this.page(request, organizations, call.nowMs)
    const credits = events.length > 0 ? CREDITS_PER_PAGE : 0
    const data = events.map(({ json }) => json).join()
    const pagination = JSON.stringify({ page, limit, has_more: hasMore })
    return replyOf(admitted, strike, {
      body: `{"success":true,"message":"ok","data":[${data}],"pagination":${pagination},"credit_used":${credits}}`,
      credits,
      items: events.length,
      facts: { organizations: ids.length, event_type, days_ago, page, limit },
    })
  }

  /**
   * The page that `request` asks for, as visible at `nowMs` (milliseconds since 1970 UTC).
   * @param organizations their positions in the source; undefined for all
   */
  page(
    request: SearchRequest,
    organizations: ReadonlySet<number> | undefined,
    nowMs: number,
  ): { readonly events: readonly ServedEvent[]; readonly hasMore: boolean } {
    const { event_type: type, days_ago: daysAgo, page, limit } = request
    const all = this.#source.events
    const places = organizations && [...organizations].flatMap((one) => this.#places[one] ?? [])
    const asked = places?.toSorted((a, b) => a - b).flatMap((place) => all[place] ?? []) ?? all
    const from = daysAgo === undefined ? -Infinity : nowMs - daysAgo * DAY
    // Both ends of the window belong to it.
    const seen = asked.filter(
      (one) => one.detectedAt >= from && one.detectedAt <= nowMs && (type ?? one.type) === one.type,
    )
    const events = hasFilter(request) ? seen.filter((one) => passes(one, request)) : seen
    const end = page * limit
    return { events: events.slice(end - limit, end), hasMore: end < events.length }
  }

  /**
   * The positions of the organisations that a request names; undefined when it names none, which asks for all. An id that
   * is not tracked finds nothing. A slug that several organisations share names all of them and counts as one company; as none
   * when an id named one of them.
   * @throws BadRequest for a URL or slug that is not tracked, and for more than 50 companies
   */
  #named({ organization_ids, company_urls: urls }: SearchRequest): Set<number> | undefined {
    if (organization_ids.length === 0 && urls.length === 0) return undefined
    const ids = new Set(organization_ids)
    const byId = new Set([...ids].flatMap((id) => this.#numberById.get(id) ?? []))
    const numbers = new Set(byId)
    const slugs = new Set<string>()
    const unknown: string[] = []
    for (const url of urls) {
      const slug = companySlug(url)
      const found = slug === '' ? [] : (this.#numbersBySlug.get(slug) ?? [])
      if (found.length === 0) unknown.push(url)
      else if (!found.some((number) => byId.has(number))) slugs.add(slug)
      for (const number of found) numbers.add(number)
    }
    if (unknown.length > 0) {
      const refusals = {
        first: `company_urls: company not tracked: ${unknown[0]}`,
        all: `companies not tracked: ${unknown.join(', ')}`,
        none: 'a company of the request is not tracked',
      }
      throw new BadRequest(refusals[this.#unknownNames])
    }
    const companies = ids.size + slugs.size
    if (companies <= COMPANIES_MAX) return numbers
    throw new BadRequest(
      `organization_ids and company_urls name ${companies} companies; at most ${COMPANIES_MAX} are allowed`,
    )
  }
}

type Filters = Pick<SearchRequest, 'title' | 'geo_city' | 'geo_country_code'>

function hasFilter({ title, geo_city: city, geo_country_code: country }: Filters): boolean {
  return (title ?? city ?? country) !== undefined
}

/** Whether the new title has all words of the title, and the person is in a place that has the city in its name. */
function passes({ json }: ServedEvent, filters: Filters): boolean {
  const { title, geo_city: city, geo_country_code: country } = filters
  const event = JSON.parse(json) as JobChangeEvent
  const place = placeOf(event.person.profile_id)
  const words = wordsOf(event.title.current)
  return (
    wordsOf(title ?? null).every((word) => words.includes(word)) &&
    has(place.city, city) &&
    (country === undefined || country.toUpperCase() === place.country)
  )
}

function wordsOf(text: string | null): string[] {
  return (text ?? '').toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
