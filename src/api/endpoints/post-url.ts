import { z } from 'zod'

/** The address of a post: a URL that ends with an activity or ugcPost, or the URN of an activity. */
export const postUrl = z.string().regex(/\/(?:posts|feed\/update)\/.*(?:activity|ugcPost)[-:]\d+/, {
  error: 'expected the address of a post, with the number of its activity or ugcPost',
})
