/** Views over lists in answers never hold the whole answer once for each item. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { buildModels } from '../../src/model/build.ts'
import { SIGNAL_DELIVERY } from '../../src/warehouse/catalog.ts'
import { memoryWarehouse } from '../helpers/warehouse.ts'

const ITEMS = 1_200
const AT = Date.UTC(2026, 2, 1)
const PAGE = 'https://network.example'

const listOf = (item: (nth: number) => object, letters = 1_000) =>
  Array.from({ length: ITEMS }, (_, nth) => ({ text: 'x'.repeat(letters), ...item(nth) }))
const shortListOf = (item: (nth: number) => object) => listOf(item, 100)

/** Endpoint → an answer of 1.2 MB; the page of a company has four lists, with 0.7 MB. */
const ANSWERS: Readonly<Record<string, object>> = {
  [SIGNAL_DELIVERY]: { job_id: 'sig-1', changes: listOf((nth) => ({ event_id: `e${nth}` })) },
  'post-search': { data: { items: listOf((nth) => ({ urn: `urn:${nth}` })) } },
  'post-reposts': { message: { reposts: listOf((nth) => ({ commentary: `${nth}` })) } },
  'company-search': { data: { items: listOf((nth) => ({ id: nth })) } },
  'people-search': { results: listOf((nth) => ({ profile_url: `${PAGE}/in/${nth}` })) },
  'company-profile': {
    message: {
      jobs: shortListOf((nth) => ({ url: `${PAGE}/jobs/view/${nth}` })),
      locations: shortListOf((nth) => ({ address: `${nth}` })),
      affiliated_pages: shortListOf((nth) => ({ url: `${PAGE}/company/${nth}` })),
      funding_rounds: { rounds: shortListOf((nth) => ({ id: nth })) },
    },
  },
}

const VIEWS = [
  'person_activities',
  'posts',
  'posts_found',
  'reposts',
  'companies_found',
  'people_found',
  'company_openings',
  'company_locations',
  'company_affiliations',
  'company_funding_rounds',
]

describe('answers with 1,200 items in each list', () => {
  it('are read in 256 MiB, item by item, by each view over lists', async () => {
    const warehouse = await memoryWarehouse({ threads: 2, memoryLimit: '256MiB' })
    onTestFinished(() => warehouse.close())
    const answers = Object.entries(ANSWERS)
    const endpoints = answers.map(([endpoint]) => endpoint)
    await warehouse.append('answers', {
      request_id: endpoints,
      run_id: endpoints.map(() => 'run'),
      endpoint: endpoints,
      lookup_key: endpoints,
      subject: endpoints,
      page: endpoints.map(() => 1),
      outcome: endpoints.map(() => 'found'),
      received_at: endpoints.map(() => new Date(AT)),
      body: answers.map(([, body]) => JSON.stringify(body)),
    })
    await buildModels(warehouse, { buildId: 'long', builtAt: new Date(AT) })
    const rows: [string, number][] = []
    for (const view of VIEWS) {
      await warehouse.run(`create or replace temp table shown as from ${view}`)
      rows.push([view, await warehouse.number('select count(*) from shown')])
    }
    expect(rows).toEqual(VIEWS.map((view) => [view, ITEMS]))
  })
})

it('a delivery of 40 MB that cannot be read in 64 MiB ends the build with 9 instead of the publish', async () => {
  const warehouse = await memoryWarehouse({ threads: 1, memoryLimit: '1GiB' })
  onTestFinished(() => warehouse.close())
  const changes = Array.from({ length: 40 }, (_, nth) => ({
    event_id: `e${nth}`,
    change_summary: 'x'.repeat(1_000_000),
  }))
  await warehouse.append('answers', {
    request_id: ['delivery'],
    run_id: [null],
    endpoint: [SIGNAL_DELIVERY],
    lookup_key: ['delivery'],
    subject: [''],
    page: [1],
    outcome: ['found'],
    received_at: [new Date(AT)],
    body: [JSON.stringify({ job_id: 'sig-1', changes })],
  })
  const build = () => buildModels(warehouse, { buildId: 'large', builtAt: new Date(AT) })
  await warehouse.run(`set memory_limit = '64MiB'`)
  await expect(build()).rejects.toMatchObject({ exitCode: 9 })
  await warehouse.run(`set memory_limit = '2GiB'`)
  await build()
  expect(await warehouse.number('select count(*) from person_activities')).toBe(40)
})
