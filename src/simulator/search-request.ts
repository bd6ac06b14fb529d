/**
 * What a search asks for, read from a JSON body and checked by the rules of the endpoint. Pure.
 * Every refusal is a 400 whose message names the parameter and what was sent.
 */

import { z } from 'zod'
import { jsonOrNull } from '../support/json.ts'
import { EVENT_TYPES } from './events.ts'

export const COMPANIES_MAX = 50

/** A request that breaks a rule: becomes a 400 with this message. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest'
}

const asArray = (value: unknown) => (typeof value === 'string' ? value.split(',') : value)
const names = z.preprocess(asArray, z.array(z.string().trim().min(1)).min(1).optional())
const integer = (most: number) => z.int().min(1).max(most)
const text = z.string().trim().min(3).optional()

const schema = z
  .object({
    event_type: z.enum(EVENT_TYPES).optional(),
    organization_ids: names,
    company_urls: names,
    days_ago: integer(365).optional(),
    page: integer(10_000).default(1),
    limit: integer(50).default(25),
    title: text,
    geo_city: text,
    geo_country_code: z
      .string()
      .regex(/^[a-z]{2}$/i)
      .optional(),
  })
  .transform((asked) => ({
    eventType: asked.event_type,
    organizationIds: asked.organization_ids ?? [],
    companyUrls: asked.company_urls ?? [],
    /** Undefined for all events. */
    daysAgo: asked.days_ago,
    title: asked.title,
    city: asked.geo_city,
    country: asked.geo_country_code,
    page: asked.page,
    limit: asked.limit,
  }))

/** A search whose parameters keep the rules; names are not looked up yet. */
export type SearchRequest = z.output<typeof schema>

const NAMES = 'a string or an array of strings, none of them empty'
const TEXT = 'a text of 3 characters or more'
const EXPECTED: Readonly<Record<string, string>> = {
  event_type: `one of ${EVENT_TYPES.join(', ')}`,
  organization_ids: NAMES,
  company_urls: NAMES,
  days_ago: 'an integer from 1 to 365',
  page: 'an integer from 1 to 10000',
  limit: 'an integer from 1 to 50',
  title: TEXT,
  geo_city: TEXT,
  geo_country_code: 'two letters',
}

const LONGEST_SHOWN = 200

/** The search in a POST body; an empty body asks for everything. */
export function searchFromBody(body: string): SearchRequest {
  const asked = body.trim() === '' ? {} : jsonOrNull(body)
  if (asked === null) throw new BadRequest('the body is not valid JSON')
  const parsed = schema.safeParse(asked)
  if (parsed.success) return parsed.data
  const name = String(parsed.error.issues[0]?.path[0] ?? '')
  if (name === '') throw new BadRequest('the body must be a JSON object')
  const sent = JSON.stringify((asked as Record<string, unknown>)[name]).slice(0, LONGEST_SHOWN)
  throw new BadRequest(`${name} must be ${EXPECTED[name]}; got ${sent}`)
}
