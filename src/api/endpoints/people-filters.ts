/** All values that the filters of a people search accept. Free. The service documents neither request nor answer. */

import { z } from 'zod'
import { ONE_THING, exactly, reading, type Endpoint } from './endpoint.ts'

const FREE = exactly(0)
const PATH = '/api/v1/people-search/filters'
const DEEPEST = 8

/** A value of a filter. */
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

/**
 * The values in an answer, in any of these shapes below the name of the filter: lists of texts, or of objects with a
 * value, label or name.
 */
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

// Members that wrap filters or their values, but are not the name of a filter.
const WRAPPERS = new Set(['data', 'filters', 'results', 'values', 'options', 'message'])

const schema = z
  .looseObject({ credit_used: z.unknown().optional() })
  .refine((json) => filterValuesIn(json).length > 0)

export const peopleFilters: Endpoint = {
  name: 'people-filters',
  path: PATH,
  target: () => PATH,
  subject: 'filters',
  request: z.strictObject({}),
  pages: null,

  price: () => FREE,

  read: reading(
    { schema, absent: FREE, otherwise: 'it has no filter values' },
    ({ credit_used: creditsSent = 0, ...json }) => ({
      ...ONE_THING,
      items: filterValuesIn(json).length,
      creditsSent,
      price: FREE,
    }),
  ),
}
