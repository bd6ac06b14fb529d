import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createWorld } from '../../src/simulator/world.ts'
import { DAY, SECOND } from '../../src/support/units.ts'
import { NOW, anEvent, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  expectEqualBooks,
  jumpingClock,
  batchesOf,
  watchUnhandledRejections,
} from './extract-fixture.ts'

const clockAt = () => jumpingClock(NOW)

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
    const source = [...others, ...manyEvents(events)]
    const simulator = await simulate(source)
    const extraction = anExtraction({ simulator })
    const report = await extraction.run({ concurrency: 1 })
    expect(report).toMatchObject({ pages, events, credits, batches: 1, batchesDone: 1 })
    // Without an event one request was needed to know that.
    expect(simulator.account()).toMatchObject({ requests: Math.max(1, pages), credits })
    expect(extraction.events().map(({ person }) => person.profile_id)).toEqual(
      manyEvents(events).map(({ person }) => person.profile_id),
    )
    expectEqualBooks(extraction, simulator)
  })

  it.each([1, 4, 16])('a world of 120 organisations with %i workers', async (concurrency) => {
    const source = createWorld({
      seed: 7,
      organizations: 120,
      startAt: NOW - 730 * DAY,
      endAt: NOW - DAY,
      events: 3_000,
    })
    const simulator = await simulate(source)
    const batches = batchesOf(source.organizations.map(({ organization_id }) => organization_id))
    const extraction = anExtraction({ simulator, batches })
    await extraction.run({ concurrency })
    const visible = source.events.filter(({ detectedAt }) => detectedAt <= NOW)
    const bought = extraction.events().map((event) => JSON.stringify(event))
    expect(bought.toSorted()).toEqual(visible.map(({ json }) => json).toSorted())
    expectEqualBooks(extraction, simulator)
    expect(extraction.history().batches.size).toBe(3)
  })

  it('asks with the window, the only event type, ids and URLs of the batch, 50 events a page', async () => {
    const simulator = await simulate([anEvent({ detectedDaysAgo: 3 })])
    const batches = batchesOf(['org_a', { by: 'url', value: 'company-a' }], {
      days_ago: 7,
      event_types: ['joined'],
    })
    const extraction = anExtraction({ simulator, batches })
    await extraction.run()
    expect(simulator.account().log).toMatchObject([
      { organizations: 1, event_type: 'joined', days_ago: 7, page: 1, limit: 50, events: 1 },
    ])
    const finished = extraction.records().find((record) => record.kind === 'batch_finished')
    expect(finished).toMatchObject({
      covered_from: NOW - 7 * DAY + SECOND,
      covered_to: NOW,
      pages: 1,
    })
  })

  it('covers up to the server time of the first page, not of the last', async () => {
    const simulator = await simulate(manyEvents(120))
    const clock = clockAt()
    const extraction = anExtraction({ simulator, clock })
    const passing = () => simulator.advance(60_000)
    await extraction.run({ onProgress: ({ pages }) => pages > 0 && passing() })
    const finished = extraction.records().find((record) => record.kind === 'batch_finished')
    expect(finished).toMatchObject({ covered_from: null, covered_to: NOW, pages: 3 })
  })

  it('warns once of each charge that is neither 10 nor 0 for an empty page, and books it as sent', async () => {
    const body = {
      success: true,
      message: 'ok',
      data: [anEvent()],
      pagination: { page: 1, limit: 50, has_more: false },
      credit_used: 25,
    }
    const simulator = await simulate([anEvent()], { faults: [{ status: 200, body }] })
    const extraction = anExtraction({ simulator })
    const report = await extraction.run()
    expect(report.credits).toBe(25)
    expect(extraction.ledger().charged).toBe(25)
    const warnings = extraction.log.filter(({ msg }) => msg === 'unexpected_charge')
    expect(warnings).toMatchObject([{ page: 1, credits_used: 25, expected: 10 }])
  })

  it('keeps fields it does not know in the journal', async () => {
    const source = manyEvents(3).map((event) => ({
      ...event,
      person: { ...event.person, pronouns: 'they' },
    }))
    const simulator = await simulate(source)
    const extraction = anExtraction({ simulator })
    await extraction.run()
    expect(extraction.events().filter(({ person }) => 'pronouns' in person)).toHaveLength(3)
  })
})

describe('a long run', () => {
  it('leaves no listener on its signals after 200 pages by 8 workers in a budget that is just enough', async () => {
    const organizations = Array.from({ length: 100 }, (_, i) => `org_${i}x`)
    const source = organizations.flatMap((organization) => manyEvents(60, { organization }))
    const simulator = await simulate(source)
    const batches = organizations.flatMap((id, i) => batchesOf([id], { batch_id: `${i}` }))
    const extraction = anExtraction({ simulator, batches })
    const stop = new AbortController()
    const abort = new AbortController()
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    const signals = { stop: stop.signal, abort: abort.signal }
    await extraction.run({ concurrency: 8, creditsLimit: 2_000, ...signals })
    process.off('warning', note)
    expect(extraction.history().pages).toBe(200)
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0)
    expect(warnings.map(({ name }) => name)).toEqual([])
  })
})

describe('a run that stops is taken up again', () => {
  it('a stop finishes the requests in flight, and the next attempt buys nothing twice', async () => {
    const rejections = watchUnhandledRejections()
    const organizations = Array.from({ length: 8 }, (_, i) => `org_${i}x`)
    const source = organizations.flatMap((organization) => manyEvents(60, { organization }))
    const simulator = await simulate(source, {
      faults: [{ slow: { delay_ms: 30 }, times: 'always' }],
    })
    const batches = organizations.flatMap((id, i) => batchesOf([id], { batch_id: `000${i}` }))
    const extraction = anExtraction({ simulator, batches })
    const stop = new AbortController()
    const reason = new Error('stopped by signal')
    const onProgress = ({ pages }: { pages: number }) => pages >= 5 && stop.abort(reason)
    const first = await errorOf(extraction.run({ concurrency: 4, stop: stop.signal, onProgress }))
    expect(first).toBe(reason)
    const { requests } = simulator.account()
    expect(requests).toBeLessThanOrEqual(5 + 4)
    // What was in flight was finished and kept: nothing is in doubt.
    expect(extraction.history().unanswered).toBe(0)
    expectEqualBooks(extraction, simulator)

    await extraction.run({ concurrency: 4 })
    expect(simulator.account().requests).toBe(16)
    expect(extraction.events()).toHaveLength(480)
    expectEqualBooks(extraction, simulator)
    expect(rejections()).toEqual([])
  })

  it('writes the end of a batch that was bought whole but not closed, without a request', async () => {
    const simulator = await simulate(manyEvents(10))
    const batches = batchesOf(['org_a'])
    const extraction = anExtraction({
      simulator,
      batches,
      wrapWriter: (writer) => ({
        ...writer,
        write: (record, payload) => writer.write(record, payload),
        close: () => writer.close(),
        append: async (record, payload) => {
          if (record.kind === 'batch_finished' && !extraction.log.some((line) => line['second'])) {
            throw new Error('killed here')
          }
          await writer.append(record, payload)
        },
      }),
    })
    expect((await errorOf(extraction.run())).message).toBe('killed here')
    extraction.log.push({ second: true })
    const report = await extraction.run()
    expect(report).toMatchObject({ batchesDone: 1, pages: 0 })
    expect(simulator.account().requests).toBe(1)
    expect(extraction.history().batches.get('0001')?.state).toBe('finished')
  })
})
