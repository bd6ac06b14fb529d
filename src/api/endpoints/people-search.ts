/** Searches people by job, place and employer. */

import { z } from 'zod'
import {
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

const schema = z.looseObject({
  results: z.array(z.unknown()),
  pagination: z.looseObject({ total: optionalCount }).nullish().catch(null),
  credit_used: z.unknown().optional(),
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
    { schema, isSearch: true, absent: exactly(0), otherwise: 'it has no results' },
    ({ results: { length: items }, pagination }, asked) => ({
      ...pageOfList(asked, items, pagination?.total),
      price: exactly(items === 0 ? 0 : PAGE_CREDITS),
    }),
  ),
}
