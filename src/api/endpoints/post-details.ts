/** One post: its counts, and when it was published. */

import { z } from 'zod'
import { ONE_THING, exactly, reading, type Endpoint } from './endpoint.ts'
import { postUrl } from './post-url.ts'

const PRICE = exactly(1)

// Only its counts are documented, so any object counts as a post unless it gives a reason why there is none.
const schema = z.looseObject({
  error: z.null().optional(),
  credit_used: z.unknown().refine((value) => value !== undefined),
})

export const postDetails: Endpoint = {
  name: 'post-details',
  path: '/api/v1/post',
  subject: 'url',
  request: z.strictObject({ url: postUrl }),
  pages: null,
  statuses: [404],

  price: () => PRICE,

  read: reading({ schema, absent: { ...PRICE, least: 0 }, otherwise: 'it is not a post' }, () => ({
    ...ONE_THING,
    price: PRICE,
  })),
}
