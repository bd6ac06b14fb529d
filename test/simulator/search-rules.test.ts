import { describe, expect, it } from 'vitest'
import { anEvent, manyEvents, PATH, peopleOf, simulate, sourceOf } from './simulator-fixture.ts'

const TWO = [anEvent({ organization: 'org_a' }), anEvent({ organization: 'org_b' })]

describe('a request that breaks a rule is refused with 400, the name of the problem, and 0 credits', () => {
  const refused: [what: string, parameters: unknown, message: string][] = [
    [
      'an unknown event type',
      { event_type: 'hired' },
      'event_type must be one of joined, left, title_change; got "hired"',
    ],
    ['an event type that is a number', { event_type: 1 }, 'event_type must be a string; got 1'],
    [
      'a title filter of 2 characters',
      { title: 'VP' },
      'title must have at least 3 characters; got "VP"',
    ],
    [
      'a title filter of 2 characters and a space',
      { title: 'VP ' },
      'title must have at least 3 characters; got "VP"',
    ],
    ['an empty title filter', { title: '' }, 'title must not be empty'],
    [
      'a city filter of 2 characters',
      { geo_city: 'Ul' },
      'geo_city must have at least 3 characters; got "Ul"',
    ],
    [
      'a country code of 3 letters',
      { geo_country_code: 'DEU' },
      'geo_country_code must be two letters; got "DEU"',
    ],
    ['days_ago 0', { days_ago: 0 }, 'days_ago must be an integer from 1 to 365; got 0'],
    ['days_ago 366', { days_ago: 366 }, 'days_ago must be an integer from 1 to 365; got 366'],
    ['days_ago 1.5', { days_ago: 1.5 }, 'days_ago must be an integer from 1 to 365; got 1.5'],
    ['days_ago as a text', { days_ago: '7' }, 'days_ago must be an integer from 1 to 365; got "7"'],
    ['limit 0', { limit: 0 }, 'limit must be an integer from 1 to 50; got 0'],
    ['limit 51', { limit: 51 }, 'limit must be an integer from 1 to 50; got 51'],
    ['page 0', { page: 0 }, 'page must be an integer from 1 to 10000; got 0'],
    ['page 10001', { page: 10_001 }, 'page must be an integer from 1 to 10000; got 10001'],
    ['page null', { page: null }, 'page must be an integer from 1 to 10000; got null'],
    [
      'ids that are a number',
      { organization_ids: 5 },
      'organization_ids must be a string or an array of strings; got 5',
    ],
    [
      'ids that hold a number',
      { organization_ids: ['org_a', 5] },
      'organization_ids must hold strings only; got 5',
    ],
    [
      'ids that hold an empty string',
      { organization_ids: 'org_a,,org_b' },
      'organization_ids must not hold an empty string',
    ],
    ['no ids in the array', { organization_ids: [] }, 'organization_ids must not be empty'],
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

  it('a query parameter that is given twice, and a page that is no number', async () => {
    const simulator = await simulate(TWO)
    expect((await simulator.get('page=1&page=2')).body.message).toBe('page is given twice')
    expect((await simulator.get('page=two')).body.message).toBe(
      'page must be an integer from 1 to 10000; got "two"',
    )
  })
})

describe('a request at the edge of a rule is answered', () => {
  const answered: [what: string, parameters: unknown, events: number][] = [
    ['no parameters', {}, 2],
    ['an empty body', '', 2],
    ['a parameter that does not exist', { colour: 'red' }, 2],
    ['days_ago 365', { days_ago: 365 }, 2],
    ['days_ago 1', { days_ago: 1 }, 2],
    ['limit 1', { limit: 1 }, 1],
    ['limit 50', { limit: 50 }, 2],
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
    ['a title filter of 3 characters', { title: 'Eng' }, 0],
  ]
  it.each(answered)('%s', async (_, parameters, events) => {
    const simulator = await simulate(TWO)
    const answer = await simulator.post(parameters)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toHaveLength(events)
    expect(answer.body.credit_used).toBe(events > 0 ? 10 : 0)
  })

  it('GET takes the same parameters in the query, lists joined by commas', async () => {
    const simulator = await simulate(TWO)
    const answer = await simulator.get(
      'organization_ids=org_a,org_b&event_type=joined&days_ago=30&page=1&limit=1',
    )
    expect(answer.body.data).toHaveLength(1)
    expect(answer.body.pagination).toEqual({ page: 1, limit: 1, has_more: true })
    expect((await simulator.get('company_urls=company-a')).body.pagination.limit).toBe(25)
  })
})

describe('filters', () => {
  const events = [
    anEvent({ person: 'per_1', title: 'Senior Software Engineer', type: 'joined' }),
    anEvent({ person: 'per_2', title: 'Software Engineering Manager', type: 'left' }),
    anEvent({ person: 'per_3', title: "Directrice de l'ingénierie", type: 'title_change' }),
  ]

  it.each([
    ['engineer', ['per_1']],
    ['SOFTWARE', ['per_1', 'per_2']],
    ['engineer software', ['per_1']],
    ['ingénierie', ['per_3']],
    ['gineer', []],
    ['???', []],
  ])('the title filter %j matches whole words of the new title: %j', async (title, people) => {
    const simulator = await simulate(events)
    expect(peopleOf(await simulator.post({ title })).toSorted()).toEqual(people)
  })

  it.each(['joined', 'left', 'title_change'])('event_type %s finds 1 of 3 events', async (type) => {
    const simulator = await simulate(events)
    const { data } = (await simulator.post({ event_type: type })).body
    expect(data.map((event) => event.event_type)).toEqual([type])
  })

  it.each([
    [{ geo_city: 'münch' }, 3],
    [{ geo_city: 'berlin' }, 0],
    [{ geo_country_code: 'de' }, 3],
    [{ geo_country_code: 'DE', geo_city: 'München' }, 3],
    [{ geo_country_code: 'AT', geo_city: 'München' }, 0],
  ])('%j finds %i of 3 people in München', async (filter, found) => {
    const simulator = await simulate(sourceOf(events, { city: 'München', countryCode: 'DE' }))
    expect((await simulator.post(filter)).body.data).toHaveLength(found)
  })

  it('people whose place nobody knows are in no city and no country', async () => {
    const simulator = await simulate(events)
    expect((await simulator.post({ geo_country_code: 'DE' })).body.data).toEqual([])
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

  it('50 by id and the same 50 by slug count as 50; one more by slug makes 51', async () => {
    const simulator = await simulate(sixty)
    const both = { organization_ids: ids(50), company_urls: slugs(0, 50), limit: 50 }
    expect((await simulator.post(both)).body.data).toHaveLength(50)
    const more = { ...both, company_urls: slugs(0, 51) }
    expect((await simulator.post(more)).status).toBe(400)
  })

  it('30 by id and 20 others by slug are answered, 21 others are refused', async () => {
    const simulator = await simulate(sixty)
    const ask = (to: number) =>
      simulator.post({ organization_ids: ids(30), company_urls: slugs(30, to) })
    expect((await ask(50)).status).toBe(200)
    expect((await ask(51)).status).toBe(400)
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

  it.each(['org_x', 'ORG_00'])(
    'an id that nobody tracks (%s) finds nothing for 0 credits',
    async (id) => {
      const simulator = await simulate(sixty)
      const answer = await simulator.post({ organization_ids: [id] })
      expect([answer.status, answer.body.data, answer.body.credit_used]).toEqual([200, [], 0])
    },
  )

  it('unknown ids are a 400 that names the first with unknownIds: refuse', async () => {
    const simulator = await simulate(sixty, { unknownIds: 'refuse' })
    const answer = await simulator.post({ organization_ids: ['org_x', 'org_y'] })
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'organization_ids: organization not tracked: org_x',
    ])
  })
})

describe('keys, paths, methods and sizes', () => {
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

  it('never keeps a key that it does not know', async () => {
    const simulator = await simulate(TWO)
    await simulator.post({}, { authorization: 'Bearer a-real-secret' })
    expect(JSON.stringify(simulator.account())).not.toContain('a-real-secret')
  })

  it('answers 404 to other paths and 405 to other methods', async () => {
    const simulator = await simulate(TWO)
    expect((await simulator.send('GET', '/api/v1/jobs/detail')).status).toBe(404)
    const refused = await simulator.send('PUT', PATH, '{}')
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'GET, POST'])
  })

  it('answers 413 to a body of more than 1 MiB', async () => {
    const simulator = await simulate(TWO)
    expect((await simulator.post({ title: 'x'.repeat(1_048_577) })).status).toBe(413)
  })

  it('serves the next request on the same connection and says so', async () => {
    const simulator = await simulate(manyEvents(3))
    const answer = await simulator.post({})
    expect(answer.headers['connection']).toBe('keep-alive')
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })
})
