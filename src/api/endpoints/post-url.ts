import { z } from 'zod'

/** The address of a post: with an activity or a ugcPost in its last part, or an activity as URN. */
export const postUrl = z.string().regex(/\/(?:posts|feed\/update)\/.*(?:activity|ugcPost)[-:]\d+/, {
  error: 'expected the address of a post, with the number of its activity or ugcPost',
})
