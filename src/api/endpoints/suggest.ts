/** Suggests values for the filters of a people search, such as companies and titles that begin with a text. */

import { z } from 'zod'
import { exactly, reading, type Endpoint } from './endpoint.ts'

const PRICE = exactly(1)

/** The kinds of suggestions. */
export const SUGGEST_TYPES = [
  'company',
  'job_title',
  'location',
  'school',
  'technology',
  'function',
] as const

const schema = z.looseObject({
  results: z.array(z.unknown()),
  credit_used: z.unknown().optional(),
})

const PATH = '/api/v1/people-search/suggest'

export const suggest: Endpoint = {
  name: 'suggest',
  path: PATH,
  target: ({ suggest_type: type, q }) =>
    `${PATH}/${encodeURIComponent(String(type))}?q=${encodeURIComponent(String(q))}`,
  subject: 'q',
  mayBeEmpty: true,
  request: z.strictObject({ suggest_type: z.enum(SUGGEST_TYPES), q: z.string().min(1) }),
  pages: null,

  price: () => PRICE,

  // The documented envelope has no charge.
  read: reading(
    { schema, isSearch: true, absent: { ...PRICE, least: 0 }, otherwise: 'it has no results' },
    ({ results, credit_used: creditsSent = PRICE.most }) => {
      const items = results.length
      const outcome = items === 0 ? 'absent' : 'found'
      return { outcome, items, next: null, creditsSent, price: PRICE }
    },
  ),
}
