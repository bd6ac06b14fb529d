/** The search of job changes: a question is answered with a list of events, which its pages are parts of. */

import { z } from 'zod'
import { companySlug } from '../../support/text.ts'
import { DAY } from '../../support/units.ts'
import { EVENT_TYPES, type JobChangeEvent, type ServedEvent } from '../events.ts'
import { Refusal, has, placeOf, served, type WorldBehind } from './world.ts'

const COMPANIES_MAX = 50
// Credits for a page with at least one event; an empty page is free.
const CREDITS_PER_PAGE = 10

const asArray = (value: unknown) => (typeof value === 'string' ? value.split(',') : value)
const names = z.preprocess(asArray, z.array(z.string().trim().min(1)).min(1).default([]))
const integer = (most: number) => z.int().min(1).max(most)
const text = z.string().trim().min(3).optional()

const parameters = {
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
    .regex(/^[a-z]{2}$/i, 'expected two letters')
    .optional(),
}

/** A search with valid parameters; names are not resolved yet. */
type SearchRequest = z.output<z.ZodObject<typeof parameters>>

export const jobChanges = served(
  'POST',
  '/api/v1/job-changes/search',
  parameters,
  (asked, { behind, nowMs }) => {
    const { page, limit, event_type: type, days_ago: days } = asked
    const { source, placesOf } = behind
    const numbers = named(asked, behind)
    const places = numbers && [...numbers].flatMap((one) => placesOf[one] ?? [])
    const own = places?.toSorted((a, b) => a - b).flatMap((place) => source.events[place] ?? [])
    const from = days === undefined ? -Infinity : nowMs - days * DAY
    // Both ends of the window belong to it.
    const found = (own ?? source.events).filter(
      (one) =>
        one.detectedAt >= from &&
        one.detectedAt <= nowMs &&
        (type ?? one.type) === one.type &&
        passes(one, asked),
    )
    const end = page * limit
    const events = found.slice(end - limit, end)
    const credits = events.length > 0 ? CREDITS_PER_PAGE : 0
    const data = events.map(({ json }) => json).join()
    const pagination = JSON.stringify({ page, limit, has_more: end < found.length })
    return {
      body: `{"success":true,"message":"ok","data":[${data}],"pagination":${pagination},"credit_used":${credits}}`,
      credits,
      items: events.length,
      organizationIds: [...(numbers ?? [])].flatMap(
        (one) => source.organizations[one]?.organization_id ?? [],
      ),
    }
  },
)

/**
 * The positions of the organisations that a request names; undefined when it names none, which asks for all. An id that
 * is not tracked finds nothing. A slug that several organisations share names all of them and counts as one company; as none
 * when an id named one of them.
 * @throws Refusal for a URL or slug that is not tracked, and for more than 50 companies
 */
function named(
  { organization_ids, company_urls: urls }: SearchRequest,
  { numberById, numbersBySlug }: WorldBehind,
): Set<number> | undefined {
  if (organization_ids.length === 0 && urls.length === 0) return undefined
  const ids = new Set(organization_ids)
  const byId = new Set([...ids].flatMap((id) => numberById.get(id) ?? []))
  const numbers = new Set(byId)
  const slugs = new Set<string>()
  for (const url of urls) {
    const slug = companySlug(url)
    const found = slug === '' ? undefined : numbersBySlug.get(slug)
    if (found === undefined) throw new Refusal(`company_urls: company not tracked: ${url}`)
    if (!found.some((number) => byId.has(number))) slugs.add(slug)
    for (const number of found) numbers.add(number)
  }
  const companies = ids.size + slugs.size
  if (companies <= COMPANIES_MAX) return numbers
  throw new Refusal(
    `organization_ids and company_urls name ${companies} companies; at most ${COMPANIES_MAX} are allowed`,
  )
}

/** Whether the new title has all words of the title, and the person is in a place that has the city in its name. */
function passes({ json }: ServedEvent, filters: SearchRequest): boolean {
  const { title, geo_city: city, geo_country_code: country } = filters
  if ((title ?? city ?? country) === undefined) return true
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
