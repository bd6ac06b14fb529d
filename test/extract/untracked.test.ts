import { describe, expect, it } from 'vitest'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator.ts'
import { anEvent, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  batchesOf,
  errorOf,
  expectEqualBooks,
  type Extraction,
} from './extract-fixture.ts'

const FIFTY = Array.from({ length: 50 }, (_, i) => `acme-${String(i).padStart(2, '0')}`)
const eventOf = (slug: string) => anEvent({ organization: `org_${slug}`, slug })
const byUrl = (slugs: readonly string[]): OrganizationRef[] =>
  slugs.map((slug) => ({ by: 'url', value: `https://network.example/company/${slug}` }))
const slugsOf = (organizations: readonly OrganizationRef[]) =>
  organizations.map(({ value }) => value.slice(value.lastIndexOf('/') + 1)).toSorted()

/** So many of the fifty, anywhere. */
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

interface Service {
  readonly simulator: Simulator
  readonly extraction: Extraction
  readonly bad: readonly string[]
  readonly tracked: readonly string[]
}

/** A service that tracks all of these companies but the bad ones, and a run that asks for all in one batch. */
async function aService(
  bad: readonly string[],
  options: Partial<SimulatorOptions>,
  companies: readonly string[] = FIFTY,
): Promise<Service> {
  const tracked = companies.filter((slug) => !bad.includes(slug))
  const simulator = await simulate([...tracked, 'somebody-else'].map(eventOf), options)
  const batches = batchesOf(byUrl(companies))
  const extraction = anExtraction({ simulator, batches })
  return { simulator, extraction, bad, tracked }
}

/** A service that refuses the bad companies itself, for reasons of its own, on this page or on all. */
function refusing(bad: readonly string[], message: string, page?: number) {
  return bad.map((slug) => ({
    organization_id: `org_${slug}`,
    status: 400,
    message,
    times: 'always' as const,
    ...(page === undefined ? {} : { page }),
  }))
}

/** All tracked companies were read, in one batch; the bad ones are quarantined, once each, and no other is. */
function expectFound({ extraction, simulator, bad, tracked }: Service): void {
  const read = extraction.events().map(({ organization }) => organization.slug ?? '')
  expect(read.toSorted()).toEqual(tracked.toSorted())
  const quarantined = extraction
    .records()
    .flatMap((record) => (record.kind === 'organization_quarantined' ? [record.organization] : []))
  expect(slugsOf(quarantined)).toEqual(bad.toSorted())
  const open = [...extraction.history().batches.values()].filter(({ state }) => state !== 'split')
  expect(open.map(({ state }) => state)).toEqual(tracked.length === 0 ? [] : ['finished'])
  expectEqualBooks(extraction, simulator)
}

describe('50 companies, of which some are not tracked: the others are read once in one batch', () => {
  it.each([
    // The batch that was refused, free probes, and the page of the others.
    { names: 'none' as const, count: 0, most: 1 },
    { names: 'none' as const, count: 1, most: 14 },
    { names: 'none' as const, count: 2, most: 24 },
    { names: 'none' as const, count: 5, most: 45 },
    { names: 'none' as const, count: 25, most: 98 },
    { names: 'none' as const, count: 50, most: 99 },
    { names: 'first' as const, count: 1, most: 3 },
    { names: 'first' as const, count: 3, most: 5 },
    { names: 'first' as const, count: 49, most: 51 },
    { names: 'all' as const, count: 20, most: 3 },
    { names: 'all' as const, count: 50, most: 2 },
  ])(
    'the message names $names of $count: at most $most requests, no credit more',
    async (world) => {
      const service = await aService(anySet(world.count), { unknownNames: world.names })
      const report = await service.extraction.run()
      expectFound(service)
      expect(report.quarantined.map(({ reason }) => reason)).toEqual(
        Array.from({ length: world.count }, () => expect.stringContaining('not tracked') as string),
      )
      const { requests, credits } = service.simulator.account()
      expect(requests).toBeLessThanOrEqual(world.most)
      expect(credits).toBe(world.count === 50 ? 0 : 10)
    },
  )
})

describe('a message about companies', () => {
  const cases = [
    { what: 'that repeats the question', companies: FIFTY.slice(0, 8), bad: ['acme-05'] },
    {
      what: 'with words that are slugs of tracked companies',
      companies: ['target', 'not', 'request', 'gone'],
      bad: ['gone'],
    },
  ]
  it.each(cases)('$what blames none but the bad one', async ({ companies, bad }) => {
    const message = `request not tracked, one of our target: ${companies.join(', ')}`
    const tracked = companies.filter((slug) => !bad.includes(slug))
    const faults = refusing(bad, message)
    const service = await aService([], { faults }, companies)
    await service.extraction.run()
    expectFound({ ...service, bad, tracked })
  })

  it('of one batch is known to the next: the bad ones of 2 event types are searched once', async () => {
    const bad = ['acme-03', 'acme-21', 'acme-40']
    const { simulator } = await aService(bad, { unknownNames: 'none' })
    const batches = (['joined', 'left'] as const).flatMap((type) =>
      batchesOf(byUrl(FIFTY), { batch_id: type, event_types: [type] }),
    )
    const extraction = anExtraction({ simulator, batches })
    const report = await extraction.run({ concurrency: 1 })
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    const second = simulator.account().log.filter((asked) => asked.event_type === 'left')
    expect(second.length).toBeLessThanOrEqual(3)
  })
})

describe('a search', () => {
  it('that is stopped in the middle goes on in the next attempt and finds the rest', async () => {
    const service = await aService(anySet(4), { unknownNames: 'none' })
    const stop = new AbortController()
    const onProgress = () => setTimeout(() => stop.abort(new Error('stop')), 30)
    await errorOf(service.extraction.run({ stop: stop.signal, onProgress }))
    await service.extraction.run()
    expectFound(service)
    expect(service.simulator.account().credits).toBe(10)
  })

  it('in 4 batches at once leaves all tracked companies read', async () => {
    const companies = Array.from({ length: 200 }, (_, i) => `firm-${i}`)
    const bad = companies.filter((_, i) => i % 23 === 5)
    const { extraction, tracked } = await aService(bad, { unknownNames: 'none' }, companies)
    const report = await extraction.run({ concurrency: 4 })
    const quarantined = report.quarantined.map(({ organization }) => organization)
    expect(slugsOf(quarantined)).toEqual(bad.toSorted())
    expect(extraction.events()).toHaveLength(tracked.length)
    expect(report).toMatchObject({ batches: 4, batchesDone: 4, credits: 40 })
  })

  it.each([401, 403])('that is answered %i asks nothing after it', async (status) => {
    const faults = [{ page: 10_000, nth: 2, status }]
    const { simulator, extraction } = await aService(['acme-25'], { unknownNames: 'none', faults })
    expect(await errorOf(extraction.run())).toMatchObject({ exitCode: 3 })
    const { log } = simulator.account()
    expect(log.findIndex((entry) => entry.status === status)).toBe(log.length - 1)
  })

  it.each([
    ['refuses page 10,000', { status: 400, message: 'page too high' }],
    ['sends events on page 10,000', { status: 200, charged: true, body: ODD_PAGE }],
    ['accepts all on page 10,000', null],
  ])('where the service %s: halves are read, no company is lost or blamed', async (_, answer) => {
    const bad = ['acme-03', 'acme-33']
    const probe = answer === null ? [] : [{ page: 10_000, times: 'always' as const, ...answer }]
    const companies = refusing(bad, 'a company is not tracked', answer === null ? 1 : undefined)
    const order = answer?.status === 400 ? [...probe, ...companies] : [...companies, ...probe]
    const { extraction, simulator } = await aService([], { faults: order })
    const report = await extraction.run()
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    const read = new Set(extraction.events().map(({ organization }) => organization.slug))
    expect(FIFTY.filter((slug) => !read.has(slug))).toEqual(bad)
    expectEqualBooks(extraction, simulator)
  })
})

describe('a company that the service drops while its batch is being read', () => {
  it('is quarantined from the second page on, and the other is read from the start', async () => {
    const source = ['org_keeps', 'org_goes'].flatMap((organization) =>
      manyEvents(400, { organization }),
    )
    const faults = Array.from({ length: 20 }, (_, i) =>
      refusing(['goes'], 'organization not tracked: org_goes', i + 2),
    ).flat()
    const simulator = await simulate(source, { faults })
    const batches = batchesOf(['org_keeps', 'org_goes'])
    const extraction = anExtraction({ simulator, batches })
    const report = await extraction.run({ concurrency: 4 })
    expect(report).toMatchObject({ batches: 1, batchesDone: 1, quarantined: [{}] })
    const people = extraction
      .events()
      .filter(({ organization }) => organization.organization_id === 'org_keeps')
    expect(new Set(people.map(({ person }) => person.profile_id)).size).toBe(400)
    expectEqualBooks(extraction, simulator)
  })
})
