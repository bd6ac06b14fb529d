/** Endpoints about posts: one post, who shared it, and the search for posts. */

import { z } from 'zod'
import {
  ONE_THING,
  exactly,
  listOf,
  numericId,
  pricedSearch,
  reading,
  type Endpoint,
} from './endpoint.ts'

/** The address of a post: a URL that ends with an activity or ugcPost, or the URN of an activity. */
const postUrl = z.string().regex(/\/(?:posts|feed\/update)\/.*(?:activity|ugcPost)[-:]\d+/, {
  error: 'expected the address of a post, with the number of its activity or ugcPost',
})

const DETAILS = exactly(1)
const REPOSTS = exactly(10)

// Only its counts are documented, so any object counts as a post unless it gives a reason why there is none.
const postSchema = z.looseObject({
  error: z.null().optional(),
  credit_used: z.unknown().refine((value) => value !== undefined),
})

/** One post: its counts, and when it was published. */
export const postDetails: Endpoint = {
  name: 'post-details',
  path: '/api/v1/post',
  subject: 'url',
  request: z.strictObject({ url: postUrl }),
  pages: null,
  statuses: [404],
  price: () => DETAILS,
  read: reading(
    { schema: postSchema, absent: { ...DETAILS, least: 0 }, otherwise: 'it is not a post' },
    () => ({ ...ONE_THING, price: DETAILS }),
  ),
}

const repostsSchema = z.looseObject({
  cursor: z.union([z.int(), z.string()]).nullish().catch(null),
  message: z.looseObject({ reposts: z.array(z.unknown()) }),
})

/** The people who shared a post, and what they wrote. */
export const postReposts: Endpoint = {
  name: 'post-reposts',
  path: '/api/v1/post/reposts',
  subject: 'url',
  mayBeEmpty: true,
  request: z.strictObject({ url: postUrl }),
  pages: 'page',
  statuses: [404],
  price: () => REPOSTS,
  read: reading(
    {
      schema: repostsSchema,
      isChargeUnsaid: true,
      absent: { ...REPOSTS, least: 0 },
      otherwise: 'it has no reposts in message',
    },
    ({ cursor = null, message: { reposts } }) => ({
      outcome: 'found',
      items: reposts.length,
      next: cursor,
      price: REPOSTS,
    }),
  ),
}

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
