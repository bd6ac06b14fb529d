/** What the filters of a people search are called, such as companies and titles that begin with a text. */

import { z } from 'zod'
import { failedAnswer, type Endpoint } from './endpoint.ts'

const PRICE = { least: 1, most: 1 }

/** What there are suggestions of. */
export const SUGGEST_TYPES = [
  'company',
  'job_title',
  'location',
  'school',
  'technology',
  'function',
] as const

const foundSchema = z.looseObject({
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

  read: (json) => {
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, { ...PRICE, least: 0 }) ?? 'it has no results'
    const { results, credit_used: creditsSent = PRICE.most } = found.data
    const outcome = results.length === 0 ? 'absent' : 'found'
    // The envelope that is documented does not say what was charged.
    return { outcome, items: results.length, next: null, creditsSent, price: PRICE }
  },
}
