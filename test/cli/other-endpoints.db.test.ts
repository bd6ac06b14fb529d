/**
 * Pipelines over other endpoints whose service sometimes fails: over HTTP, into a real warehouse, day after day. Tests
 * that repeat cases of models are skipped outside `npm run test:soak`.
 */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { DAY } from '../../src/support/units.ts'
import { onTestsFinished } from '../helpers/temporary-folder.ts'
import { IS_SOAK } from '../helpers/tier.ts'
import { openServed, type Reply, type ServedRequest } from './service-fixture.ts'

// A dozen complete runs.
vi.setConfig({ testTimeout: 240_000 })

let replyTo: (request: ServedRequest) => Reply
let shared: Awaited<ReturnType<typeof openServed>>
// One data directory for all tests, because the first build takes longest. Each test asks for its own items.
const onEnd = onTestsFinished()
beforeAll(async () => {
  shared = await openServed((request) => replyTo(request), onEnd)
})

/** The data directory with a service that answers as `replyTo` says. */
function served(reply: typeof replyTo) {
  replyTo = reply
  shared.requests()
  return shared
}

const posting = (id: string): Reply => {
  const data = { job_posting_id: id, title: 'Baker', job_state: 'LISTED', closed_at: null }
  return [200, { success: true, message: 'ok', data, credit_used: 1 }]
}
const failed = (status: number, message: string): Reply => {
  return [status, { success: false, message, data: null, credit_used: 0 }]
}

const SELECT = 'select id from (values {}) as ids(id)'
const idsOf = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => String(from + n))
const linesFor = (ids: readonly string[], concurrency = 1) => [
  'endpoint: job-details',
  `for_each: { sql: "${SELECT.replace('{}', ids.map((id) => `('${id}')`).join(', '))}" }`,
  'refresh_days: 6',
  `limits: { concurrency: ${concurrency} }`,
]

describe('a pipeline over job postings', () => {
  it('reads 18 of 19 and exits with 0 if the first one always answers 502, says so in status, and requests it and a new one the next day', async () => {
    const site = served(({ body }) =>
      body['job_id'] === '101' ? failed(502, 'not retrieved') : posting(String(body['job_id'])),
    )
    const lines = linesFor(idsOf(101, 119))
    const first = await site.run(...lines)
    expect(first).toMatchObject({ exitCode: 0, thrown: null })
    expect(first.document).toMatchObject({
      exit_code: 0,
      extract: {
        credits: 18,
        quarantined: [{ organization: '101', reason: '502: not retrieved' }],
      },
    })
    expect(first.text).toMatch(/not answered\s+101: 502: not retrieved/)
    expect(await site.rows('select cast(count(*) as integer) as n from job_postings')).toEqual([
      { n: 18 },
    ])
    const status = await site.status()
    expect(status.text).toContain('1 of 19 that the last run of asked asks for')
    expect(status.document['unread']).toEqual([{ pipeline: 'asked', asked: 19, unread: 1 }])
    site.requests()
    site.clock.nowMs += DAY
    await site.run(...linesFor(idsOf(101, 120)))
    expect(new Set(site.requests().map(({ body }) => body['job_id']))).toEqual(
      new Set(['101', '120']),
    )
  })

  it('exits with 5 if only the item that is never answered is due, and still requests the other one a week later', async () => {
    const site = served(({ body }) =>
      body['job_id'] === '401' ? failed(502, 'not retrieved') : posting(String(body['job_id'])),
    )
    const lines = linesFor(['401', '402'])
    expect(await site.run(...lines)).toMatchObject({ exitCode: 0 })
    site.clock.nowMs += DAY
    expect(await site.run(...lines)).toMatchObject({ exitCode: 5 })
    site.requests()
    site.clock.nowMs += 6 * DAY
    const again = await site.run(...lines)
    expect(again).toMatchObject({
      exitCode: 0,
      document: { resumed: true, extract: { credits: 1 } },
    })
    expect(new Set(site.requests().map(({ body }) => body['job_id']))).toEqual(
      new Set(['401', '402']),
    )
  })

  it('requests 2 of 3 rows of a select each night if one is not an id, and none if no row is one', async () => {
    const site = served(({ body }) => posting(String(body['job_id'])))
    const lines = linesFor(['201', 'no id', '202'])
    const plan = await site.plan(...lines)
    expect(plan.text).toContain(
      '1 row of the select, the first: row 2 of for_each: job_id: expected',
    )
    expect(plan.document).toMatchObject({ refused: 1, requests_at_least: 2 })
    const run = await site.run(...lines)
    expect(run).toMatchObject({ exitCode: 0, document: { extract: { credits: 2 } } })
    expect(run.text).toContain('no id: row 2 of for_each: job_id: expected the id or the address')
    expect(run.text).toMatch(/loaded +2 rows of other endpoints\n/)
    expect(run.document).toMatchObject({ load: { answers: 2, events: 0 } })
    const none = await site.run(...linesFor(['no id', 'none']))
    expect(none).toMatchObject({
      exitCode: 2,
      thrown: expect.stringContaining('row 1 of for_each'),
    })
  })

  it.skipIf(!IS_SOAK)(
    'shows a posting as closed on the day it answers 404, with exit 0, and as open the next day if it is back',
    async () => {
      const gone = new Set<string>()
      const site = served(({ body }) => {
        const id = String(body['job_id'])
        return gone.has(id) ? failed(404, 'removed') : posting(id)
      })
      const lines = linesFor(['301', '302'], 4)
      const states = () =>
        site.rows(
          `select job_id, state, closed_at = gone_at and gone_at = last_received_at as is_gone from job_postings
           where job_id in ('301', '302') order by job_id`,
        )
      await site.run(...lines)
      for (const id of ['301', '302']) gone.add(id)
      site.clock.nowMs += 7 * DAY
      // A company found before may be gone: the new list counts.
      expect(await site.run(...lines)).toMatchObject({ exitCode: 0, thrown: null })
      expect(await states()).toEqual([
        { job_id: '301', state: 'CLOSED', is_gone: true },
        { job_id: '302', state: 'CLOSED', is_gone: true },
      ])
      gone.delete('302')
      site.clock.nowMs += 7 * DAY
      await site.run(...lines)
      expect(await states()).toEqual([
        { job_id: '301', state: 'CLOSED', is_gone: false },
        { job_id: '302', state: 'LISTED', is_gone: null },
      ])
    },
  )
})

describe('a pipeline without for_each', () => {
  it('names its request as one with for_each does: 1 page of a company, 2 profiles of a signal', async () => {
    const site = served(({ path, body }) =>
      path.endsWith('/company')
        ? [200, { message: { company_name: 'Acme' }, credit_used: 1 }]
        : [
            200,
            { message: { signal_id: 's1', profile_urls: body['profile_urls'] }, credit_used: 1 },
          ],
    )
    const url = 'https://network.example/company/acme'
    await site.run('endpoint: company-profile', `options: { url: "${url}", use_cache: never }`)
    expect(await site.rows('select company from company_profiles')).toEqual([{ company: 'acme' }])
    shared.requests()
    const urls = ['https://network.example/in/ann', 'https://network.example/in/bob']
    await site.run('endpoint: signal-create', `options: { profile_urls: ${JSON.stringify(urls)} }`)
    expect(site.requests().map(({ body }) => body['profile_urls'])).toEqual(
      expect.arrayContaining(urls.map((one) => [one])),
    )
    expect(await site.rows('select profile_url from signal_profiles order by 1')).toEqual(
      urls.map((profile_url) => ({ profile_url })),
    )
  })

  it.skipIf(!IS_SOAK)(
    'names the 2 filters that a people search ignored, even if nothing is found',
    async () => {
      for (const results of [[], [{ full_name: 'Ann', profile_url: 'lead-1' }]]) {
        const filter_errors = ['nowhere', { location: 'nowhere' }]
        const pagination = { total: results.length }
        const site = served(() => [
          200,
          { success: true, results, pagination, filter_errors, credit_used: 10 * results.length },
        ])
        const run = await site.run('endpoint: people-search', 'options: { location: nowhere }')
        expect(run.text).toContain(
          'nowhere, {"location":"nowhere"}: the service does not recognise',
        )
        expect(run.document).toMatchObject({
          extract: { filter_errors: ['nowhere', '{"location":"nowhere"}'] },
        })
      }
    },
  )
})

it('a search for the posts of the last week keeps the 3 posts of 2 weeks, with first and last received', async () => {
  let week = 1
  const site = served(() => {
    const items = [week, week + 1].map((n) => ({ urn: `urn:${n}`, text: `Post ${n}` }))
    return [200, { status: 'ok', data: { count: 2, total: 2, items }, credit_used: 5 }]
  })
  const lines = [
    'endpoint: post-search',
    'options: { keyword: CFO, date_posted: past-week }',
    'refresh_days: 6',
  ]
  await site.run(...lines)
  week = 2
  site.clock.nowMs += 7 * DAY
  await site.run(...lines)
  const sql = `select post, cast(date_diff('day', first_received_at, received_at) as integer) as days, position
    from posts inner join posts_found using (post, first_received_at, received_at) order by post`
  expect(await site.rows(sql)).toEqual([
    { post: 'urn:1', days: 0, position: null },
    { post: 'urn:2', days: 7, position: 1 },
    { post: 'urn:3', days: 0, position: 2 },
  ])
})

it('a company requested again without its funding rounds keeps those of the previous answer', async () => {
  const site = served(({ body }) => {
    const last_round = { amount: '5 million', date: '2023-05', type: 'Series A' }
    const rounds = { funding: { last_round }, funding_rounds: { rounds: [{ a: 1 }, { a: 2 }] } }
    const more = body['get_funding_rounds'] === true ? rounds : {}
    return [200, { message: { company_name: 'Acme', ...more }, credit_used: 1 }]
  })
  const url = 'https://network.example/company/funded'
  const lines = (more: string) => ['endpoint: company-profile', `options: { url: "${url}"${more} }`]
  await site.run(...lines(', get_funding_rounds: true'))
  site.clock.nowMs += DAY
  await site.run(...lines(''))
  expect(await site.rows('select round, last_type from company_funding_rounds order by 1')).toEqual(
    [
      { round: 1, last_type: 'Series A' },
      { round: 2, last_type: null },
    ],
  )
  const profile = `select last_round_amount, last_round_on, last_round_type from company_profiles where company = 'funded'`
  expect(await site.rows(profile)).toEqual([
    { last_round_amount: '5 million', last_round_on: '2023-05', last_round_type: 'Series A' },
  ])
})
