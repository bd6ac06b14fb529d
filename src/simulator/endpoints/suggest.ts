/** What companies and titles are called. */

import { BadRequest } from '../search-request.ts'
import { has, type ServedEndpoint } from './endpoint.ts'

const MOST = 10
const TYPES = new Set(['company', 'job_title', 'location', 'school', 'technology', 'function'])

export const suggest: ServedEndpoint = {
  path: '/api/v1/people-search/suggest/',
  method: 'GET',
  answer({ rest, q }, world) {
    const type = String(rest)
    if (!TYPES.has(type)) throw new BadRequest(`suggest_type: there are no suggestions of ${type}`)
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
      .slice(0, MOST)
    const body = { success: true, cached: false, results }
    return { items: results.length, credits: 1, body }
  },
}
