/** Companies by words, size, industry, and whether they hire. */

import { z } from 'zod'
import {
  failedAnswer,
  flag,
  listOf,
  numericId,
  optionalCount,
  pageOfList,
  type Endpoint,
} from './endpoint.ts'
import { EMPTY, priceOfFound, priceOfSearch } from './search-price.ts'

/** B: 1 to 10 people, C: to 50, D: to 200, E: to 500, F: to 1,000, G: to 5,000, H: to 10,000, I: more. */
const SIZES = ['B', 'C', 'D', 'E', 'F', 'G', 'H', 'I'] as const

const foundSchema = z.looseObject({
  data: z.looseObject({
    items: z.array(z.unknown()),
    total: optionalCount,
    total_pages: optionalCount,
  }),
  credit_used: z.unknown().optional(),
})

export const companySearch: Endpoint = {
  name: 'company-search',
  path: '/api/v1/company/search',
  subject: 'keyword',
  mayBeEmpty: true,
  request: z.strictObject({
    keyword: z.string().min(1).optional(),
    company_sizes: listOf(z.enum(SIZES), `expected some of ${SIZES.join(', ')}`).optional(),
    has_jobs: flag.optional(),
    industries: listOf(numericId, 'expected ids, which are numbers').optional(),
  }),
  pages: 'page',

  price: priceOfSearch,

  read: (json, asked) => {
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, EMPTY) ?? 'it has no items in data'
    const { data, credit_used: creditsSent } = found.data
    const items = data.items.length
    const { total, total_pages: pages } = data
    const price = priceOfFound(items)
    return { ...pageOfList(asked, { items, total, pages }), creditsSent, price }
  },
}
