/** Pipelines over other endpoints whose service sometimes fails: over HTTP, into a real warehouse, day after day. */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { DAY } from '../../src/support/units.ts'
import { onTestsFinished } from '../helpers/temporary-folder.ts'
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
    expect(status.text).toContain(
      '1 of 19 batches of the last run of asked; the next run asks again',
    )
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
})
