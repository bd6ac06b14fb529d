import { describe, expect, it } from 'vitest'
import type { OrganizationRef } from '../../src/journal/records.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator.ts'
import { NOW, anEvent, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  expectEqualBooks,
  jumpingClock,
  batchesOf,
  type Extraction,
} from './extract-fixture.ts'

const FIFTY = Array.from({ length: 50 }, (_, i) => `acme-${String(i).padStart(2, '0')}`)
const byUrl = (slugs: readonly string[]): OrganizationRef[] =>
  slugs.map((slug) => ({ by: 'url', value: `https://network.example/company/${slug}` }))
const eventOf = (slug: string) => anEvent({ organization: `org_${slug}`, slug })

/** A run that asks for these companies in one batch. */
function askFor(simulator: Simulator, companies: readonly string[]): Extraction {
  const batches = batchesOf(byUrl(companies))
  return anExtraction({ simulator, clock: jumpingClock(NOW), batches })
}

interface World {
  readonly bad: readonly string[]
  readonly names: NonNullable<SimulatorOptions['unknownNames']>
  readonly companies?: readonly string[]
  readonly options?: Partial<SimulatorOptions>
}

/** A service that tracks all companies but the bad ones, and a run that asks for all in one batch. */
async function aWorld({ bad, names, companies = FIFTY, options = {} }: World) {
  const tracked = companies.filter((slug) => !bad.includes(slug))
  const source = [...tracked, 'somebody-else'].map(eventOf)
  const simulator = await simulate(source, { unknownNames: names, ...options })
  return { simulator, extraction: askFor(simulator, companies), tracked }
}

const slugsOf = (organizations: readonly OrganizationRef[]) =>
  organizations.map(({ value }) => value.slice(value.lastIndexOf('/') + 1)).toSorted()

/** Everybody who is tracked was read, in one batch, and nobody else was left out. */
function expectIsolated(
  extraction: Extraction,
  simulator: Simulator,
  { bad, tracked }: { readonly bad: readonly string[]; readonly tracked: readonly string[] },
): void {
  const read = extraction.events().map(({ organization }) => organization.slug ?? '')
  expect(read.toSorted()).toEqual(tracked.toSorted())
  const leftOut = extraction
    .records()
    .flatMap((record) => (record.kind === 'organization_quarantined' ? [record.organization] : []))
  expect(slugsOf(leftOut)).toEqual(bad.toSorted())
  const open = [...extraction.history().batches.values()].filter(({ state }) => state !== 'split')
  expect(open.map(({ state }) => state)).toEqual(tracked.length === 0 ? [] : ['finished'])
  expectEqualBooks(extraction, simulator)
}

describe('a message that names the untracked companies', () => {
  it.each([1, 3, 49])(
    'one at a time: each of %i costs its refused request and no more',
    async (count) => {
      const bad = FIFTY.slice(0, count)
      const { simulator, extraction, tracked } = await aWorld({ bad, names: 'first' })
      await extraction.run()
      expectIsolated(extraction, simulator, { bad, tracked })
      expect(simulator.account().requests).toBe(count + 1)
    },
  )

  it.each([2, 20, 49])('all at once: %i cost 1 refused request together', async (count) => {
    const bad = FIFTY.filter((_, i) => i % 50 < count)
    const { simulator, extraction, tracked } = await aWorld({ bad, names: 'all' })
    await extraction.run()
    expectIsolated(extraction, simulator, { bad, tracked })
    expect(simulator.account().requests).toBe(2)
  })

  it('naming all 50 is believed after 1 test: it could only repeat the question', async () => {
    const { simulator, extraction, tracked } = await aWorld({ bad: FIFTY, names: 'all' })
    const report = await extraction.run()
    expectIsolated(extraction, simulator, { bad: FIFTY, tracked })
    expect(simulator.account().requests).toBe(2)
    expect(report).toMatchObject({ batches: 0, batchesDone: 0, credits: 0 })
  })

  it('that repeats the question blames nobody: the 1 bad of 8 is found, 7 are read', async () => {
    const companies = FIFTY.slice(0, 8)
    const message = `not tracked, one of: ${companies.join(', ')}`
    const bad = ['acme-05']
    const faults = [
      { organization_id: 'org_acme-05', status: 400, message, times: 'always' as const },
    ]
    const simulator = await simulate(companies.map(eventOf), { faults })
    const batches = batchesOf(byUrl(companies))
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    await extraction.run()
    const tracked = companies.filter((slug) => !bad.includes(slug))
    expectIsolated(extraction, simulator, { bad, tracked })
  })

  it('with a word that is the slug of a tracked company does not leave that one out', async () => {
    const companies = ['target', 'not', 'request', 'gone']
    const { simulator, extraction, tracked } = await aWorld({
      bad: ['gone'],
      names: 'none',
      companies,
    })
    await extraction.run()
    expectIsolated(extraction, simulator, { bad: ['gone'], tracked })
  })
})

describe('a message that names nobody', () => {
  const random = seededRandom(7)
  const anySet = (count: number) =>
    FIFTY.map((slug) => ({ slug, place: random() }))
      .toSorted((a, b) => a.place - b.place)
      .slice(0, count)
      .map(({ slug }) => slug)

  it.each([0, 1, 1, 2, 2, 3, 5, 8, 13, 25, 37, 49, 50])(
    '%i of 50: all others are read in one batch, with at most 6 requests for each and 1 more',
    async (count) => {
      const bad = anySet(count)
      const { simulator, extraction, tracked } = await aWorld({ bad, names: 'none' })
      await extraction.run()
      expectIsolated(extraction, simulator, { bad, tracked })
      const { requests, credits } = simulator.account()
      const clean = count === 50 ? 0 : 1
      expect(requests - clean).toBeLessThanOrEqual(count === 0 ? 0 : 6 * count + 1)
      // 50 - k events are one page: the tests were free.
      expect(credits).toBe(10 * clean)
    },
  )

  it('companies that were accepted before are not searched: 1 new of 50 costs 1 request', async () => {
    const bad = ['acme-49']
    const { simulator, extraction, tracked } = await aWorld({ bad, names: 'none' })
    const accepted = new Set(byUrl(FIFTY.slice(0, 49)).map(({ value }) => value))
    await extraction.run({ accepted })
    expectIsolated(extraction, simulator, { bad, tracked })
    expect(simulator.account().requests).toBe(2)
  })

  it('finds a company that was accepted before and is tracked no more', async () => {
    const bad = ['acme-11']
    const { simulator, extraction, tracked } = await aWorld({ bad, names: 'none' })
    const accepted = new Set(byUrl(FIFTY.slice(0, 40)).map(({ value }) => value))
    await extraction.run({ accepted })
    expectIsolated(extraction, simulator, { bad, tracked })
  })

  it('what one batch has found is known to the next: 2 event types, 3 bad companies, 4 requests more', async () => {
    const bad = ['acme-03', 'acme-21', 'acme-40']
    const { simulator } = await aWorld({ bad, names: 'first' })
    const batches = (['joined', 'left'] as const).flatMap((type) =>
      batchesOf(byUrl(FIFTY), { batch_id: type, event_types: [type] }),
    )
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    const report = await extraction.run({ concurrency: 1 })
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    expect(simulator.account().requests).toBe(4 + 2)
  })

  it('a run that is stopped in the middle of a search goes on and finds the rest', async () => {
    const bad = ['acme-07', 'acme-30', 'acme-31', 'acme-48']
    const { simulator, extraction, tracked } = await aWorld({ bad, names: 'none' })
    const stop = new AbortController()
    let replaced = 0
    await errorOf(
      extraction.run({
        stop: stop.signal,
        onProgress: () => {
          replaced += 1
          if (replaced === 3) stop.abort(new Error('stop'))
        },
      }),
    )
    await extraction.run()
    expectIsolated(extraction, simulator, { bad, tracked })
    expect(simulator.account().credits).toBe(10)
  })

  it('several batches at once, each with bad companies, are all read', async () => {
    const companies = Array.from({ length: 200 }, (_, i) => `firm-${i}`)
    const bad = companies.filter((_, i) => i % 23 === 5)
    const tracked = companies.filter((slug) => !bad.includes(slug))
    const simulator = await simulate(tracked.map(eventOf), { unknownNames: 'none' })
    const batches = batchesOf(byUrl(companies))
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    const report = await extraction.run({ concurrency: 4 })
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(
      bad.toSorted(),
    )
    expect(extraction.events()).toHaveLength(tracked.length)
    expect(report).toMatchObject({ batches: 4, batchesDone: 4, credits: 40 })
    expectEqualBooks(extraction, simulator)
  })
})

describe('a company that is dropped by the service while its batch is being read', () => {
  it('from its second page on, is isolated once, and the others are read from the start', async () => {
    const source = ['org_keeps', 'org_goes'].flatMap((organization) =>
      manyEvents(400, { organization }),
    )
    const faults = Array.from({ length: 20 }, (_, i) => ({
      page: i + 2,
      organization_id: 'org_goes',
      status: 400,
      message: 'organization not tracked: org_goes',
      times: 'always' as const,
    }))
    const simulator = await simulate(source, { faults })
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      batches: batchesOf(['org_keeps', 'org_goes']),
    })
    const report = await extraction.run({ concurrency: 4 })
    expect(report).toMatchObject({ batches: 1, batchesDone: 1, quarantined: [{}] })
    const kinds = extraction.records().map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'batch_split')).toHaveLength(1)
    const people = extraction
      .events()
      .filter(({ organization }) => organization.organization_id === 'org_keeps')
      .map(({ person }) => person.profile_id)
    expect(new Set(people).size).toBe(400)
    expectEqualBooks(extraction, simulator)
  })
})

describe('a service that does not take page 10,000 for a test', () => {
  it('answering 400 about the page: the batch is halved, all tracked companies are read', async () => {
    const bad = ['acme-03', 'acme-33']
    const refusal = {
      page: 10_000,
      status: 400,
      message: 'page too high',
      times: 'always' as const,
    }
    const companies = bad.map((slug) => ({
      organization_id: `org_${slug}`,
      status: 400,
      message: 'a company is not tracked',
      times: 'always' as const,
    }))
    const simulator = await simulate(FIFTY.map(eventOf), { faults: [refusal, ...companies] })
    const extraction = askFor(simulator, FIFTY)
    const report = await extraction.run()
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    expect(extraction.events()).toHaveLength(48)
    // One test showed that there are none; then 2 · 6 halvings at most, of 2 requests each.
    const tests = simulator.account().log.filter(({ page }) => page === 10_000)
    expect(tests).toHaveLength(1)
    expectEqualBooks(extraction, simulator)
  })

  it('answering with events: what was charged is in the ledger, nothing is lost or blamed', async () => {
    const bad = ['acme-20']
    const companies = FIFTY.slice(0, 40)
    const faults = [
      {
        organization_id: 'org_acme-20',
        status: 400,
        message: 'a company is not tracked',
        times: 'always' as const,
      },
      { page: 10_000, same_page_forever: true as const, times: 'always' as const },
    ]
    const simulator = await simulate(companies.map(eventOf), { faults })
    const extraction = askFor(simulator, companies)
    const report = await extraction.run()
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    const read = new Set(extraction.events().map(({ organization }) => organization.slug))
    expect(read.size).toBe(39)
    expectEqualBooks(extraction, simulator)
  })

  it('accepting everything there: nobody is blamed without proof', async () => {
    const bad = ['acme-02', 'acme-30']
    const faults = bad.map((slug) => ({
      page: 1,
      organization_id: `org_${slug}`,
      status: 400,
      message: 'a company is not tracked',
      times: 'always' as const,
    }))
    const simulator = await simulate(FIFTY.map(eventOf), { faults })
    const extraction = askFor(simulator, FIFTY)
    const report = await extraction.run()
    expect(slugsOf(report.quarantined.map(({ organization }) => organization))).toEqual(bad)
    expect(extraction.events()).toHaveLength(48)
    expectEqualBooks(extraction, simulator)
  })
})

describe('what is never asked twice', () => {
  it.each([
    [400, 2],
    [401, 3],
    [402, 4],
    [403, 3],
    [404, 2],
    [422, 2],
  ])('%i: exactly 1 request with 1 batch, exit %i', async (status, exitCode) => {
    const faults = [{ status, message: 'no', times: 'always' as const }]
    const simulator = await simulate(manyEvents(3), { faults })
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      batches: batchesOf(['org_a']),
    })
    expect(await errorOf(extraction.run())).toMatchObject({ exitCode })
    expect(simulator.account().requests).toBe(1)
  })

  it.each([401, 403])('%i in the middle of a search: nothing is asked after it', async (status) => {
    const bad = ['acme-25']
    const { simulator, extraction } = await aWorld({
      bad,
      names: 'none',
      options: { faults: [{ page: 10_000, nth: 2, status }] },
    })
    const error = await errorOf(extraction.run())
    expect(error).toMatchObject({ exitCode: 3 })
    const { log } = simulator.account()
    expect(log.findIndex((entry) => entry.status === status)).toBe(log.length - 1)
  })
})
