import { describe, expect, it } from 'vitest'
import { anEvent, peopleOf, simulate } from './simulator-fixture.ts'

const TWO = [anEvent({ organization: 'org_a' }), anEvent({ organization: 'org_b' })]
const NO_KEY = 'missing API key: send Authorization: Bearer <key>'

describe('the rules of a search', () => {
  it.each<[parameters: unknown, message: string]>([
    [{ event_type: 'hired' }, 'event_type: expected joined, left or title_change, got "hired"'],
    [{ title: 'VP' }, 'title: expected 3 characters or more, got "VP"'],
    [{ geo_city: ' Lo ' }, 'geo_city: expected 3 characters or more, got "Lo"'],
    [{ geo_country_code: 'GBR' }, 'geo_country_code: expected two letters'],
    [{ days_ago: 0 }, 'days_ago: expected 1 or more, got 0'],
    [{ days_ago: '7' }, 'days_ago: expected a number, got "7"'],
    [{ limit: 51 }, 'limit: expected 50 or less, got 51'],
    [{ page: 10_001 }, 'page: expected 10000 or less, got 10001'],
    [{ organization_ids: 5 }, 'organization_ids: expected a list, got 5'],
    [
      { organization_ids: 'a,,b' },
      'organization_ids.1: expected a text that is not empty, got an empty text',
    ],
    [
      { organization_ids: [] },
      'organization_ids: expected a list that is not empty, got an empty list',
    ],
    [
      { company_urls: ['x.example/nobody/'] },
      'company_urls: company not tracked: x.example/nobody/',
    ],
    ['{"page":', 'the body is not valid JSON'],
    ['[]', 'the body must be a JSON object'],
  ])('refuse %j with 400, the name of the problem, and 0 credits', async (parameters, message) => {
    const simulator = await simulate(TWO)
    const answer = await simulator.post(parameters)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ success: false, message, data: null, credit_used: 0 })
    expect(simulator.account()).toMatchObject({ requests: 1, by_status: { 400: 1 }, credits: 0 })
  })

  it('accept values at their limits', async () => {
    const simulator = await simulate(TWO)
    const requests: readonly (readonly [parameters: unknown, events: number])[] = [
      [{}, 2],
      ['', 2],
      [{ days_ago: 365 }, 2],
      [{ page: 10_000 }, 0],
      [{ organization_ids: ['org_a', 'org_b'] }, 2],
      [{ company_urls: ['https://network.example/company/company-a'] }, 1],
      [{ company_urls: 'https://network.example/company/Company-A/about/?x=1' }, 1],
      [{ company_urls: 'company-b' }, 1],
      [{ organization_ids: 'org_a', company_urls: 'company-b' }, 2],
    ]
    for (const [parameters, events] of requests) {
      const { status, body } = await simulator.post(parameters)
      const found = [parameters, status, body.data.length, body.credit_used]
      expect(found).toEqual([parameters, 200, events, events > 0 ? 10 : 0])
    }
  })

  it('find titles by their words, and people by the city and country they are in', async () => {
    // Their ids put per_1 in Berlin, per_4 in London, per_5 in Austin, and the others in Porto.
    const titles = ['Vice President, Sales', 'President', 'VICE PRESIDENT', 'Vice-Presidents']
    const simulator = await simulate(
      [...titles, 'Vice President', 'Engineer'].map((title, i) =>
        anEvent({ title, person: `per_${i + 1}`, lagDays: i }),
      ),
    )
    const found = async (parameters: object) => peopleOf(await simulator.post(parameters))
    expect(await found({ title: 'vice president' })).toEqual(['per_1', 'per_3', 'per_5'])
    expect(await found({ title: 'President Sales' })).toEqual(['per_1'])
    expect(await found({ geo_country_code: 'gb' })).toEqual(['per_4'])
    expect(await found({ geo_city: 'usti' })).toEqual(['per_5'])
    expect(await found({ title: 'Vice President', geo_city: 'Porto' })).toEqual(['per_3'])
    expect(simulator.account()).toMatchObject({ requests: 5, credits: 50 })
    expect(await found({ title: 'Vice President', geo_country_code: 'FR', days_ago: 1 })).toEqual(
      [],
    )
    expect(simulator.account().credits).toBe(50)
  })

  it('allow 50 companies; a slug of 2 organisations names both and counts as 1', async () => {
    const sixty = Array.from({ length: 60 }, (_, i) => anEvent({ organization: `org_${i}` }))
    const ids = sixty.map(({ organization }) => organization.organization_id)
    const slugs = sixty.map(({ organization }) => organization.slug)
    const twins = ['org_x', 'org_y'].map((organization) => anEvent({ organization, slug: 'twin' }))
    const simulator = await simulate([...sixty, ...twins])
    expect((await simulator.post({ organization_ids: ids.slice(0, 50) })).status).toBe(200)
    const refused = await simulator.post({ organization_ids: ids.slice(0, 51) })
    expect(refused.body.message).toBe(
      'organization_ids and company_urls name 51 companies; at most 50 are allowed',
    )
    const both = await simulator.post({ company_urls: ['twin', ...slugs.slice(0, 49)], limit: 50 })
    // Of 51 organisations.
    expect(both.body.pagination.has_more).toBe(true)
  })

  it.each<[what: string, authorization: string | null, status: number, message: string]>([
    ['no key', null, 401, NO_KEY],
    ['a wrong key', 'Bearer wrong', 401, 'invalid API key'],
    ['a second key', 'bearer other-key', 200, 'ok'],
  ])('answer %s', async (_, authorization, status, message) => {
    const simulator = await simulate(TWO, { apiKeys: ['simulator-key', 'other-key'] })
    const headers: Record<string, string> = authorization === null ? {} : { authorization }
    expect(await simulator.post({}, headers)).toMatchObject({ status, body: { message } })
    expect(simulator.account().credits).toBe(status === 200 ? 10 : 0)
  })
})
