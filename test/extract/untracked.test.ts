import { describe, expect, it } from 'vitest'
import type { OrganizationRef } from '../../src/journal/records.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { anEvent, manyEvents } from '../simulator/simulator-fixture.ts'
import {
  aRun,
  batchOf,
  batchesOf,
  errorOf,
  expectSameCredits,
  simulated,
  type SimulatedOptions,
} from './extract-fixture.ts'

const FIFTY = Array.from({ length: 50 }, (_, i) => `acme-${String(i).padStart(2, '0')}`)
const eventOf = (slug: string) => anEvent({ organization: `org_${slug}`, slug })
const byUrl = (slugs: readonly string[]): OrganizationRef[] =>
  slugs.map((slug) => ({ by: 'url', value: `https://network.example/company/${slug}` }))
const slugsOf = (organizations: readonly OrganizationRef[]) =>
  organizations.map(({ value }) => value.slice(value.lastIndexOf('/') + 1)).toSorted()

/** This many of the fifty, anywhere. */
function anySet(count: number, seed = 7): string[] {
  const random = seededRandom(seed)
  const places = FIFTY.map((slug) => ({ slug, place: random() }))
  return places
    .toSorted((a, b) => a.place - b.place)
    .slice(0, count)
    .map(({ slug }) => slug)
}

const ODD_PAGE = {
  data: [anEvent()],
  pagination: { page: 1, limit: 50, has_more: true },
  credit_used: 10,
}

/** A service that tracks all of these companies but the bad ones, and a run that asks for 50 in a batch. */
function aService(
  bad: readonly string[],
  options: SimulatedOptions = { unknownNames: 'none' },
  companies: readonly string[] = FIFTY,
) {
  const tracked = companies.filter((slug) => !bad.includes(slug))
  const service = simulated([...tracked, 'somebody'].map(eventOf), { takesMs: 10, ...options })
  const run = aRun(service, batchesOf(byUrl(companies), 50))
  return { service, run, bad, tracked }
}

/** A service that refuses the bad companies for other reasons, on this page or on all. */
function refusing(bad: readonly string[], message: string, page?: number): Fault[] {
  return bad.map((slug) => ({
    organization_id: `org_${slug}`,
    status: 400,
    message,
    times: 'always',
    ...(page === undefined ? {} : { page }),
  }))
}

/** All tracked companies were read once; only the bad ones are quarantined, once each. */
function expectFound({ run, service, bad, tracked }: ReturnType<typeof aService>): void {
  const read = run.events().map(({ organization }) => organization.slug ?? '')
  expect(read.toSorted()).toEqual(tracked.toSorted())
  const quarantined = run.records('organization_quarantined')
  expect(slugsOf(quarantined.map(({ organization }) => organization))).toEqual(bad.toSorted())
  expectSameCredits(run, service)
}

describe('50 companies, some of them not tracked: the others are read once in one batch', () => {
  it.each([
    // The batch that was refused, free probes, and the page of the others.
    { names: 'none' as const, count: 0, most: 1 },
    { names: 'none' as const, count: 1, most: 14 },
    { names: 'none' as const, count: 2, most: 24 },
    { names: 'none' as const, count: 5, most: 45 },
    { names: 'none' as const, count: 25, most: 98 },
    { names: 'none' as const, count: 50, most: 99 },
    { names: 'first' as const, count: 1, most: 14 },
    { names: 'first' as const, count: 3, most: 32 },
    { names: 'first' as const, count: 49, most: 100 },
    { names: 'all' as const, count: 20, most: 85 },
    { names: 'all' as const, count: 50, most: 99 },
  ])(
    'the message names $names of $count: at most $most requests, no credit more',
    async ({ names, count, most }) => {
      const world = aService(anySet(count), { unknownNames: names })
      const report = await world.run.extract()
      expectFound(world)
      expect(report.quarantined.map(({ reason }) => reason)).toEqual(
        Array.from({ length: count }, () => expect.stringContaining('not tracked') as string),
      )
      expect(report).toMatchObject({ batches: count === 50 ? 0 : 1 })
      expect(world.service.account.length).toBeLessThanOrEqual(most)
      expect(world.service.charged()).toBe(count === 50 ? 0 : 10)
    },
  )
})

describe('a message about companies', () => {
  it.each([
    { what: 'that repeats the question', companies: FIFTY.slice(0, 8), bad: ['acme-05'] },
    {
      what: 'with words that are slugs of tracked companies',
      companies: ['target', 'not', 'request', 'gone'],
      bad: ['gone'],
    },
  ])('$what blames only the bad one', async ({ companies, bad }) => {
    const message = `request not tracked, one of our target: ${companies.join(', ')}`
    const world = aService([], { faults: refusing(bad, message) }, companies)
    await world.run.extract()
    expectFound({ ...world, bad, tracked: companies.filter((slug) => !bad.includes(slug)) })
  })

  it.each([
    ['repeats the question', 'bad days_ago for acme-00, acme-01'],
    ['has a slug in another word', 'days_ago is out of range'],
  ])(
    'that is about something else and %s ends the run and blames no company',
    async (_, message) => {
      const companies = ['acme-00', 'acme-01', 'ge']
      for (const asked of [companies, companies.slice(0, 2), ['ge'], ['acme-00']]) {
        const { run, service } = aService([], { faults: refusing(asked, message) }, asked)
        expect((await errorOf(run.extract())).message).toContain(message)
        expect(service.account).toHaveLength(1)
        expect(run.records('organization_quarantined')).toEqual([])
      }
    },
  )

  it('in one batch is known to the next: the untracked companies of 2 event types are searched once', async () => {
    const bad = ['acme-03', 'acme-21', 'acme-40']
    const { service } = aService(bad)
    const batches = (['joined', 'left'] as const).map((type) =>
      batchOf(byUrl(FIFTY), { batch_id: type, event_types: [type] }),
    )
    const report = await aRun(service, batches).extract({ concurrency: 1, random: () => 0 })
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    const second = service.account.filter(({ body }) => body['event_type'] === 'left')
    expect(second.length).toBeLessThanOrEqual(3)
  })
})

describe('a search', () => {
  it('stopped in the middle continues in the next attempt and finds the rest', async () => {
    const world = aService(anySet(4))
    const stop = new AbortController()
    void world.service.clock.sleep(100).then(() => stop.abort(new Error('stop')))
    await errorOf(world.run.extract({ stop: stop.signal }))
    await world.run.extract()
    expectFound(world)
    expect(world.service.charged()).toBe(10)
  })

  it('in 4 batches at once leaves all tracked companies read', async () => {
    const companies = Array.from({ length: 200 }, (_, i) => `firm-${i}`)
    const world = aService(
      companies.filter((_, i) => i % 23 === 5),
      { unknownNames: 'none' },
      companies,
    )
    const report = await world.run.extract({ concurrency: 4 })
    expectFound(world)
    expect(report).toMatchObject({ batches: 4, batchesDone: 4, credits: 40 })
  })

  it.each([401, 403])('that is answered with %i sends nothing more', async (status) => {
    const faults = [{ page: 10_000, nth: 2, status }]
    const { service, run } = aService(['acme-25'], { unknownNames: 'none', faults })
    expect(await errorOf(run.extract())).toMatchObject({ exitCode: 3 })
    const statuses = service.account.map((request) => request.status)
    expect(statuses.indexOf(status)).toBe(statuses.length - 1)
  })

  it.each([
    ['refuses page 10,000', { status: 400, message: 'page too high' }],
    ['sends events on page 10,000', { status: 200, charged: true, body: ODD_PAGE }],
    ['accepts all on page 10,000', null],
  ])('where the service %s: halves are read, no company is lost or blamed', async (_, answer) => {
    const bad = ['acme-03', 'acme-33']
    const probe: Fault[] = answer === null ? [] : [{ page: 10_000, times: 'always', ...answer }]
    const companies = refusing(bad, 'a company is not tracked', answer === null ? 1 : undefined)
    const faults = answer?.status === 400 ? [...probe, ...companies] : [...companies, ...probe]
    const { run, service } = aService([], { faults })
    const report = await run.extract()
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    const read = new Set(run.events().map(({ organization }) => organization.slug))
    expect(FIFTY.filter((slug) => !read.has(slug))).toEqual(bad)
    expectSameCredits(run, service)
  })

  it('for a company that the service drops from page 2 on: it is quarantined, the other is read from the start', async () => {
    const source = ['org_keeps', 'org_goes'].flatMap((organization) =>
      manyEvents(400, { organization }),
    )
    const faults = Array.from({ length: 20 }, (_, i) =>
      refusing(['goes'], 'organization not tracked: org_goes', i + 2),
    ).flat()
    const service = simulated(source, { faults })
    const run = aRun(service, [batchOf(['org_keeps', 'org_goes'])])
    const report = await run.extract()
    expect(report).toMatchObject({ batches: 1, batchesDone: 1, quarantined: [{}] })
    const kept = run.events().filter(({ organization }) => organization.slug === 'company-keeps')
    expect(new Set(kept.map(({ person }) => person.profile_id)).size).toBe(400)
    expectSameCredits(run, service)
  })
})
