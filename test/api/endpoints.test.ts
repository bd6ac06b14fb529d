/**
 * Every endpoint except job changes, tested against the simulator: what is sent, what is refused before that, what each
 * answer and each error means, and what they cost.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../src/api/endpoints/endpoints.ts'
import { filterValuesIn } from '../../src/api/endpoints/people.ts'
import type { EndpointAnswer, LookupRequest } from '../../src/api/endpoints/endpoint.ts'
import { SimulatedService, type ServiceOptions } from '../../src/simulator/simulator.ts'
import { send, sourceOf } from './served-fixture.ts'

const source = sourceOf(80)
const [organization] = source.organizations
const PAGE = organization?.network_url ?? ''
// Derived from careers once for all tests.
const usual = new SimulatedService({ source })

const serviceWith = (options: Partial<ServiceOptions>) =>
  new SimulatedService({ source, ...options })

/** Asks for one page as a pipeline does. @throws ZodError for a request that is refused before it is sent */
function ask(name: string, given: LookupRequest, page = 1, service = usual) {
  const { endpoint, request, answer, facts } = send(service, name, given, page)
  const json = JSON.parse(answer.body.toString()) as Record<string, unknown>
  const { status } = answer
  const isRead = status === 200 || endpoint.statuses?.includes(status) === true
  const read = isRead
    ? endpoint.read(json, { request, page, itemsBefore: 25 * (page - 1), status })
    : status
  return { status, json, read, price: endpoint.price(request), charged: facts.credits_used }
}

/** A valid answer. */
function answered(name: string, given: LookupRequest, page = 1, service = usual) {
  const { read, ...asked } = ask(name, given, page, service)
  if (typeof read !== 'object') throw new TypeError(`no answer: ${read}`)
  return { ...asked, ...read }
}

const POSTING = (() => {
  const urls = source.organizations.flatMap(({ network_url: url }) => {
    const { jobs } = ask('company-profile', { url }).json['message'] as { jobs: { url: string }[] }
    return jobs.map((job) => job.url)
  })
  return urls.find((url) => url.includes('/jobs/view/')) ?? ''
})()
const POST = (() => {
  const { json } = ask('post-search', {})
  return (json['data'] as { items: { url: string }[] }).items[0]?.url ?? ''
})()

const ANSWERS = [
  ['company-profile', { url: PAGE }, 'found', 1, 1],
  ['company-profile', { url: PAGE, company_insights: true }, 'found', 1, 11],
  ['company-profile', { url: PAGE, get_funding_rounds: 'true' }, 'found', 1, 6],
  ['company-profile', { url: 'https://network.example/company/nobody' }, 'absent', 0, 1],
  ['job-details', { job_id: POSTING }, 'found', 1, 1],
  ['job-details', { job_id: POSTING, include_hiring_team: true }, 'found', 1, 2],
  ['job-details', { job_id: '1' }, 'absent', 0, 0],
  ['company-search', {}, 'found', 25, 5],
  ['company-search', { keyword: 'no such word' }, 'absent', 0, 0],
  ['people-search', {}, 'found', 25, 10],
  ['people-search', { job_title: 'no such title' }, 'absent', 0, 0],
  ['suggest', { suggest_type: 'company', q: 'a' }, 'found', 10, 1],
  ['suggest', { suggest_type: 'school', q: 'a' }, 'absent', 0, 1],
  ['people-filters', {}, 'found', 17, 0],
  ['post-search', {}, 'found', 25, 5],
  ['post-search', { keyword: 'no such word' }, 'absent', 0, 0],
  ['post-reposts', { url: POST }, 'found', 25, 10],
  ['post-details', { url: POST }, 'found', 1, 1],
  [
    'post-details',
    { url: 'https://network.example/feed/update/urn:li:activity:1' },
    'absent',
    0,
    0,
  ],
  ['signal-create', { profile_urls: 'https://network.example/in/new' }, 'found', 1, 1],
  ['signal-create', { profile_urls: 'https://network.example/in/new' }, 'found', 1, 0],
  [
    'signal-create',
    { profile_urls: ['https://network.example/in/a', 'https://network.example/in/b'] },
    'found',
    1,
    2,
  ],
] as const

/** One request for each endpoint. */
const ONE_OF_EACH = [
  ['company-profile', { url: PAGE }],
  ['company-search', {}],
  ['people-search', {}],
  ['job-details', { job_id: POSTING }],
  ['post-search', {}],
  ['post-reposts', { url: POST }],
  ['post-details', { url: POST }],
  ['suggest', { suggest_type: 'company', q: 'a' }],
  ['people-filters', {}],
  ['signal-create', { profile_urls: 'https://network.example/in/later' }],
] as const

/** The endpoints with pages, each with a request that has several. */
const LISTS = [
  ['company-search', {}],
  ['people-search', {}],
  ['post-search', {}],
  ['post-reposts', { url: POST }],
] as const

describe('what an answer costs, and whether it is valid', () => {
  it.each([
    ['what it costs', ANSWERS],
    ['what took too long', ONE_OF_EACH],
    ['what is refused', REFUSED],
  ] as const)('is tried of every endpoint: %s', (_, rows) => {
    expect(new Set(rows.map(([name]) => name))).toEqual(new Set(ENDPOINTS.keys()))
  })

  it('are tested for every endpoint with pages, page by page', () => {
    const paged = [...ENDPOINTS.values()].filter(({ pages }) => pages !== null)
    const names = new Set<string>(LISTS.map(([name]) => name))
    expect(new Set(paged.map(({ name }) => name))).toEqual(names)
  })

  it.each(ANSWERS)(
    '%s of %j is %s with %i items for %i credits',
    (name, request, outcome, items, credits) => {
      const answer = answered(name, request)
      expect(answer).toMatchObject({ outcome, items, creditsSent: credits, charged: credits })
      expect(answer.price.least).toBeLessThanOrEqual(credits)
      expect(answer.price.most).toBeGreaterThanOrEqual(credits)
    },
  )

  it('reads a missing page as absent for 1 credit, and a timeout as later, for free', () => {
    const failed = (retryable: boolean, credit_used: number) =>
      serviceWith({
        faults: [
          { status: 200, body: { error: 'no', retryable, credit_used }, times: 'always' as const },
        ],
      })
    const absent = answered('company-profile', { url: PAGE }, 1, failed(false, 1))
    expect(absent).toMatchObject({ outcome: 'absent', price: { least: 1, most: 1 } })
    for (const [name, request] of ONE_OF_EACH) {
      const later = answered(name, request, 1, failed(true, 0))
      expect(later, name).toMatchObject({
        outcome: 'later',
        next: null,
        price: { least: 0, most: 0 },
      })
    }
  })

  it('reads an error as a refusal of a search, with its text, and success: false as no answer of any endpoint', () => {
    const refusing = (body: object) =>
      serviceWith({ faults: [{ status: 200, body, times: 'always' as const }] })
    const error = { error: 'no such place', retryable: false, credit_used: 0 }
    const failed = { success: false, message: 'no such place', data: { items: [] }, results: [] }
    for (const [name, request] of ONE_OF_EACH) {
      const isSearch = /-search$|^suggest$/.test(name)
      const { outcome, reason } = answered(name, request, 1, refusing(error))
      const refused = isSearch ? ['refused', 'no such place'] : ['absent', undefined]
      expect([outcome, reason], name).toEqual(refused)
      expect(ask(name, request, 1, refusing(failed)).read, name).toBe('no success: no such place')
    }
  })

  it('treats failed sections as missing and free', () => {
    const body = { message: { company_name: 'Acme', insights: { error: 'no' } }, credit_used: 1 }
    const service = serviceWith({ faults: [{ status: 200, body, times: 'always' }] })
    const answer = answered('company-profile', { url: PAGE, company_insights: true }, 1, service)
    expect(answer).toMatchObject({ outcome: 'found', price: { least: 1, most: 1 } })
    const posting = { success: true, data: { job_posting_id: '1', title: 'Baker' }, credit_used: 1 }
    const withoutTeam = serviceWith({ faults: [{ status: 200, body: posting, times: 'always' }] })
    const asked = { job_id: POSTING, include_hiring_team: true }
    expect(answered('job-details', asked, 1, withoutTeam)).toMatchObject({
      outcome: 'found',
      price: { least: 1, most: 1 },
    })
    const emptyTeam = { ...posting, data: { ...posting.data, hiring_team: { members: [] } } }
    const billed = serviceWith({ faults: [{ status: 200, body: emptyTeam, times: 'always' }] })
    expect(answered('job-details', asked, 1, billed).price.most).toBe(2)
  })

  it('ignores error: null next to data at any depth, and reads a real error as one', () => {
    const withBody = (body: object) =>
      serviceWith({ faults: [{ status: 200, body, times: 'always' as const }] })
    const shapes = [{ posted_at: '2024-02-01' }, { message: { posted_at: '2024-02-01' } }]
    for (const shape of shapes) {
      const whole = withBody({ ...shape, error: null, credit_used: 1 })
      expect(answered('post-details', { url: POST }, 1, whole).outcome).toBe('found')
      const no = withBody({ ...shape, error: 'no', credit_used: 1 })
      expect(ask('post-details', { url: POST }, 1, no).read).toBe('it is not a post')
    }
    const message = { company_name: 'Acme', insights: { error: null, headcount: 3 } }
    const company = withBody({ message, error: null, credit_used: 11 })
    const asked = { url: PAGE, company_insights: true }
    expect(answered('company-profile', asked, 1, company).price).toEqual({ least: 11, most: 11 })
  })

  it('reads 404 for a posting or post as an answer, but not 502; neither is charged', () => {
    for (const [name, request] of [
      ['job-details', { job_id: POSTING }],
      ['post-details', { url: POST }],
    ] as const) {
      const gone = serviceWith({ faults: [{ status: 404, times: 'always' }] })
      expect(ask(name, request, 1, gone)).toMatchObject({ read: { outcome: 'absent' }, charged: 0 })
      const away = serviceWith({ faults: [{ status: 502, times: 'always' }] })
      expect(ask(name, request, 1, away)).toMatchObject({ read: 502, charged: 0 })
    }
  })

  it.each([...ENDPOINTS.keys()])('%s accepts no answer to another request', (name) => {
    const endpoint = ENDPOINTS.get(name)
    const asked = { request: {}, page: 1, itemsBefore: 0, status: 200 }
    for (const json of [{}, [], null, 'text', { data: null }, { message: null }, { results: 1 }]) {
      expect(typeof endpoint?.read(json, asked), JSON.stringify(json)).toBe('string')
    }
  })
})

describe('the values of filters', () => {
  const value = (filter: string, text: string, id: string | null = null) => ({
    filter,
    value: text,
    id,
  })
  it.each<[object, ReturnType<typeof value>[]]>([
    [
      { filters: { seniority: ['CXO', 'VP'] } },
      [value('seniority', 'CXO'), value('seniority', 'VP')],
    ],
    [{ data: { function: [{ label: 'Sales', id: 7 }] } }, [value('function', 'Sales', '7')]],
    [
      { results: [{ name: 'region', values: [{ value: 'Bavaria', id: 'r1' }] }] },
      [value('region', 'Bavaria', 'r1')],
    ],
    [{ seniority: ['CXO'], credit_used: 0 }, [value('seniority', 'CXO')]],
  ])('are read from %j', (json, values) => {
    expect(filterValuesIn(json)).toEqual(values)
  })
})

describe('an answer with any one of its values replaced', () => {
  const asked = ANSWERS.filter(([, , outcome]) => outcome === 'found')
  it.each(asked)('of %s to %j is read or refused, and never fails', (name, request) => {
    const endpoint = ENDPOINTS.get(name)
    const { json, status } = ask(name, request)
    fc.assert(
      fc.property(fc.nat(), fc.jsonValue(), fc.nat({ max: 3 }), (place, value, page) => {
        const changed: unknown = JSON.parse(withValue(JSON.stringify(json), place, value))
        const about = { request, page: page + 1, itemsBefore: 25 * page, status }
        const read = endpoint?.read(changed, about)
        if (typeof read === 'string') return
        expect(['found', 'absent', 'later', 'refused']).toContain(read?.outcome)
        expect(read?.items).toBeGreaterThanOrEqual(0)
        expect(read?.price.least).toBeLessThanOrEqual(read?.price.most ?? -1)
        if (read?.outcome !== 'found') expect(read?.next).toBeNull()
      }),
    )
  })
})

/** Replaces one value in a JSON text. */
function withValue(json: string, place: number, value: unknown): string {
  const places = [...json.matchAll(/:("(?:[^"\\]|\\.)*"|[\w.+-]+|\[|\{)/g)]
  const found = places[place % places.length]
  const [, told = ''] = found ?? []
  if (found === undefined || told === '[' || told === '{') return json
  const at = found.index + 1
  return json.slice(0, at) + JSON.stringify(value) + json.slice(at + told.length)
}

describe('pages of a list', () => {
  it.each(LISTS)('%s are read until the service has no more, each item once', (name, request) => {
    const sizes: number[] = []
    for (let next: EndpointAnswer['next'] = 1; next !== null;) {
      const answer = answered(name, request, Number(next))
      sizes.push(answer.items)
      next = answer.next
    }
    expect(sizes.slice(0, -1).every((size) => size === 25)).toBe(true)
    expect(sizes.at(-1)).toBeGreaterThan(0)
    const { json } = ask(name, request)
    const total = /"(?:\w+_)?total":(\d+)/.exec(JSON.stringify(json))?.[1]
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(Number(total))
  })
})

const REFUSED = [
  ['company-profile', {}],
  ['company-profile', { url: PAGE, use_cache: 'sometimes' }],
  ['job-details', { job_id: 'acme' }],
  ['job-details', {}],
  ['company-search', { company_sizes: ['A'] }],
  ['company-search', { industries: ['banking'] }],
  ['people-search', { company_ids: ['acme'] }],
  ['people-search', { keywords: 'x'.repeat(501) }],
  ['people-search', { job_title: { value: 'CEO', exclude: 'yes' } }],
  ['suggest', { suggest_type: 'town', q: 'a' }],
  ['suggest', { suggest_type: 'company', q: '' }],
  ['people-filters', { seniority: 'CXO' }],
  ['post-search', { sort_by: 'age' }],
  ['post-search', { date_posted: 'past-year' }],
  ['post-search', { content_type: 'songs' }],
  ['post-reposts', { url: PAGE }],
  ['post-details', { url: 'acme' }],
  ['signal-create', { profile_urls: 'acme' }],
  ['signal-create', { profile_urls: [] }],
  ['signal-create', { profile_urls: PAGE, frequency: 'every_minute' }],
  ['signal-create', { profile_urls: PAGE, activity_types: ['posts'] }],
  ['signal-create', { profile_urls: PAGE, webhook_url: 'here' }],
  ['signal-create', { profile_urls: PAGE, webhook_secret: 'in-a-file-that-others-read' }],
  ['signal-create', { profile_urls: PAGE, new_signal: true }],
] as const

describe('a request', () => {
  it.each(REFUSED)('to %s is refused before it is sent: %j', (name, request) => {
    expect(ENDPOINTS.get(name)?.request.safeParse(request).success).toBe(false)
  })

  it.each([
    '4000001323',
    'https://network.example/jobs/view/4000001323',
    'https://network.example/jobs/view/senior-baker-at-acme-4000001323/?trk=x',
    'https://network.example/jobs/search/?currentJobId=4000001323&geoId=1',
  ])('for the posting %s names it by its id', (job_id) => {
    expect(ENDPOINTS.get('job-details')?.request.parse({ job_id })).toEqual({
      job_id: '4000001323',
    })
  })

  it.each([
    'https://network.example/posts/acme_hello-activity-7000000000123-abcd',
    'https://network.example/posts/acme_hello-ugcPost-7000000000123-abcd',
    'https://network.example/feed/update/urn:li:activity:7000000000123',
  ])('accepts the address of a post in each of its forms: %s', (url) => {
    expect(ENDPOINTS.get('post-details')?.request.parse({ url })).toEqual({ url })
  })

  it('sends ids of companies as numbers, and excluded values', () => {
    const people = ENDPOINTS.get('people-search')?.request
    const asked = { company_ids: ['1001', { value: 1002, exclude: true }], job_title: 'CEO' }
    expect(people?.parse(asked)).toEqual({
      company_ids: [1001, { value: 1002, exclude: true }],
      job_title: 'CEO',
    })
    const without = answered('people-search', { company_ids: 1_000 }).items
    expect(without).toBeGreaterThan(0)
    const companies = answered('people-search', {
      company_linkedin_urls: [{ value: PAGE, exclude: true }],
    })
    expect(JSON.stringify(companies.json)).not.toContain(`"company":"${organization?.name}"`)
  })
})
