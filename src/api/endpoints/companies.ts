/** Endpoints about companies: a company's page, and the search for companies. */

import { z } from 'zod'
import {
  ONE_THING,
  exactly,
  flag,
  listOf,
  numericId,
  pricedSearch,
  reading,
  type Endpoint,
  type LookupRequest,
} from './endpoint.ts'

const PROFILE_CREDITS = 1
const INSIGHTS_CREDITS = 10
const FUNDING_CREDITS = 5

const LONGEST_URL = 500
const CONTACTS = ['message', 'extracted_contacts']

// A section that failed holds the reason instead of data, and is not billed.
const part = z
  .looseObject({ error: z.unknown().optional() })
  .nullish()
  .catch(null)
  .transform((value) => value ?? null)

const schema = z.looseObject({ message: z.looseObject({ insights: part, funding_rounds: part }) })

/** A company's page: who it is, how many people it has, where it is, and who owns it. */
export const companyProfile: Endpoint = {
  name: 'company-profile',
  path: '/api/v1/company',
  subject: 'url',
  request: z.strictObject({
    url: z.string().min(1).max(LONGEST_URL),
    use_cache: z.enum(['if-present', 'if-recent', 'never']).optional(),
    lang: z.string().min(2).max(20).optional(),
    company_insights: flag.optional(),
    get_funding_rounds: flag.optional(),
  }),
  pages: null,
  notKept: [CONTACTS, ['message', 'employees']],
  contacts: CONTACTS,

  price: (request) => ({
    least: PROFILE_CREDITS,
    most: PROFILE_CREDITS + partsPrice(request, () => true),
  }),

  // "No such page" is billed.
  read: reading(
    { schema, absent: exactly(PROFILE_CREDITS), otherwise: 'it has no company in message' },
    ({ message }, { request }) => {
      const isThere = (name: 'insights' | 'funding_rounds') =>
        message[name] !== null && (message[name].error ?? null) === null
      return { ...ONE_THING, price: exactly(PROFILE_CREDITS + partsPrice(request, isThere)) }
    },
  ),
}

function partsPrice(
  { company_insights: insights, get_funding_rounds: funding }: LookupRequest,
  isThere: (part: 'insights' | 'funding_rounds') => boolean,
): number {
  const ofInsights = insights === true && isThere('insights') ? INSIGHTS_CREDITS : 0
  return ofInsights + (funding === true && isThere('funding_rounds') ? FUNDING_CREDITS : 0)
}

/** B: 1 to 10 people, C: to 50, D: to 200, E: to 500, F: to 1,000, G: to 5,000, H: to 10,000, I: more. */
const SIZES = ['B', 'C', 'D', 'E', 'F', 'G', 'H', 'I'] as const

export const companySearch: Endpoint = {
  name: 'company-search',
  path: '/api/v1/company/search',
  subject: 'keyword',
  mayBeEmpty: true,
  request: z.strictObject({
    keyword: z.string().min(1).optional(),
    company_sizes: listOf(z.enum(SIZES), `expected one or more of ${SIZES.join(', ')}`).optional(),
    has_jobs: flag.optional(),
    industries: listOf(numericId, 'expected ids, which are numbers').optional(),
  }),
  pages: 'page',
  ...pricedSearch,
}
