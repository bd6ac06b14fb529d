import { describe, expect, it } from 'vitest'
import { anEvent, PATH, simulate } from './simulator-fixture.ts'

const TWO = [anEvent({ organization: 'org_a' }), anEvent({ organization: 'org_b' })]

describe('a request that breaks a rule is refused with 400, the name of the problem, and 0 credits', () => {
  const refused: [what: string, parameters: unknown, message: string][] = [
    [
      'an unknown event type',
      { event_type: 'hired' },
      'event_type must be one of joined, left, title_change; got "hired"',
    ],
    [
      'an event type that is a number',
      { event_type: 1 },
      'event_type must be one of joined, left, title_change; got 1',
    ],
    [
      'a filter that is not simulated',
      { title: 'VP' },
      'title must be left out, because Jobtide never sends it; got "VP"',
    ],
    ['days_ago 0', { days_ago: 0 }, 'days_ago must be an integer from 1 to 365; got 0'],
    ['days_ago 366', { days_ago: 366 }, 'days_ago must be an integer from 1 to 365; got 366'],
    ['days_ago as a text', { days_ago: '7' }, 'days_ago must be an integer from 1 to 365; got "7"'],
    ['limit 51', { limit: 51 }, 'limit must be an integer from 1 to 50; got 51'],
    ['page 10001', { page: 10_001 }, 'page must be an integer from 1 to 10000; got 10001'],
    ['page null', { page: null }, 'page must be an integer from 1 to 10000; got null'],
    [
      'ids that are a number',
      { organization_ids: 5 },
      'organization_ids must be a string or an array of strings, none of them empty; got 5',
    ],
    [
      'ids that hold a number',
      { organization_ids: ['org_a', 5] },
      'organization_ids must be a string or an array of strings, none of them empty; got ["org_a",5]',
    ],
    [
      'ids that hold an empty string',
      { organization_ids: 'org_a,,org_b' },
      'organization_ids must be a string or an array of strings, none of them empty; got "org_a,,org_b"',
    ],
    [
      'no ids in the array',
      { organization_ids: [] },
      'organization_ids must be a string or an array of strings, none of them empty; got []',
    ],
    [
      'a company that nobody tracks',
      { company_urls: ['https://network.example/company/nobody/'] },
      'company_urls: company not tracked: https://network.example/company/nobody/',
    ],
    [
      'a slug that nobody tracks',
      { company_urls: 'company-a,nobody' },
      'company_urls: company not tracked: nobody',
    ],
    ['a body that is no JSON', '{"page":', 'the body is not valid JSON'],
    ['a body that is an array', '[]', 'the body must be a JSON object'],
  ]
  it.each(refused)('%s', async (_, parameters, message) => {
    const simulator = await simulate(TWO)
    const answer = await simulator.post(parameters)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ success: false, message, data: null, credit_used: 0 })
    expect(simulator.account()).toMatchObject({ requests: 1, by_status: { 400: 1 }, credits: 0 })
  })

  it('a body without Content-Type: application/json', async () => {
    const simulator = await simulate(TWO)
    const headers = { authorization: 'Bearer simulator-key', 'content-type': 'text/plain' }
    const answer = await simulator.post({}, headers)
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'send the body with Content-Type: application/json',
    ])
  })
})

describe('a request at the edge of a rule is answered', () => {
  const answered: [what: string, parameters: unknown, events: number][] = [
    ['no parameters', {}, 2],
    ['an empty body', '', 2],
    ['a parameter that does not exist', { colour: 'red' }, 2],
    ['days_ago 365', { days_ago: 365 }, 2],
    ['page 10000', { page: 10_000 }, 0],
    ['ids as an array', { organization_ids: ['org_a', 'org_b'] }, 2],
    ['ids as a text', { organization_ids: 'org_a, org_b' }, 2],
    ['an id named twice', { organization_ids: ['org_a', 'org_a'] }, 1],
    ['a company URL', { company_urls: ['https://network.example/company/company-a'] }, 1],
    [
      'a company URL with more behind it',
      { company_urls: 'https://network.example/company/Company-A/about/?x=1' },
      1,
    ],
    ['a slug', { company_urls: 'company-b' }, 1],
    ['a company by id and by URL', { organization_ids: 'org_a', company_urls: 'company-a' }, 1],
    [
      'a company by id, another by URL',
      { organization_ids: 'org_a', company_urls: 'company-b' },
      2,
    ],
  ]
  it.each(answered)('%s', async (_, parameters, events) => {
    const simulator = await simulate(TWO)
    const answer = await simulator.post(parameters)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toHaveLength(events)
    expect(answer.body.credit_used).toBe(events > 0 ? 10 : 0)
  })
})

describe('at most 50 companies', () => {
  const sixty = Array.from({ length: 60 }, (_, i) => anEvent({ organization: `org_${i}` }))
  const ids = (count: number) => sixty.slice(0, count).map((e) => e.organization.organization_id)
  const slugs = (from: number, to: number) =>
    sixty.slice(from, to).map((e) => e.organization.slug ?? '')

  it('50 by id are answered and 51 are refused', async () => {
    const simulator = await simulate(sixty)
    expect((await simulator.post({ organization_ids: ids(50) })).status).toBe(200)
    const refused = await simulator.post({ organization_ids: ids(51) })
    expect(refused.body.message).toBe(
      'organization_ids and company_urls name 51 companies; at most 50 are allowed',
    )
  })

  it('a slug of 2 organisations names both and counts as 1 company', async () => {
    const twins = [
      anEvent({ person: 'per_1', organization: 'org_x', slug: 'twin' }),
      anEvent({ person: 'per_2', organization: 'org_y', slug: 'twin' }),
    ]
    const simulator = await simulate([...sixty, ...twins])
    const answer = await simulator.post({ company_urls: ['twin', ...slugs(0, 49)], limit: 50 })
    expect(answer.status).toBe(200)
    expect(simulator.account().log[0]?.organizations).toBe(51)
  })
})

describe('keys, paths and methods', () => {
  it.each([
    ['no key', {}, 401, 'missing API key: send Authorization: Bearer <key>'],
    [
      'no bearer',
      { authorization: 'simulator-key' },
      401,
      'missing API key: send Authorization: Bearer <key>',
    ],
    ['a wrong key', { authorization: 'Bearer wrong' }, 401, 'invalid API key'],
    [
      'a key without the plan',
      { authorization: 'Bearer poor-key' },
      403,
      'your plan does not include job change data',
    ],
    ['a second key', { authorization: 'bearer other-key' }, 200, 'ok'],
  ])('%s', async (_, headers, status, message) => {
    const simulator = await simulate(TWO, {
      apiKeys: ['simulator-key', 'other-key'],
      keysWithoutPlan: ['poor-key'],
    })
    const answer = await simulator.post({}, headers as Record<string, string>)
    expect([answer.status, answer.body.message]).toEqual([status, message])
    expect(simulator.account().credits).toBe(status === 200 ? 10 : 0)
  })

  it('answers 404 to other paths and 405 to other methods', async () => {
    const simulator = await simulate(TWO)
    expect((await simulator.send('GET', '/api/v1/jobs/detail')).status).toBe(404)
    const refused = await simulator.send('PUT', PATH, '{}')
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'POST'])
  })
})
