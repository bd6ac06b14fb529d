/** Serves companies, their openings, suggestions, people by the seat that they hold, and posts. */

import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { DAY } from '../../support/units.ts'
import { mixSeeds, pick, seededRandom } from '../random.ts'
import { jobChanges } from './job-changes.ts'
import {
  Refusal,
  has,
  notFound,
  pageOf,
  placeOf,
  PLACES,
  searchAnswer,
  served,
  type ServedEndpoint,
  type ServedOrganization,
  type ServedPerson,
  type ServedPost,
  type ServedPosting,
  type ServedWorld,
} from './world.ts'

const pageNumber = z.int().min(1).default(1)

const SIZES = {
  B: [1, 10],
  C: [11, 50],
  D: [51, 200],
  E: [201, 500],
  F: [501, 1_000],
  G: [1_001, 5_000],
  H: [5_001, 10_000],
  I: [10_001, Number.POSITIVE_INFINITY],
} as const

// As in the documented example; the price list says 10.
const COMPANIES_CREDITS = 5

const companySearch = served(
  'POST',
  '/api/v1/company/search',
  {
    keyword: z.string().optional(),
    company_sizes: z.array(z.enum(Object.keys(SIZES) as (keyof typeof SIZES)[])).optional(),
    has_jobs: z.boolean().optional(),
    page: pageNumber,
  },
  ({ keyword, company_sizes: sizes, has_jobs: hiring, page }, world) => {
    const found = world.organizations().filter(({ tracked, people, number }) => {
      const isSize = sizes?.some((size) => SIZES[size][0] <= people && people <= SIZES[size][1])
      if (!has(tracked.name, keyword) || isSize === false) return false
      return hiring === undefined || world.openings(number).length > 0 === hiring
    })
    return searchAnswer(found, page, COMPANIES_CREDITS, ({ items, total, pages: total_pages }) => {
      const shown = items.map(({ tracked: { network_url, name, slug }, number }) => {
        return { id: 1_000 + number, network_url, name, universal_name: slug }
      })
      return { status: 'ok', data: { current_page: page, total, total_pages, items: shown } }
    })
  },
)

const PROFILE_CREDITS = 1
const INSIGHTS_CREDITS = 10
const FUNDING_CREDITS = 5
const OPENINGS_SHOWN = 10

const INDUSTRIES = ['Software Development', 'Banking', 'Retail', 'Machinery', 'Biotechnology']
const TYPES = ['Privately Held', 'Public Company', 'Nonprofit']

/** Its headcount follows the careers; everything else is derived from its position. */
const companyProfile = served(
  'POST',
  '/api/v1/company',
  {
    url: z.string().min(1),
    company_insights: z.boolean().default(false),
    get_funding_rounds: z.boolean().default(false),
  },
  ({ url, company_insights: insights, get_funding_rounds: funding }, world) => {
    const organization = world.organizationOf(url)
    if (organization === undefined) {
      const body = { error: `no company page at ${url}`, retryable: false }
      return { body, credits: PROFILE_CREDITS, items: 0 }
    }
    const { number, tracked, people } = organization
    const openings = world.openings(number)
    const credits =
      PROFILE_CREDITS + (insights ? INSIGHTS_CREDITS : 0) + (funding ? FUNDING_CREDITS : 0)
    const message = {
      ...profile(organization, openings),
      ...(insights && { insights: { headcount: { total: people } } }),
      ...(funding && { funding_rounds: { rounds: [] } }),
    }
    return { items: 1, credits, organizationIds: [tracked.organization_id], body: { message } }
  },
)

function profile(
  { number, tracked, people }: ServedOrganization,
  openings: readonly ServedPosting[],
) {
  const random = seededRandom(mixSeeds(number, 79))
  const { name, slug, network_url: page } = tracked
  const { city, region, country } = pick(random, PLACES.slice(1))
  const [least, most] = Object.values(SIZES).find((size) => people <= size[1]) ?? SIZES.I
  const street = `${1 + (number % 90)} Main Street`
  const address = `${street}, ${city}`
  const city_state = `${city}, ${region}`
  const domain = `${slug}.example`
  const emails = ['info', 'ceo'].map((mailbox) => {
    return { email: `${mailbox}@${domain}`, type: 'professional', domain }
  })
  return {
    company_id: String(1_000 + number),
    company_name: name,
    url: page,
    company_type: pick(random, TYPES),
    company_size: most === Infinity ? '10,001+ employees' : `${least}-${most} employees`,
    employee_count: people.toLocaleString('en-US'),
    description: `${name} is made up.`,
    industry: pick(random, INDUSTRIES),
    headquarters: city_state,
    country_code: country,
    locations: [{ address, city_state, is_primary: true, street_address: street }],
    founded_year: String(1950 + Math.floor(random() * 70)),
    followers: (people * 12).toLocaleString('en-US'),
    website: `https://${domain}`,
    jobs: [
      { open_jobs_count: openings.length, title: 'Jobs', url: `${page}/jobs` },
      ...openings.slice(0, OPENINGS_SHOWN).map(({ id, title }) => {
        return { open_jobs_count: null, title, url: postingUrl(id) }
      }),
    ],
    employees: [],
    extracted_contacts: {
      emails,
      professional_emails: emails,
      personal_emails: [],
      phone_numbers: [{ number: `+1 555 ${1_000 + number}`, e164: `+1555${1_000 + number}` }],
    },
  }
}

/** One opening: it is listed some weeks before a person joins, and closes then. */
const jobDetails = served(
  'POST',
  '/api/v1/jobs/detail',
  {
    job_id: z.string().regex(/^\d+$/).optional(),
    url: z.string().default(''),
    include_hiring_team: z.boolean().default(false),
  },
  ({ job_id, url, include_hiring_team: hasTeam }, world) => {
    const id = job_id ?? /(?:\/jobs\/view\/(?:[^/?#]*-)?|currentJobId=)(\d+)/.exec(url)?.[1]
    if (id === undefined) throw new Refusal('send job_id, or a url with the id of a job')
    const posting = world.posting(id)
    if (posting === null) return notFound('the posting does not exist or was removed')
    const { organization, listedAt, closedAt, title } = posting
    const { tracked, number, people } = organization
    const listed = isoInstant(listedAt)
    const data = {
      title,
      job_posting_id: id,
      job_url: postingUrl(id),
      description: `${tracked.name ?? ''} is looking for a ${title}.`,
      employment_status: 'Full-time',
      experience_level: 'Mid-Senior level',
      listed_at: listed,
      original_listed_at: listed,
      closed_at: closedAt === null ? null : isoInstant(closedAt),
      is_reposted: false,
      job_state: closedAt === null ? 'LISTED' : 'CLOSED',
      total_applies: people,
      company_info: {
        name: tracked.name,
        url: tracked.network_url,
        company_id: String(1_000 + number),
      },
      ...(hasTeam && { hiring_team: { members: [] } }),
    }
    const addon = hasTeam ? 1 : 0
    const body = { success: true, message: 'ok', data, credit_addon: addon }
    return { items: 1, credits: 1 + addon, organizationIds: [tracked.organization_id], body }
  },
)

function postingUrl(id: string): string {
  return `https://network.example/jobs/view/${id}`
}

const MOST_SUGGESTED = 10
const SUGGESTED = ['company', 'job_title', 'location', 'school', 'technology', 'function']

const suggest = served(
  'GET',
  '/api/v1/people-search/suggest/',
  { rest: z.enum(SUGGESTED), q: z.string().min(1) },
  ({ rest: type, q }, world) => {
    const isCompany = type === 'company'
    const labels = isCompany
      ? world.organizations().map(({ tracked, people }) => ({
          label: tracked.name ?? '',
          meta: { employees: people, industry: 'Software', location: null, logo: null },
        }))
      : [...new Set(world.people().map(({ title }) => title))].map((label) => ({ label }))
    const results = (isCompany || type === 'job_title' ? labels : [])
      .map((one, at) => ({ ...one, value: one.label, id: String(at + (isCompany ? 1_000 : 0)) }))
      .filter(({ label }) => has(label, q))
      .slice(0, MOST_SUGGESTED)
    const body = { success: true, cached: false, results }
    return { items: results.length, credits: 1, body }
  },
)

/** The filter values of a people search. The service's answer is undocumented, so the lists are made up. */
const peopleFilters = served('GET', '/api/v1/people-search/filters', {}, () => {
  return { items: 0, credits: 0, body: { success: true, filters: PEOPLE_FILTERS } }
})

const PEOPLE_FILTERS = {
  seniority: ['CXO', 'Vice President', 'Director', 'Manager', 'Senior', 'Entry'],
  function: ['Engineering', 'Marketing', 'Sales', 'Finance', 'Operations', 'Product Management'],
  company_type: ['Public', 'Private', 'Non Profit', 'Educational', 'Government'],
}

const LONGEST_KEYWORDS = 500
const PEOPLE_CREDITS = 10
const JUST_CHANGED_DAYS = 90
const MONTH_MS = 30.44 * DAY

const oneOf = <Value extends z.ZodType>(value: Value) =>
  z.union([
    z.object({ value, exclude: z.boolean().default(false) }),
    value.transform((one) => ({ value: one, exclude: false })),
  ])
const filter = <Value extends z.ZodType>(value: Value) =>
  z.union([z.array(oneOf(value)), oneOf(value).transform((one) => [one])]).default([])

const peopleParameters = {
  keywords: z.string().max(LONGEST_KEYWORDS).optional(),
  job_title: filter(z.string()),
  company_name: filter(z.string()),
  company_linkedin_urls: filter(z.string()),
  company_ids: filter(z.int()),
  changed_jobs: z.union([z.boolean(), z.literal('Changed Jobs')]).default(false),
  page: pageNumber,
}
type Asked = z.output<z.ZodObject<typeof peopleParameters>>
type Filter = Asked['job_title']

const peopleSearch = served(
  'POST',
  '/api/v1/people-search/search',
  peopleParameters,
  (asked, world, request) => {
    const { page, company_linkedin_urls: all } = asked
    // Untracked company pages are not filters, and are named in the error.
    const isKnown = ({ value }: Filter[number]) => world.organizationOf(value) !== undefined
    const filters = { ...asked, company_linkedin_urls: all.filter(isKnown) }
    const unknown = all.filter((one) => !isKnown(one)).map(({ value }) => value)
    const found = world.people().filter((one) => isFound(one, filters, world.nowMs))
    return searchAnswer(found, page, PEOPLE_CREDITS, ({ items, start, total }) => ({
      success: true,
      results: items.map((one) => result(one, world.nowMs)),
      pagination: { page, total, count: items.length, start },
      filters_applied: Object.keys(request).length - unknown.length,
      filter_errors: unknown,
    }))
  },
)

function isFound(
  { person, organization: { tracked, number }, title, since }: ServedPerson,
  asked: Asked,
  nowMs: number,
): boolean {
  const slug = tracked.slug ?? ''
  const ids = asked.company_ids.filter(({ exclude }) => !exclude)
  return (
    passes(asked.company_name, (name) => has(tracked.name, name)) &&
    passes(asked.company_linkedin_urls, (url) => url.endsWith(`/${slug}`) || url === slug) &&
    (ids.length === 0 || ids.some(({ value }) => value === 1_000 + number)) &&
    passes(asked.job_title, (wanted) => has(title, wanted)) &&
    has(`${person.full_name ?? ''} ${title}`, asked.keywords) &&
    (asked.changed_jobs === false || nowMs - since < JUST_CHANGED_DAYS * DAY)
  )
}

/** Whether it matches one of the values, if any, and none of the excluded ones. */
function passes(filters: Filter, fits: (value: string) => boolean): boolean {
  const wanted = filters.filter(({ exclude }) => !exclude)
  const isWanted = wanted.length === 0 || wanted.some(({ value }) => fits(value))
  return isWanted && !filters.some(({ value, exclude }) => exclude && fits(value))
}

function result({ person, organization, title, since }: ServedPerson, nowMs: number) {
  const start = new Date(since)
  const { city, region } = placeOf(person.profile_id)
  const months = Math.max(0, Math.floor((nowMs - since) / MONTH_MS))
  return {
    full_name: person.full_name,
    first_name: person.first_name,
    last_name: person.last_name,
    location: `${city}, ${region}`,
    title,
    company: organization.tracked.name,
    company_id: String(1_000 + organization.number),
    is_current: true,
    started_on: { month: start.getUTCMonth() + 1, year: start.getUTCFullYear() },
    tenure_years: Math.floor(months / 12),
    tenure_months: months % 12,
    summary: null,
    open_link: false,
    profile_url: `https://network.example/sales/lead/ACw${person.profile_id.replace(/^[a-z]+_/, '')}`,
  }
}

// Posts: every second closed opening is followed by a welcome post.

const POSTS_CREDITS = 5
const REPOSTS_CREDITS = 10
const AGES = { 'past-24h': DAY, 'past-week': 7 * DAY, 'past-month': 30 * DAY } as const
const REPOSTS = 30
const GONE = 'there is no such post'

const postSearch = served(
  'POST',
  '/api/v1/post/search',
  {
    keyword: z.string().optional(),
    date_posted: z.enum(Object.keys(AGES) as (keyof typeof AGES)[]).optional(),
    mentions_organization: z
      .union([z.array(z.int()), z.string().transform((text) => text.split(',').map(Number))])
      .optional(),
    page: pageNumber,
  },
  ({ keyword, date_posted: age, mentions_organization: mentioned, page }, world) => {
    const since = age === undefined ? Number.NEGATIVE_INFINITY : world.nowMs - AGES[age]
    const found = world
      .posts()
      .filter(
        ({ text, at, author }) =>
          has(text, keyword) && at >= since && mentioned?.includes(1_000 + author.number) !== false,
      )
    return searchAnswer(found, page, POSTS_CREDITS, ({ items, total }) => ({
      status: 'ok',
      data: { count: items.length, total, items: items.map(item) },
    }))
  },
)

const postDetails = served('POST', '/api/v1/post', { url: z.string() }, ({ url }, world) => {
  const post = postOf(url, world)
  if (post === undefined) return notFound(GONE)
  const { text, at } = post
  const { like_count: num_likes, num_comments } = countsOf(post)
  const social_count = { num_likes, num_comments, num_shares: REPOSTS }
  const body = { text, posted_at: isoInstant(at), social_count, author: authorOf(post) }
  return { body, credits: 1, items: 1 }
})

const place = z.union([z.int(), z.string().transform(Number)]).optional()

const postReposts = served(
  'POST',
  '/api/v1/post/reposts',
  { url: z.string(), page: place, cursor: place },
  ({ url, page, cursor }, world) => {
    if (postOf(url, world) === undefined) return notFound(GONE)
    const at = page ?? cursor ?? 1
    const { items, total, pages } = pageOf(world.people().slice(0, REPOSTS), at)
    const reposts = items.map(({ person }) => ({
      actor: {
        name: person.full_name,
        image: { profile_urn: `urn:li:fsd_profile:${person.profile_id}` },
        description: person.headline,
      },
      commentary: 'Welcome!',
    }))
    const body = { cursor: at < pages ? at + 1 : null, message: { reposts, total } }
    return { body, credits: REPOSTS_CREDITS, items: items.length }
  },
)

function postOf(url: string, world: ServedWorld) {
  const id = /(?:activity|ugcPost)[-:](\d+)/.exec(url)?.[1]
  if (id === undefined) throw new Refusal('url must be the address of a post')
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

export const SERVED: readonly ServedEndpoint[] = [
  jobChanges,
  companyProfile,
  companySearch,
  jobDetails,
  peopleFilters,
  peopleSearch,
  postDetails,
  postReposts,
  postSearch,
  suggest,
]
