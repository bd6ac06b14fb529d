/** Who shared a post, and in what words. */

import { z } from 'zod'
import { NOT_THERE, failedAnswer, type Endpoint } from './endpoint.ts'
import { postUrl } from './post-url.ts'

const PAGE_CREDITS = { least: 10, most: 10 }
const FREE_OR_PAGE = { least: 0, most: 10 }
const GONE = 404

const foundSchema = z.looseObject({
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
  statuses: [GONE],

  price: () => PAGE_CREDITS,

  read: (json, { status }) => {
    if (status === GONE) return NOT_THERE
    const found = foundSchema.safeParse(json)
    if (!found.success) return failedAnswer(json, FREE_OR_PAGE) ?? 'it has no reposts in message'
    const { cursor = null, message, credit_used: creditsSent = PAGE_CREDITS.most } = found.data
    // The envelope that is documented does not say what was charged.
    const items = message.reposts.length
    return { outcome: 'found', items, next: cursor, creditsSent, price: PAGE_CREDITS }
  },
}
