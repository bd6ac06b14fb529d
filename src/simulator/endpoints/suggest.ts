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
    const labels =
      type === 'company'
        ? world
            .organizations()
            .map(({ tracked, number }) => [tracked.name, 1_000 + number] as const)
        : type === 'job_title'
          ? [...new Set(world.people().map(({ title }) => title))].map(
              (title, i) => [title, i] as const,
            )
          : []
    const results = labels.filter(([label]) => has(label, q)).slice(0, MOST)
    const meta = { employees: null, industry: null, location: null, logo: null }
    return {
      items: results.length,
      credits: 1,
      body: {
        success: true,
        cached: false,
        results: results.map(([label, id]) => ({ label, value: label, id: String(id), meta })),
      },
    }
  },
}
