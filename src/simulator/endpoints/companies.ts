/** Serves company search, company pages, openings, and suggestions of names and titles. */

import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { BadRequest } from '../gate.ts'
import { PLACES } from '../places.ts'
import { mixSeeds, pick, seededRandom } from '../random.ts'
import {
  has,
  notFound,
  pageOf,
  parametersOf,
  type ServedEndpoint,
  type ServedOrganization,
  type ServedPosting,
} from './world.ts'

/** Of companies, by how many people they have. */
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

const searchSchema = z.looseObject({
  keyword: z.string().optional(),
  company_sizes: z.array(z.enum(Object.keys(SIZES) as (keyof typeof SIZES)[])).optional(),
  has_jobs: z.boolean().optional(),
  page: z.int().min(1).default(1),
})

// As in the example of the documents; the price list says 10.
const SEARCH_CREDITS = 5

export const companySearch: ServedEndpoint = {
  path: '/api/v1/company/search',
  answer(request, world) {
    const asked = parametersOf(searchSchema, request, 'a parameter of the company search is wrong')
    const { keyword, company_sizes: sizes, has_jobs: hiring, page } = asked
    const found = world.organizations().filter(({ tracked, people, number }) => {
      const isSize = sizes?.some((size) => SIZES[size][0] <= people && people <= SIZES[size][1])
      if (!has(tracked.name, keyword) || isSize === false) return false
      return hiring === undefined || world.openings(number).length > 0 === hiring
    })
    const { items, total, pages: total_pages } = pageOf(found, page)
    const shown = items.map(({ tracked: { network_url, name, slug }, number }) => {
      return { id: 1_000 + number, network_url, name, universal_name: slug }
    })
    return {
      items: items.length,
      credits: items.length === 0 ? 0 : SEARCH_CREDITS,
      body: { status: 'ok', data: { current_page: page, total, total_pages, items: shown } },
    }
  },
}

const profileSchema = z.looseObject({
  url: z.string().min(1),
  company_insights: z.boolean().default(false),
  get_funding_rounds: z.boolean().default(false),
})

const PROFILE_CREDITS = 1
const INSIGHTS_CREDITS = 10
const FUNDING_CREDITS = 5
const OPENINGS_SHOWN = 10

const INDUSTRIES = ['Software Development', 'Banking', 'Retail', 'Machinery', 'Biotechnology']
const TYPES = ['Privately Held', 'Public Company', 'Nonprofit']

/** Its headcount follows the careers; all else is made up from its position. */
export const companyProfile: ServedEndpoint = {
  path: '/api/v1/company',
  answer(request, world) {
    const asked = parametersOf(profileSchema, request, 'url must be the address of a company page')
    const { url, company_insights: insights, get_funding_rounds: funding } = asked
    const organization = world.organizationOf(url)
    if (organization === undefined) {
      const body = { error: `no company page at ${url}`, retryable: false }
      return { body, credits: PROFILE_CREDITS, items: 0 }
    }
    const { number, tracked, people } = organization
    const openings = world.openings(number)
    const credits =
      PROFILE_CREDITS + (insights ? INSIGHTS_CREDITS : 0) + (funding ? FUNDING_CREDITS : 0)
    const month = isoInstant(world.nowMs).slice(0, 7)
    const snapshots = [{ total_count: openings.length, year_month_on: month }]
    const jobOpenings = { title: 'Openings', snapshots }
    const message = {
      ...profile(organization, openings),
      ...(insights && {
        insights: { headcount: { total: people }, job_openings: jobOpenings },
      }),
      ...(funding && { funding_rounds: { rounds: [], total_raised_usd: 0 } }),
    }
    return { items: 1, credits, organizationId: tracked.organization_id, body: { message } }
  },
}

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

const jobSchema = z.looseObject({
  job_id: z.string().regex(/^\d+$/).optional(),
  url: z.string().default(''),
  include_hiring_team: z.boolean().default(false),
})

/** One opening: it is listed some weeks before a person joins, and closes then. */
export const jobDetails: ServedEndpoint = {
  path: '/api/v1/jobs/detail',
  answer(request, world) {
    const rule = 'send job_id, or a url with the id of a job'
    const { job_id, url, include_hiring_team: hasTeam } = parametersOf(jobSchema, request, rule)
    const id = job_id ?? /(?:\/jobs\/view\/(?:[^/?#]*-)?|currentJobId=)(\d+)/.exec(url)?.[1]
    if (id === undefined) throw new BadRequest(rule)
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
        universal_name: tracked.slug,
        url: tracked.network_url,
        company_id: String(1_000 + number),
        staff_count: people,
      },
      ...(hasTeam && { hiring_team: { members: [], total: 0 } }),
    }
    const addon = hasTeam ? 1 : 0
    const body = { success: true, message: 'ok', data, credit_addon: addon }
    return { items: 1, credits: 1 + addon, organizationId: tracked.organization_id, body }
  },
}

function postingUrl(id: string): string {
  return `https://network.example/jobs/view/${id}`
}

const MOST_SUGGESTED = 10
const SUGGESTED = new Set(['company', 'job_title', 'location', 'school', 'technology', 'function'])

export const suggest: ServedEndpoint = {
  path: '/api/v1/people-search/suggest/',
  method: 'GET',
  answer({ rest, q }, world) {
    const type = String(rest)
    if (!SUGGESTED.has(type)) {
      throw new BadRequest(`suggest_type: there are no suggestions of ${type}`)
    }
    if (typeof q !== 'string' || q === '') throw new BadRequest('q: what to suggest is missing')
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
}

/** The filter values of a people search. The service's answer is undocumented, so the lists are made up. */
export const peopleFilters: ServedEndpoint = {
  path: '/api/v1/people-search/filters',
  method: 'GET',
  answer: () => ({ items: 0, credits: 0, body: { success: true, filters: PEOPLE_FILTERS } }),
}

const PEOPLE_FILTERS = {
  seniority: ['CXO', 'Vice President', 'Director', 'Manager', 'Senior', 'Entry'],
  function: ['Engineering', 'Marketing', 'Sales', 'Finance', 'Operations', 'Product Management'],
  company_type: ['Public', 'Private', 'Non Profit', 'Educational', 'Government'],
}
