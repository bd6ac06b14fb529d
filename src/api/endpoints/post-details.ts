/** One post: its counts, and when it was published. */

import { z } from 'zod'
import { NOT_THERE, failedAnswer, type Endpoint } from './endpoint.ts'
import { postUrl } from './post-url.ts'

const PRICE = { least: 1, most: 1 }
const FREE_OR_PRICE = { least: 0, most: 1 }
const GONE = 404

// Its members are not documented but for the counts: an object is a post unless it says why it is none.
const foundSchema = z.looseObject({
  error: z.undefined().optional(),
  credit_used: z.unknown().refine((value) => value !== undefined),
})

export const postDetails: Endpoint = {
  name: 'post-details',
  path: '/api/v1/post',
  subject: 'url',
  request: z.strictObject({ url: postUrl }),
  pages: null,
  statuses: [GONE],

  price: () => PRICE,

  read: (json, { status }) => {
    if (status === GONE) return NOT_THERE
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, FREE_OR_PRICE) ?? 'it is no post'
    const { credit_used: creditsSent } = found.data
    return { outcome: 'found', items: 1, next: null, creditsSent, price: PRICE }
  },
}
