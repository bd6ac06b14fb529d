/** Answers with each of their values replaced: they are paid for, and no build may fail because of their content. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { LookupRequest } from '../../src/api/endpoints/endpoint.ts'
import { ENDPOINTS } from '../../src/api/endpoints/endpoints.ts'
import { buildModels } from '../../src/model/build.ts'
import { mixSeeds, seededRandom } from '../../src/simulator/random.ts'
import { SimulatedService } from '../../src/simulator/simulator.ts'
import { withoutLoneSurrogates } from '../../src/support/json.ts'
import { readModelFiles } from '../../src/warehouse/catalog.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { NOW, send, sourceOf } from '../api/served-fixture.ts'
import { rounds, seedOf } from '../helpers/tier.ts'
import { insertEvents, memoryWarehouse } from '../helpers/warehouse.ts'

const source = sourceOf(12)
const service = new SimulatedService({ source })
const PAGE = source.organizations[0]?.network_url ?? ''

/** The replacement of a value. */
const HOSTILE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  -1e308,
  0.5,
  2 ** 53,
  '9223372036854775808',
  '99999999999999999',
  '-99999999999999999',
  '',
  ' ',
  'infinity',
  '-infinity',
  'NaN',
  '0000-00-00',
  '9999999-12-31T00:00:00Z',
  '294247-01-10',
  '2024-02-30',
  '2026-01-01T00:00:00+99:00',
  'https://',
  '%',
  '%E0%A4%A',
  '\u0000',
  '\ud800',
  "'; drop table answers; --",
  [],
  {},
  [null],
  [[[]]],
  [{}],
  { '': { '$.a': 1 } },
]

function bodyOf(name: string, request: LookupRequest): string {
  return send(service, name, request).answer.body.toString()
}

function answersOf(): [endpoint: string, body: string][] {
  const profile = bodyOf('company-profile', {
    url: PAGE,
    company_insights: true,
    get_funding_rounds: true,
  })
  const posts = bodyOf('post-search', {})
  const post = /"url":"([^"]*activity[^"]*)"/.exec(posts)?.[1] ?? ''
  const posting = /"url":"([^"]*jobs\/view[^"]*)"/.exec(profile)?.[1] ?? '4000000000'
  const people = bodyOf('people-search', {})
  const page = source.organizations.length > 0 ? 'https://network.example/in/somebody' : ''
  const deliveries = [
    { event: 'baseline', job_id: 'sig-1', profiles: [{ profile_url: page, profile_name: null }] },
    {
      event: 'person_activity',
      job_id: 'sig-1',
      changes: [
        {
          event_id: 'e1',
          profile_url: page,
          signal_type: 'reaction',
          detected_at: '2026-01-01T00:00:00Z',
          change_data: {
            occurred_at: '2026-01-01T00:00:00Z',
            post_author: { name: 'Acme', url: PAGE },
          },
        },
      ],
    },
  ]
  return [
    ['company-profile', profile],
    ['job-details', bodyOf('job-details', { job_id: posting, include_hiring_team: true })],
    ['company-search', bodyOf('company-search', {})],
    ['people-search', people],
    ['suggest', bodyOf('suggest', { suggest_type: 'company', q: 'a' })],
    ['people-filters', bodyOf('people-filters', {})],
    ['post-search', posts],
    ['post-reposts', bodyOf('post-reposts', { url: post })],
    ['post-details', bodyOf('post-details', { url: post })],
    ['signal-create', bodyOf('signal-create', { profile_urls: page })],
    ...deliveries.map((body): [string, string] => ['signal-delivery', JSON.stringify(body)]),
  ]
}

/** Replaces the value at position `at` of a walk with something hostile. */
function withHostile(value: unknown, at: { left: number }, hostile: unknown): unknown {
  if (at.left === 0) {
    at.left -= 1
    return hostile
  }
  at.left -= 1
  if (Array.isArray(value)) return value.slice(0, 3).map((one) => withHostile(one, at, hostile))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withHostile(member, at, hostile)]),
  )
}

function placesIn(value: unknown): number {
  const at = { left: Number.MAX_SAFE_INTEGER }
  withHostile(value, at, null)
  return Number.MAX_SAFE_INTEGER - at.left
}

describe('answers with any value replaced', () => {
  let warehouse: Warehouse
  const bodies = answersOf()
  const random = seededRandom(mixSeeds(seedOf('JOBTIDE_ANSWERS_SEED'), 5))
  const draw = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T

  beforeAll(async () => {
    warehouse = await memoryWarehouse()
    await insertEvents(warehouse, [
      {
        profile_id: 'ann',
        organization_id: 'org',
        event_type: 'joined',
        changed_at: '2026-01-01',
        detected_at: '2026-01-02',
        organization_network_url: PAGE,
        person_network_url: 'https://network.example/in/somebody',
      },
    ])
    return () => warehouse.close()
  })

  it('cover every endpoint, and deliveries', () => {
    const asked = bodies.map(([endpoint]) => endpoint)
    expect(new Set(asked)).toEqual(new Set([...ENDPOINTS.keys(), 'signal-delivery']))
  })

  it('fail no build and no view', async () => {
    for (let round = 0; round < rounds('JOBTIDE_ANSWERS', 3, 60); round += 1) {
      const made = bodies.flatMap(([endpoint, body]) => {
        const answer: unknown = JSON.parse(body)
        const places = placesIn(answer)
        return Array.from({ length: 150 }, () => {
          const at = { left: Math.floor(random() * places) }
          return { endpoint, body: withHostile(answer, at, draw(HOSTILE)) }
        })
      })
      await warehouse.run('delete from answers')
      const subjects = made.map((_, index) => (index % 2 === 0 ? PAGE : String(draw(HOSTILE))))
      await warehouse.append('answers', {
        request_id: made.map((_, index) => `${round}-${index}`),
        // One run makes one reading.
        run_id: made.map((_, index) => `${round}-${index}`),
        endpoint: made.map(({ endpoint }) => endpoint),
        // Equal questions have the same key.
        lookup_key: made.map(({ endpoint }, index) => `${endpoint} ${subjects[index]}`),
        subject: subjects,
        page: made.map(() => 1),
        outcome: made.map(() => 'found'),
        // Some in the same millisecond.
        received_at: made.map((_, index) => new Date(NOW + Math.floor(index / 3))),
        body: made.map(({ body }) => withoutLoneSurrogates(JSON.stringify(body))),
      })
      await buildModels(warehouse, { buildId: 'hostile', builtAt: new Date(NOW) })
      for (const { schema, name, key } of readModelFiles()) {
        const all = `create or replace temp table shown as select * from ${schema}.${name}`
        await warehouse.run(all).catch((error: unknown) => {
          throw new Error(`${name}: ${String(error)}`, { cause: error })
        })
        const twice = await warehouse.all(
          `select ${key.join(', ')} from shown group by all having count(*) > 1`,
        )
        expect(twice, name).toEqual([])
      }
    }
  })
})
