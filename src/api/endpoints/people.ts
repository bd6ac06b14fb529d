/** Endpoints about people: the search, the values of its filters, and suggestions for them. */

import { z } from 'zod'
import {
  ONE_THING,
  exactly,
  numericId,
  optionalCount,
  pageOfList,
  reading,
  type Endpoint,
} from './endpoint.ts'

const PAGE_CREDITS = 10
const LONGEST_KEYWORDS = 500

/** One value or a list; each may be excluded. */
function filterOf<Value extends z.ZodType>(
  value: Value,
  error = 'expected texts, or objects {value, exclude: true}',
) {
  const one = z.union([value, z.strictObject({ value, exclude: z.boolean().optional() })])
  return z.union([one, z.array(one).min(1)], { error }).optional()
}

const text = z.string().min(1)

const searchSchema = z.looseObject({
  results: z.array(z.unknown()),
  pagination: z.looseObject({ total: optionalCount }).nullish().catch(null),
})

export const peopleSearch: Endpoint = {
  name: 'people-search',
  path: '/api/v1/people-search/search',
  subject: 'company_linkedin_urls',
  mayBeEmpty: true,
  request: z.strictObject({
    keywords: text.max(LONGEST_KEYWORDS).optional(),
    job_title: filterOf(text),
    company_name: filterOf(text),
    company_linkedin_urls: filterOf(text),
    company_ids: filterOf(numericId, 'expected ids, which are numbers'),
    location: filterOf(text),
    seniority: filterOf(text),
    school: filterOf(text),
    technology: filterOf(text),
    function: filterOf(text),
  }),
  takesOthers: true,
  pages: 'page',
  price: () => ({ least: 0, most: PAGE_CREDITS }),
  read: reading(
    { schema: searchSchema, isSearch: true, absent: exactly(0), otherwise: 'it has no results' },
    ({ results: { length: items }, pagination }, asked) => ({
      ...pageOfList(asked, items, pagination?.total),
      price: exactly(items === 0 ? 0 : PAGE_CREDITS),
    }),
  ),
}

const FREE = exactly(0)
const FILTERS_PATH = '/api/v1/people-search/filters'
const DEEPEST = 8

export interface FilterValue {
  readonly filter: string
  readonly value: string
  /** Its label at the service; null if it has none. */
  readonly id: string | null
}

const named = z.looseObject({
  value: z.string().optional(),
  label: z.string().optional(),
  name: z.string().optional(),
  id: z.union([z.string(), z.number().transform(String)]).optional(),
})

// Members that wrap filters or their values, but are not the name of a filter.
const WRAPPERS = new Set(['data', 'filters', 'results', 'values', 'options', 'message'])

/** Finds, below the name of a filter, lists of texts, or of objects with a value, label or name. */
export function filterValuesIn(json: unknown, filter = '', depth = 0): FilterValue[] {
  if (depth > DEEPEST || json === null || typeof json !== 'object') return []
  if (!Array.isArray(json)) {
    const { name } = named.safeParse(json).data ?? {}
    return Object.entries(json).flatMap(([key, inner]) =>
      filterValuesIn(inner, WRAPPERS.has(key) ? (name ?? filter) : key, depth + 1),
    )
  }
  return json.flatMap((one: unknown) => {
    if (typeof one === 'string') return { filter, value: one, id: null }
    const { value, label, name, id } = named.safeParse(one).data ?? {}
    const text = value ?? label ?? name
    const within = filterValuesIn(one, filter, depth + 1)
    return text === undefined || within.length > 0
      ? within
      : { filter, value: text, id: id ?? null }
  })
}

const filtersSchema = z.looseObject({}).refine((json) => filterValuesIn(json).length > 0)

/** All values that the filters of a people search accept. Free. The service documents neither request nor answer. */
export const peopleFilters: Endpoint = {
  name: 'people-filters',
  path: FILTERS_PATH,
  target: () => FILTERS_PATH,
  subject: 'filters',
  request: z.strictObject({}),
  pages: null,
  price: () => FREE,
  read: reading(
    {
      schema: filtersSchema,
      isChargeUnsaid: true,
      absent: FREE,
      otherwise: 'it has no filter values',
    },
    (json) => ({ ...ONE_THING, items: filterValuesIn(json).length, price: FREE }),
  ),
}

const SUGGEST_PATH = '/api/v1/people-search/suggest'
const SUGGESTION = exactly(1)

const suggestSchema = z.looseObject({ results: z.array(z.unknown()) })

/** Suggests values for the filters of a people search, such as companies and titles that begin with a text. */
export const suggest: Endpoint = {
  name: 'suggest',
  path: SUGGEST_PATH,
  target: ({ suggest_type: type, q }) =>
    `${SUGGEST_PATH}/${encodeURIComponent(String(type))}?q=${encodeURIComponent(String(q))}`,
  subject: 'q',
  mayBeEmpty: true,
  request: z.strictObject({
    suggest_type: z.enum(['company', 'job_title', 'location', 'school', 'technology', 'function']),
    q: text,
  }),
  pages: null,
  price: () => SUGGESTION,
  read: reading(
    {
      schema: suggestSchema,
      isSearch: true,
      isChargeUnsaid: true,
      absent: { ...SUGGESTION, least: 0 },
      otherwise: 'it has no results',
    },
    ({ results: { length: items } }) => ({
      outcome: items === 0 ? 'absent' : 'found',
      items,
      next: null,
      price: SUGGESTION,
    }),
  ),
}
