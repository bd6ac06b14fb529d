/** Searches companies by keyword, size, industry, and whether they are hiring. */

import { z } from 'zod'
import { flag, listOf, numericId, type Endpoint } from './endpoint.ts'
import { pricedSearch } from './priced-search.ts'

/** B: 1 to 10 people, C: to 50, D: to 200, E: to 500, F: to 1,000, G: to 5,000, H: to 10,000, I: more. */
const SIZES = ['B', 'C', 'D', 'E', 'F', 'G', 'H', 'I'] as const

export const companySearch: Endpoint = {
  name: 'company-search',
  path: '/api/v1/company/search',
  subject: 'keyword',
  mayBeEmpty: true,
  request: z.strictObject({
    keyword: z.string().min(1).optional(),
    company_sizes: listOf(z.enum(SIZES), `expected one or more of ${SIZES.join(', ')}`).optional(),
    has_jobs: flag.optional(),
    industries: listOf(numericId, 'expected ids, which are numbers').optional(),
  }),
  pages: 'page',
  ...pricedSearch,
}
