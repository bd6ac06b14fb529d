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
import { EMPTY, priceOfFound, priceOfSearch } from './search-price.ts'

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
  handles: ['username'],

  price: priceOfSearch,

  read: (json, asked) => {
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, EMPTY) ?? 'it has no items in data'
    const { data, credit_used: creditsSent } = found.data
    const items = data.items.length
    const price = priceOfFound(items)
    return { ...pageOfList(asked, { items, total: data.total }), creditsSent, price }
  },
}
