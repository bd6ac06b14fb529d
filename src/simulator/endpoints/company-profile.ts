/** The page of a company. Its headcount follows the careers; all else is made up from its id. */

import { z } from 'zod'
import { isoInstant } from '../../support/clock.ts'
import { mixSeeds, pick, seededRandom } from '../random.ts'
import { BadRequest } from '../search-request.ts'
import { SIZES } from './company-search.ts'
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
          ...profile(organization, openings),
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
) {
  const random = seededRandom(mixSeeds(number, 79))
  const { name, slug, network_url: page } = tracked
  const [city, region, country] = pick(random, CITIES)
  const [least, most] = Object.values(SIZES).find((size) => people <= size[1]) ?? SIZES.I
  const street = `${1 + (number % 90)} Main Street`
  const address = `${street}, ${city}`
  const domain = `${slug}.example`
  const emails = ['info', 'ceo'].map((mailbox) => ({
    email: `${mailbox}@${domain}`,
    type: 'professional',
    domain,
  }))
  const city_state = `${city}, ${region}`
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
      ...openings.slice(0, OPENINGS_SHOWN).map(({ id, title }) => ({
        open_jobs_count: null,
        title,
        url: postingUrl(id),
      })),
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

function insightsOf(people: number, openings: number, nowMs: number) {
  return {
    headcount: { total: people },
    job_openings: {
      title: 'Openings',
      snapshots: [{ total_count: openings, year_month_on: isoInstant(nowMs).slice(0, 7) }],
    },
  }
}
