/** Posts: each second opening that closes is followed by a word of welcome. Searched for, looked up, and shared. */

import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { DAY } from '../../support/units.ts'
import { BadRequest } from '../gate.ts'
import {
  has,
  notFound,
  pageOf,
  parametersOf,
  type ServedEndpoint,
  type ServedPost,
  type ServedWorld,
} from './world.ts'

const SEARCH_CREDITS = 5
const REPOSTS_CREDITS = 10
const AGES = { 'past-24h': DAY, 'past-week': 7 * DAY, 'past-month': 30 * DAY } as const
const REPOSTS = 30
const GONE = 'there is no such post'

const ids = z.union([z.array(z.int()), z.string().transform((text) => text.split(',').map(Number))])
const searchSchema = z.looseObject({
  keyword: z.string().optional(),
  date_posted: z.enum(Object.keys(AGES) as (keyof typeof AGES)[]).optional(),
  mentions_organization: ids.optional(),
  page: z.int().min(1).default(1),
})

export const postSearch: ServedEndpoint = {
  path: '/api/v1/post/search',
  answer(request, world) {
    const asked = parametersOf(searchSchema, request, 'a parameter of the post search is wrong')
    const { keyword, date_posted: age, mentions_organization: mentioned, page } = asked
    const since = age === undefined ? Number.NEGATIVE_INFINITY : world.nowMs - AGES[age]
    const found = world
      .posts()
      .filter(
        ({ text, at, author }) =>
          has(text, keyword) && at >= since && mentioned?.includes(1_000 + author.number) !== false,
      )
    const { items, total } = pageOf(found, page)
    return {
      items: items.length,
      credits: items.length === 0 ? 0 : SEARCH_CREDITS,
      body: { status: 'ok', data: { count: items.length, total, items: items.map(item) } },
    }
  },
}

const lookup = z.looseObject({
  url: z.string().min(1),
  page: z.union([z.int(), z.string().transform(Number)]).optional(),
  cursor: z.union([z.int(), z.string().transform(Number)]).optional(),
})

export const postDetails: ServedEndpoint = {
  path: '/api/v1/post',
  answer(request, world) {
    const post = postOf(request, world)
    if (post === undefined) return notFound(GONE)
    const { text, at } = post
    const { like_count: num_likes, num_comments } = countsOf(post)
    const social_count = { num_likes, num_comments, num_shares: REPOSTS }
    const body = { text, posted_at: isoInstant(at), social_count, author: authorOf(post) }
    return { body, credits: 1, items: 1 }
  },
}

export const postReposts: ServedEndpoint = {
  path: '/api/v1/post/reposts',
  answer(request, world) {
    const post = postOf(request, world)
    if (post === undefined) return notFound(GONE)
    const { page, cursor } = lookup.parse(request)
    const at = page ?? cursor ?? 1
    const people = world.people().slice(0, REPOSTS)
    const { items, total, pages } = pageOf(people, at)
    const reposts = items.map(({ person }) => ({
      actor: {
        name: person.full_name,
        image: { profile_pic: null, profile_urn: `urn:li:fsd_profile:${person.profile_id}` },
        description: person.headline,
        sub_description: '1d',
      },
      commentary: 'Welcome!',
    }))
    const body = { cursor: at < pages ? at + 1 : null, message: { reposts, total } }
    return { body, credits: REPOSTS_CREDITS, items: items.length }
  },
}

function postOf(request: Readonly<Record<string, unknown>>, world: ServedWorld) {
  const { url } = lookup.safeParse(request).data ?? {}
  const id = /(?:activity|ugcPost)[-:](\d+)/.exec(url ?? '')?.[1]
  if (id === undefined) throw new BadRequest('url must be the address of a post')
  return world.posts().find((post) => post.id === id)
}

function item(post: ServedPost) {
  const { id, text, at } = post
  return {
    urn: `urn:li:activity:${id}`,
    url: `https://network.example/feed/update/urn:li:activity:${id}`,
    text,
    posted_date_timestamp: at,
    reposted: false,
    author: authorOf(post),
    social_activity_counts_insight: countsOf(post),
  }
}

function authorOf({ author: { number, tracked } }: ServedPost) {
  const { name, slug, network_url: url } = tracked
  const id = 1_000 + number
  const urn = `urn:li:company:${id}`
  return { id, full_name: name, username: slug, type: 'company', url, urn }
}

function countsOf({ text }: ServedPost) {
  return { like_count: text.length, num_comments: 3, total_reaction_count: text.length + 5 }
}
