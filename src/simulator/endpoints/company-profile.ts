/** The page of a company. Its headcount follows the careers; all else is made up from its id. */

import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { mixSeeds, pick, seededRandom } from '../random.ts'
import { BadRequest } from '../search-request.ts'
import { postingUrl } from './job-details.ts'
import type { ServedAnswer, ServedEndpoint } from './endpoint.ts'
import type { ServedOrganization, ServedPosting } from './world.ts'

const schema = z.looseObject({
  url: z.string().min(1),
  company_insights: z.boolean().default(false),
  get_funding_rounds: z.boolean().default(false),
})

const PROFILE_CREDITS = 1
const INSIGHTS_CREDITS = 10
const FUNDING_CREDITS = 5
const OPENINGS_SHOWN = 10

const SIZES = [10, 50, 200, 500, 1_000, 5_000, 10_000] as const
const INDUSTRIES = ['Software Development', 'Banking', 'Retail', 'Machinery', 'Biotechnology']
const TYPES = ['Privately Held', 'Public Company', 'Nonprofit']
const CITIES = [
  ['Berlin', 'Berlin', 'DE'],
  ['Austin', 'Texas', 'US'],
  ['Lyon', 'Auvergne-Rhône-Alpes', 'FR'],
  ['Porto', 'Porto', 'PT'],
] as const

export const companyProfile: ServedEndpoint = {
  path: '/api/v1/company',
  answer(request, world) {
    const asked = schema.safeParse(request)
    if (!asked.success) throw new BadRequest('url must be the address of a company page')
    const { url, company_insights: insights, get_funding_rounds: funding } = asked.data
    const organization = world.organizationOf(url)
    if (organization === undefined) return absent(url)
    const openings = world.openings(organization.number)
    const credits =
      PROFILE_CREDITS + (insights ? INSIGHTS_CREDITS : 0) + (funding ? FUNDING_CREDITS : 0)
    return {
      items: 1,
      credits,
      organizationId: organization.tracked.organization_id,
      body: {
        message: {
          ...profile(organization, openings, url),
          ...(insights
            ? { insights: insightsOf(organization.people, openings.length, world.nowMs) }
            : {}),
          ...(funding ? { funding_rounds: { rounds: [], total_raised_usd: 0 } } : {}),
        },
      },
    }
  },
}

function absent(url: string): ServedAnswer {
  const body = { error: `no company page at ${url}`, retryable: false }
  return { body, credits: PROFILE_CREDITS, items: 0 }
}

function profile(
  { number, tracked, people }: ServedOrganization,
  openings: readonly ServedPosting[],
  url: string,
) {
  const random = seededRandom(mixSeeds(number, 79))
  const { name, slug, network_url: page } = tracked
  const [city, region, country] = pick(random, CITIES)
  const largest = SIZES.find((size) => people <= size)
  const smallest = SIZES[SIZES.findIndex((size) => size === largest) - 1] ?? 0
  const street = `${1 + (number % 90)} Main Street`
  const address = {
    address: `${street}, ${city}`,
    city_state: `${city}, ${region}`,
    is_primary: true,
    map_url: null,
    street_address: street,
  }
  return {
    company_id: String(1_000 + number),
    company_name: name,
    universal_name_id: slug,
    formatted_url: page,
    url: page,
    company_type: pick(random, TYPES),
    company_size:
      largest === undefined ? '10,001+ employees' : `${smallest + 1}-${largest} employees`,
    employee_count: people.toLocaleString('en-US'),
    tagline: null,
    description: `${name} is made up.`,
    industry: pick(random, INDUSTRIES),
    specialties: [],
    headquarters: `${city}, ${region}`,
    country_code: country,
    hq_address: address,
    locations: [address],
    founded_year: String(1950 + Math.floor(random() * 70)),
    followers: (people * 12).toLocaleString('en-US'),
    website: `https://${slug}.example`,
    stock_info: null,
    funding: null,
    jobs: [
      { open_jobs_count: openings.length, title: 'Jobs', url: `${page}/jobs` },
      ...openings.slice(0, OPENINGS_SHOWN).map(({ id, title }) => ({
        open_jobs_count: null,
        title,
        url: postingUrl(id),
      })),
    ],
    employees: [],
    affiliated_pages: [],
    similar_pages: [],
    update_data: [],
    input: url,
    extracted_contacts: {
      emails: [{ email: `info@${slug}.example`, type: 'professional', domain: `${slug}.example` }],
      personal_emails: [],
      professional_emails: [],
      phone_numbers: [],
    },
  }
}

function insightsOf(people: number, openings: number, nowMs: number) {
  return {
    headcount: { total: people },
    job_openings: {
      title: 'Openings',
      snapshots: [{ total_count: openings, year_month_on: isoInstant(nowMs).slice(0, 7) }],
    },
    median_tenure_years: 2.4,
  }
}
