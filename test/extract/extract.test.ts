import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { JobChangeEvent } from '../../src/simulator/events.ts'
import { sourceOf } from '../../src/simulator/events.ts'
import { createWorld } from '../../src/simulator/world.ts'
import { DAY, MINUTE, SECOND } from '../../src/support/units.ts'
import { NOW, anEvent, manyEvents } from '../simulator/simulator-fixture.ts'
import {
  aRun,
  aService,
  batchOf,
  batchesOf,
  buyAll,
  errorOf,
  expectSameCredits,
  nameOf,
  simulated,
  type Asked,
  type SimulatedOptions,
} from './extract-fixture.ts'

const ROUND_TRIP_MS = 200

/**
 * This many organisations with this many pages each, one batch per organisation, on a service that answers after 200
 * ms.
 */
function severalBatches(count: number, pages: number, options: SimulatedOptions = {}) {
  const ids = Array.from({ length: count }, (_, i) => `org_${i}`)
  const events = ids.flatMap((organization) => manyEvents(pages * 50, { organization }))
  const service = simulated(events, { takesMs: ROUND_TRIP_MS, ...options })
  const run = aRun(service, batchesOf(ids, 1, { expected_pages: pages }))
  const finished = () => run.records('batch_finished').map(({ batch_id: id }) => id)
  return { service, run, finished, clock: service.clock }
}

describe('extract buys every event once', () => {
  it.each([
    { events: 0, pages: 0, credits: 0 },
    { events: 50, pages: 1, credits: 10 },
    { events: 51, pages: 2, credits: 20 },
    { events: 101, pages: 3, credits: 30 },
  ])('$events events are $pages pages for $credits credits', async ({ events, pages, credits }) => {
    const others = [
      anEvent({ organization: 'org_b' }),
      anEvent({ person: 'per_later', detectedDaysAgo: -1 }),
    ]
    // Unknown fields are kept as well.
    const wanted = manyEvents(events).map((event) => ({ ...event, colour: 'red' }))
    const service = simulated([...others, ...wanted])
    const run = aRun(service)
    const report = await run.extract({ concurrency: 1 })
    expect(report).toMatchObject({ pages, events, credits, batches: 1, batchesDone: 1 })
    // One request was needed to learn that there is no event.
    expect(service.account).toHaveLength(Math.max(1, pages))
    expect(run.events()).toEqual(wanted)
    expectSameCredits(run, service)
  })

  it.each([1, 4, 16])('of a world of 120 organisations with %i workers', async (concurrency) => {
    const world = { seed: 7, organizations: 120, startAt: NOW - 730 * DAY, endAt: NOW - DAY }
    const source = createWorld({ ...world, events: 3_000 })
    const service = simulated(source, { takesMs: ROUND_TRIP_MS })
    const ids = source.organizations.map(({ organization_id: id }) => id)
    const run = aRun(service, batchesOf(ids, 50))
    await run.extract({ concurrency })
    const visible = source.events.filter(({ detectedAt }) => detectedAt <= NOW)
    const bought = run.events().map((event) => JSON.stringify(event))
    expect(bought.toSorted()).toEqual(visible.map(({ json }) => json).toSorted())
    expectSameCredits(run, service)
  })

  it('sends the window, the only event type, ids and URLs of the batch, and 50 events a page', async () => {
    const service = simulated([anEvent({ detectedDaysAgo: 3 })])
    const batch = batchOf(['org_a', { by: 'url', value: 'company-a' }], {
      days_ago: 7,
      event_types: ['joined'],
    })
    const run = aRun(service, [batch])
    await run.extract()
    expect(service.account.map(({ body }) => body)).toEqual([
      {
        organization_ids: ['org_a'],
        company_urls: ['company-a'],
        event_type: 'joined',
        days_ago: 7,
        page: 1,
        limit: 50,
      },
    ])
    expect(run.records('batch_finished')).toMatchObject([
      { covered_from: NOW - 7 * DAY + SECOND, covered_to: NOW, pages: 1 },
    ])
  })

  it('covers up to the server time of the first page, not of the last', async () => {
    const run = aRun(simulated(manyEvents(120), { takesMs: MINUTE }))
    await run.extract()
    expect(run.records('batch_finished')).toMatchObject([
      { covered_from: null, covered_to: NOW, pages: 3 },
    ])
  })

  it('leaves no listener on its signals after 200 pages by 8 workers within a budget that just suffices', async () => {
    const { run } = severalBatches(100, 2)
    const stop = new AbortController()
    const abort = new AbortController()
    const signals = { stop: stop.signal, abort: abort.signal }
    await run.extract({ concurrency: 8, creditsLimit: 2_000, ...signals })
    expect(run.run().pages).toBe(200)
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0)
  })
})

describe('batches are read in parallel, the pages of each in order', () => {
  it.each([
    // One more request after 8 pages of a batch, and another one after 64; both are free.
    { batches: 1, workers: 1, seconds: 20.4, first: [1, 2, 3, 4, 5, 6] },
    { batches: 1, workers: 4, seconds: 20.4, first: [1, 2, 3, 4, 5, 6] },
    { batches: 4, workers: 1, seconds: 20.8, first: [1, 2, 3, 4, 5, 6] },
    { batches: 4, workers: 2, seconds: 10.4, first: [1, 1, 2, 2, 3, 3] },
    { batches: 4, workers: 4, seconds: 5.2, first: [1, 1, 1, 1, 2, 2] },
  ])(
    '100 pages in $batches batches in $seconds s, with $workers workers',
    async ({ batches, workers, seconds, first }) => {
      const { run, service, clock } = severalBatches(batches, 100 / batches)
      await run.extract({ concurrency: workers })
      expect((clock.now() - NOW) / SECOND).toBeLessThanOrEqual(seconds)
      expect(service.account.slice(0, 6).map(({ page }) => page)).toEqual(first)
      expect(run.bought().size).toBe(5_000)
      expect(service.charged()).toBe(1_000)
      expectSameCredits(run, service)
    },
  )

  it('with 300 credits for 6 batches of 10 pages, finishes 3 instead of beginning 6', async () => {
    const { run, finished } = severalBatches(6, 10)
    await expect(run.extract({ creditsLimit: 300 })).rejects.toThrow('300 credits')
    expect(finished()).toEqual(['0000', '0001', '0002'])
  })
})

describe('a run that stops is resumed', () => {
  it('a stop finishes the requests in flight, and the next attempt buys nothing twice', async () => {
    const { run, service } = severalBatches(8, 2)
    const stop = new AbortController()
    const reason = new Error('stopped by signal')
    const onProgress = ({ pages }: { pages: number }) => pages >= 5 && stop.abort(reason)
    expect(await errorOf(run.extract({ stop: stop.signal, onProgress }))).toBe(reason)
    expect(service.account.length).toBeLessThanOrEqual(5 + 4)
    // Requests in flight were finished and stored, so nothing is in doubt.
    expectSameCredits(run, service)
    await run.extract()
    expect(service.account).toHaveLength(16)
    expect(run.events()).toHaveLength(800)
    expectSameCredits(run, service)
  })

  it.each([2, 5, 17])('a kill after %i pages costs only what was in flight', async (after) => {
    const { run, service } = severalBatches(1, 30)
    const onProgress = ({ pages }: { pages: number }) => pages === after && run.kill()
    await expect(run.extract({ onProgress })).rejects.toThrow('killed')
    await run.extract()
    expect(service.charged()).toBeLessThanOrEqual(300 + 10)
    expect(run.ledger().total).toBeGreaterThanOrEqual(service.charged())
    expect(run.bought().size).toBe(1_500)
  })

  it('first finishes what an earlier attempt began', async () => {
    const { run, finished } = severalBatches(6, 4)
    await errorOf(run.extract({ concurrency: 1, creditsLimit: 60 }))
    expect(finished()).toEqual(['0000'])
    await errorOf(run.extract({ concurrency: 1, creditsLimit: 80 }))
    expect(finished()).toEqual(['0000', '0001'])
  })

  it('closes a batch that was bought completely but never closed, without a request', async () => {
    const service = simulated(manyEvents(10))
    let isKilled = false
    const run = aRun(service, undefined, ({ kind }) => {
      if (kind !== 'batch_finished' || isKilled) return
      isKilled = true
      throw new Error('killed here')
    })
    expect((await errorOf(run.extract())).message).toBe('killed here')
    expect(await run.extract()).toMatchObject({ batchesDone: 1, pages: 0 })
    expect(service.account).toHaveLength(1)
    expect(run.run().batches.get('0001')?.state).toBe('finished')
  })
})

describe('a batch with more pages than the service counts', () => {
  it('is split by organisation as soon as this is known, and reports what cannot be covered', async () => {
    const others = ['org_b', 'org_c', 'org_d']
    const source = others.flatMap((organization) => manyEvents(150, { organization }))
    const all = simulated(source)
    const { clock } = all
    /** org_a has endless events, but not on one day. */
    const endless = ({ page }: Asked) => ({
      data: manyEvents(50, { organization: 'org_a' }).map((event, i) => ({
        ...event,
        person: { ...event.person, profile_id: `per_${page}_${i}` },
      })),
      hasMore: page <= 10_000,
    })
    const service = aService(async (asked) => {
      if (asked.daysAgo === 1) return {}
      if (asked.organizations.includes('org_a')) return endless(asked)
      const answer = await all.send(asked.path, asked.body, new AbortController().signal)
      return { text: answer.body.toString(), charge: all.account.at(-1)?.charged ?? 0 }
    }, clock)
    const run = aRun(service, [batchOf(['org_a', ...others])])
    const report = await run.extract()
    const reason = 'more than 10000 pages: not coverable in this window'
    expect(report.quarantined).toMatchObject([{ organization: { value: 'org_a' }, reason }])
    expect(Math.max(...service.account.map(({ page }) => page))).toBe(10_000)
    const finished = run.records('batch_finished').map(({ batch_id: id }) => id)
    expect(finished.toSorted()).toEqual(['0001.1.2', '0001.2'])
    const bought = run.bought()
    expect(source.filter((event) => !bought.has(nameOf(event)))).toEqual([])
    // Found by probing free pages past the end instead of after 10,000 pages.
    expect(service.charged() / 10).toBeLessThanOrEqual(210)
    expectSameCredits(run, service)
  })
})

/** 2,000 events of 5 organisations; 7 % of them correct another one, anywhere near it. */
function repeatingEvents(): JobChangeEvent[] {
  const all: JobChangeEvent[] = []
  for (let i = 0; all.length < 2_000; i += 1) {
    const detectedAt = NOW - (5 + ((i * 37) % 300)) * DAY
    const organization = `org_${i % 5}`
    const event = anEvent({ person: `per_${i}`, organization, detectedAt, lagDays: (i * 13) % 90 })
    all.push(event)
    if (i % 13 !== 0) continue
    const seenAgain = new Date(detectedAt + 4 * DAY).toISOString()
    all.push({ ...event, detected_at: seenAgain, detection_lag_days: (i * 7) % 90 })
  }
  return all
}

describe('a list in which keys repeat, because corrections stand next to the corrected events', () => {
  it.each([1, 2, 4, 8])('of 40 pages costs 40 pages, with %i workers', async (workers) => {
    expect(await buyAll(sourceOf(repeatingEvents()), 5, workers)).toBe(40)
  })

  it('of 5 organisations, one batch each, costs 8 or 9 pages per batch, with 8 workers', async () => {
    expect(await buyAll(sourceOf(repeatingEvents()), 1, 8)).toBeLessThanOrEqual(42)
  })
})
