/** Posts by words, age, author, and the companies that they mention. */

import { z } from 'zod'
import {
  failedAnswer,
  listOf,
  numericId,
  optionalCount,
  pageOfList,
  type Endpoint,
} from './endpoint.ts'

// The price list says 10, and the service's example 5; the ledger tells which.
const PAGE_CREDITS = { least: 5, most: 10 }
// Whether one without posts is charged is not documented.
const EMPTY_CREDITS = { least: 0, most: 10 }

const foundSchema = z.looseObject({
  data: z.looseObject({ items: z.array(z.unknown()), total: optionalCount }),
  credit_used: z.unknown().optional(),
})

export const postSearch: Endpoint = {
  name: 'post-search',
  path: '/api/v1/post/search',
  subject: 'keyword',
  mayBeEmpty: true,
  request: z.strictObject({
    keyword: z.string().min(1).optional(),
    sort_by: z.enum(['date_posted', 'relevance']).optional(),
    date_posted: z.enum(['past-24h', 'past-week', 'past-month']).optional(),
    content_type: z.enum(['photos', 'videos', 'jobs', 'liveVideos', 'documents']).optional(),
    author_title: z.string().min(1).optional(),
    mentions_organization: listOf(numericId, 'expected ids, which are numbers').optional(),
  }),
  pages: 'page',

  price: () => PAGE_CREDITS,

  read: (json, asked) => {
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, EMPTY_CREDITS) ?? 'it has no items in data'
    const { data, credit_used: creditsSent } = found.data
    const items = data.items.length
    const price = items === 0 ? EMPTY_CREDITS : PAGE_CREDITS
    return { ...pageOfList(asked, { items, total: data.total }), creditsSent, price }
  },
}
