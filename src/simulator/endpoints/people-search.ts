/** People by the seat that they hold. */

import { z } from 'zod'
import { DAY } from '../../support/units.ts'
import { placeOf } from '../places.ts'
import { has, pageOf, parametersOf, type ServedEndpoint, type ServedPerson } from './world.ts'

const LONGEST_KEYWORDS = 500
const CREDITS = 10
const JUST_CHANGED_DAYS = 90
const MONTH_MS = 30.44 * DAY

const oneOf = <Value extends z.ZodType>(value: Value) =>
  z.union([
    z.object({ value, exclude: z.boolean().default(false) }),
    value.transform((one) => ({ value: one, exclude: false })),
  ])
const filter = <Value extends z.ZodType>(value: Value) =>
  z.union([z.array(oneOf(value)), oneOf(value).transform((one) => [one])]).default([])

const schema = z.looseObject({
  keywords: z.string().max(LONGEST_KEYWORDS).optional(),
  job_title: filter(z.string()),
  company_name: filter(z.string()),
  company_linkedin_urls: filter(z.string()),
  company_ids: filter(z.int()),
  changed_jobs: z.union([z.boolean(), z.literal('Changed Jobs')]).default(false),
  page: z.int().min(1).default(1),
})
type Asked = z.output<typeof schema>
type Filter = Asked['job_title']

export const peopleSearch: ServedEndpoint = {
  path: '/api/v1/people-search/search',
  answer(request, world) {
    const asked = parametersOf(schema, request, 'a filter of the people search is wrong')
    const { page, company_linkedin_urls: all } = asked
    // Untracked company pages are not filters, and are named in the error.
    const isKnown = ({ value }: Filter[number]) => world.organizationOf(value) !== undefined
    const filters = { ...asked, company_linkedin_urls: all.filter(isKnown) }
    const unknown = all.filter((one) => !isKnown(one)).map(({ value }) => value)
    const found = world.people().filter((one) => isFound(one, filters, world.nowMs))
    const { items, start, total } = pageOf(found, page)
    return {
      items: items.length,
      credits: items.length === 0 ? 0 : CREDITS,
      body: {
        success: true,
        results: items.map((one) => result(one, world.nowMs)),
        pagination: { page, total, count: items.length, start },
        filters_applied: Object.keys(request).length - unknown.length,
        filter_errors: unknown,
      },
    }
  },
}

function isFound(
  { person, organization, title, since }: ServedPerson,
  asked: Asked,
  nowMs: number,
): boolean {
  const { tracked, number } = organization
  const slug = tracked.slug ?? ''
  const isCompany =
    passes(asked.company_name, (name) => has(tracked.name, name)) &&
    passes(asked.company_linkedin_urls, (url) => url.endsWith(`/${slug}`) || url === slug)
  const ids = asked.company_ids.filter(({ exclude }) => !exclude)
  return (
    isCompany &&
    (ids.length === 0 || ids.some(({ value }) => value === 1_000 + number)) &&
    passes(asked.job_title, (wanted) => has(title, wanted)) &&
    has(`${person.full_name ?? ''} ${title}`, asked.keywords) &&
    (asked.changed_jobs === false || nowMs - since < JUST_CHANGED_DAYS * DAY)
  )
}

/** Whether one of the values fits, where there are any, and none of those that are excluded. */
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
