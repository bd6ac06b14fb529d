import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/simulator/faults.ts'
import { MINUTE } from '../../src/support/units.ts'
import { NOW, anEvent, manyEvents, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  expectEqualBooks,
  failuresOf,
  jumpingClock,
  batchesOf,
  watchUnhandledRejections,
  type Extraction,
} from './extract-fixture.ts'

const people = (extraction: Extraction) =>
  extraction.events().map(({ person }) => person.profile_id)

describe('a request that brings no whole page is sent again whole', () => {
  const cases: { name: string; fault: Fault; inDoubt: number }[] = [
    { name: 'status 500', fault: { status: 500 }, inDoubt: 0 },
    { name: 'status 502', fault: { status: 502 }, inDoubt: 0 },
    { name: 'status 504 in HTML', fault: { status: 504, body: '<html>' }, inDoubt: 0 },
    { name: 'a body cut in the middle', fault: { cut: '50%' }, inDoubt: 10 },
    { name: 'a body cut at once', fault: { cut: 0 }, inDoubt: 10 },
    { name: 'a reset connection', fault: { reset: true, charged: true }, inDoubt: 10 },
    { name: 'a gzip body cut in the middle', fault: { gzip_cut: '50%' }, inDoubt: 10 },
    { name: 'a body that is no JSON', fault: { garbage: true }, inDoubt: 10 },
    { name: 'a web page with status 200', fault: { html: true, charged: true }, inDoubt: 10 },
    { name: 'JSON that is no page', fault: { status: 200, body: { data: 1 } }, inDoubt: 10 },
  ]
  it.each(cases)(
    '$name: one more request, $inDoubt credits in doubt',
    async ({ fault, inDoubt, name }) => {
      const simulator = await simulate(manyEvents(120), { faults: [{ page: 2, ...fault }] })
      const extraction = anExtraction({
        simulator,
        clock: jumpingClock(NOW),
        batches: batchesOf(['org_a']),
      })
      await extraction.run({ concurrency: 1 })
      expect(people(extraction)).toEqual(manyEvents(120).map(({ person }) => person.profile_id))
      expect(simulator.account().log.map(({ page }) => page)).toEqual([1, 2, 2, 3])
      expect(failuresOf(extraction)).toMatchObject([{ page: 2, in_doubt: inDoubt > 0 }])
      expect(extraction.ledger()).toEqual({ charged: 30, inDoubt, total: 30 + inDoubt })
      // The status 200 of a fault with its own body is never charged by the simulator.
      if (name !== 'JSON that is no page') expectEqualBooks(extraction, simulator)
    },
  )

  it('a fifth of all requests failing in every way loses no event and no credit', async () => {
    const rejections = watchUnhandledRejections()
    const organizations = Array.from({ length: 6 }, (_, i) => `org_${i}x`)
    const source = organizations.flatMap((organization) => manyEvents(130, { organization }))
    const kinds: Fault[] = [
      { status: 500 },
      { cut: '30%' },
      { reset: true, charged: true },
      { gzip_cut: '90%' },
      { garbage: true },
    ]
    const faults = kinds.map((kind, i) => ({
      ...kind,
      probability: 0.04,
      seed: 40 + i,
      times: 'always' as const,
    }))
    const simulator = await simulate(source, { faults })
    const batches = organizations.flatMap((id, i) => batchesOf([id], { batch_id: `000${i}` }))
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    await extraction.run({ concurrency: 3 })
    expect(failuresOf(extraction).length).toBeGreaterThan(0)
    expect(extraction.events()).toHaveLength(6 * 130)
    expectEqualBooks(extraction, simulator)
    expect(rejections()).toEqual([])
  })

  it('gives a page up after 15 minutes of failures, exit 5 with the words of the service, and keeps what was bought', async () => {
    const faults: Fault[] = [{ page: 2, status: 500, times: 'always', message: 'out of order' }]
    const simulator = await simulate(manyEvents(120), { faults })
    const clock = jumpingClock(NOW)
    const extraction = anExtraction({ simulator, clock, batches: batchesOf(['org_a']) })
    const error = await errorOf(extraction.run({ concurrency: 1 }))
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(error.message).toContain('out of order')
    expect(clock.now() - NOW).toBeLessThanOrEqual(17 * MINUTE)
    // 5 failures, then one request each 30 s.
    const { requests } = simulator.account()
    expect(requests).toBeLessThanOrEqual(1 + 5 + 30)
    simulator.setFaults([])
    await extraction.run({ concurrency: 1 })
    expect(simulator.account()).toMatchObject({ requests: requests + 2, credits: 30 })
    expectEqualBooks(extraction, simulator)
  })

  it('gives a page up after 6 broken connections when the others can be had, and names it', async () => {
    const faults: Fault[] = [{ organization_id: 'org_bx', reset: true, times: 'always' }]
    const source = ['org_ax', 'org_bx'].flatMap((organization) => manyEvents(900, { organization }))
    const simulator = await simulate(source, { faults })
    const batches = ['org_bx', 'org_ax'].flatMap((id) => batchesOf([id], { batch_id: id }))
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    const error = await errorOf(extraction.run({ concurrency: 2 }))
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(error.message).toMatch(/^page 1 of batch org_bx could not be had in 6 attempts/)
    expect(failuresOf(extraction)).toHaveLength(6)
  })

  it('asks at most 5 times for a page it cannot read, because each may be billed', async () => {
    const simulator = await simulate(manyEvents(10), {
      faults: [{ garbage: true, times: 'always' }],
    })
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      batches: batchesOf(['org_a']),
    })
    expect(await errorOf(extraction.run())).toMatchObject({ exitCode: 5 })
    expect(simulator.account()).toMatchObject({ requests: 5, credits: 50 })
    expectEqualBooks(extraction, simulator)
  })

  it('reads on to the end when every second request fails: 60 requests for 30 pages', async () => {
    const organizations = Array.from({ length: 30 }, (_, i) => `org_${i}x`)
    const source = organizations.map((organization) => anEvent({ organization }))
    const faults: Fault[] = [{ every: 2, status: 502, times: 'always' }]
    const simulator = await simulate(source, { faults })
    const batches = organizations.flatMap((id, i) =>
      batchesOf([id], { batch_id: String(i).padStart(4, '0') }),
    )
    const extraction = anExtraction({ simulator, clock: jumpingClock(NOW), batches })
    await extraction.run({ concurrency: 1 })
    expect(extraction.events()).toHaveLength(30)
    expect(simulator.account().requests).toBeLessThanOrEqual(60)
    expectEqualBooks(extraction, simulator)
  })
})

describe('paging that does not end is stopped within 3 billed pages', () => {
  const cases: { name: string; events: number; fault: Fault; cause: string; requests: number }[] = [
    {
      name: 'has_more after the last page',
      events: 50,
      fault: { has_more_forever: true },
      cause: 'empty pages promise more',
      requests: 4,
    },
    {
      name: 'empty pages that promise more',
      events: 50,
      fault: { empty_with_has_more: true },
      cause: 'empty pages promise more',
      requests: 3,
    },
    {
      name: 'page 1 for ever',
      events: 120,
      fault: { same_page_forever: true },
      cause: 'pages are the same',
      requests: 3,
    },
    {
      name: 'every page says it is page 1',
      events: 500,
      fault: { stuck_page_number: true },
      cause: 'asked for page 2, got page 1',
      requests: 3,
    },
  ]
  it.each(cases)('$name: $requests requests', async ({ events, fault, cause, requests }) => {
    const simulator = await simulate(manyEvents(events), {
      faults: [{ ...fault, times: 'always' }],
    })
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      batches: batchesOf(['org_a']),
    })
    const error = await errorOf(extraction.run())
    expect(error).toMatchObject({ exitCode: 5 })
    expect(error.message).toContain(cause)
    expect(simulator.account().requests).toBe(requests)
    expect(simulator.account().charged_pages).toBeLessThanOrEqual(3)
    expectEqualBooks(extraction, simulator)
  })

  it('two equal pages in a row are no reason to stop', async () => {
    const simulator = await simulate(manyEvents(150), {
      faults: [{ page: 2, same_page_forever: true }],
    })
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      batches: batchesOf(['org_a']),
    })
    await extraction.run()
    expect(extraction.history().batches.get('0001')).toMatchObject({ state: 'finished', pages: 3 })
  })
})

describe('a batch with more pages than the service counts', () => {
  /** An extraction that had read 9,999 pages of its only batch when it was stopped. */
  async function wideBatch(organizations: string[]) {
    const source = organizations.flatMap((organization) => manyEvents(30, { organization }))
    const simulator = await simulate(source, {
      faults: [{ page: 10_000, same_page_forever: true, times: 2 }],
    })
    const extraction = anExtraction({
      simulator,
      clock: jumpingClock(NOW),
      batches: batchesOf(organizations),
    })
    await errorOf(extraction.run({ stop: AbortSignal.abort(new Error('stop')) }))
    const run = extraction.history()
    Object.assign(run.batches.get('0001')!, { pages: 9_999, hasMore: true })
    return { simulator, extraction, run }
  }

  it('is asked for a page once more, split by organisation and asked again', async () => {
    const { simulator, extraction, run } = await wideBatch(['org_a', 'org_b', 'org_c'])
    const report = await extraction.run({ run, concurrency: 1 })
    expect(report).toMatchObject({ batches: 2, batchesDone: 2, quarantined: [] })
    const asked = simulator
      .account()
      .log.map(({ page, organizations }) => ({ page, organizations }))
    expect(asked).toEqual([
      { page: 10_000, organizations: 3 },
      { page: 9_999, organizations: 3 },
      { page: 1, organizations: 2 },
      { page: 2, organizations: 2 },
      { page: 1, organizations: 1 },
    ])
    const states = [...extraction.history().batches].map(([id, { state }]) => [id, state])
    expect(states).toEqual([
      ['0001', 'split'],
      ['0001.1', 'finished'],
      ['0001.2', 'finished'],
    ])
  })

  it('of one organisation is reported as not coverable, never cut silently', async () => {
    const { simulator, extraction, run } = await wideBatch(['org_a'])
    const report = await extraction.run({ run })
    expect(report.quarantined).toMatchObject([
      { organization: { value: 'org_a' }, reason: expect.stringContaining('10000 pages') },
    ])
    expect(simulator.account().requests).toBe(2)
    expect(extraction.records().some((record) => record.kind === 'batch_finished')).toBe(false)
  })
})
