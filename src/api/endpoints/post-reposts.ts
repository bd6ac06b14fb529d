/** The people who shared a post, and what they wrote. */

import { z } from 'zod'
import { exactly, reading, type Endpoint } from './endpoint.ts'
import { postUrl } from './post-url.ts'

const PAGE = exactly(10)

const schema = z.looseObject({
  cursor: z.union([z.int(), z.string()]).nullish().catch(null),
  message: z.looseObject({ reposts: z.array(z.unknown()) }),
  credit_used: z.unknown().optional(),
})

export const postReposts: Endpoint = {
  name: 'post-reposts',
  path: '/api/v1/post/reposts',
  subject: 'url',
  mayBeEmpty: true,
  request: z.strictObject({ url: postUrl }),
  pages: 'page',
  statuses: [404],

  price: () => PAGE,

  // The documented envelope has no charge.
  read: reading(
    { schema, absent: { ...PAGE, least: 0 }, otherwise: 'it has no reposts in message' },
    ({ cursor = null, message, credit_used: creditsSent = PAGE.most }) => {
      const items = message.reposts.length
      return { outcome: 'found', items, next: cursor, creditsSent, price: PAGE }
    },
  ),
}
