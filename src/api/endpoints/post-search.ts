/** Searches posts by keyword, age, author and mentioned company. */

import { z } from 'zod'
import { listOf, numericId, type Endpoint } from './endpoint.ts'
import { pricedSearch } from './priced-search.ts'

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
  ...pricedSearch,
}
