/** Companies by their name, size, and whether they have openings. */

import { z } from 'zod'
import { BadRequest } from '../search-request.ts'
import { has, pageOf, type ServedEndpoint } from './endpoint.ts'

/** Of companies, by how many people they have. */
export const SIZES = {
  B: [1, 10],
  C: [11, 50],
  D: [51, 200],
  E: [201, 500],
  F: [501, 1_000],
  G: [1_001, 5_000],
  H: [5_001, 10_000],
  I: [10_001, Number.POSITIVE_INFINITY],
} as const

const schema = z.looseObject({
  keyword: z.string().optional(),
  company_sizes: z.array(z.enum(Object.keys(SIZES) as (keyof typeof SIZES)[])).optional(),
  has_jobs: z.boolean().optional(),
  page: z.int().min(1).default(1),
})

// As in the example of the documents; the price list says 10.
const CREDITS = 5

export const companySearch: ServedEndpoint = {
  path: '/api/v1/company/search',
  answer(request, world) {
    const asked = schema.safeParse(request)
    if (!asked.success) throw new BadRequest('a parameter of the company search is wrong')
    const { keyword, company_sizes: sizes, has_jobs: hiring, page } = asked.data
    const found = world.organizations().filter(({ tracked, people, number }) => {
      const isSize = sizes?.some((size) => SIZES[size][0] <= people && people <= SIZES[size][1])
      if (!has(tracked.name, keyword) || isSize === false) return false
      return hiring === undefined || world.openings(number).length > 0 === hiring
    })
    const { items, total, pages } = pageOf(found, page)
    return {
      items: items.length,
      credits: items.length === 0 ? 0 : CREDITS,
      body: {
        status: 'ok',
        data: {
          current_page: page,
          total,
          total_pages: pages,
          items: items.map(({ tracked, number }) => ({
            id: 1_000 + number,
            network_url: tracked.network_url,
            name: tracked.name,
            universal_name: tracked.slug,
          })),
        },
      },
    }
  },
}
