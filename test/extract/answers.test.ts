/** Answers that are not a page, ask for a wait, or report a time. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { createTransport } from '../../src/api/transport.ts'
import { serviceTime } from '../../src/journal/clock-history.ts'
import { pausedUntil } from '../../src/journal/pauses.ts'
import { neededWindow } from '../../src/plan/window.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { waitEnd } from '../../src/support/clock.ts'
import { Secret } from '../../src/support/secret.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { aQuestion } from '../plan/plan-fixture.ts'
import {
  NOW,
  anEvent,
  manyEvents,
  simulate,
  type TestSimulator,
} from '../simulator/simulator-fixture.ts'
import {
  aRun,
  aService,
  batchOf,
  batchesOf,
  errorOf,
  expectSameCredits,
  simulated,
  type Service,
  type SimulatedOptions,
} from './extract-fixture.ts'

const FIFTY = Array.from({ length: 50 }, (_, i) => `org_${i}x`)

/** 50 batches of one organisation with one page each. */
function fifty(options: SimulatedOptions = {}) {
  const events = FIFTY.map((organization) => anEvent({ organization }))
  const service = simulated(events, { takesMs: 60, ...options })
  return { service, run: aRun(service, batchesOf(FIFTY)) }
}

/** A service that gives every request this answer. */
const always = (status: number, message: string) => aService(() => ({ status, message }))

it('treats a 200 with success: false and 0 credits as a free error: 0 credits in doubt, and the message of the service', async () => {
  const free = { success: false, message: 'upstream is away', data: null, credit_used: 0 }
  const service = aService(() => ({ takesMs: 200, text: JSON.stringify(free) }))
  const run = aRun(service, batchesOf(['org_1x']))
  const error = await errorOf(run.extract())
  expect(error).toMatchObject({ exitCode: 5 })
  expect(error.message).toContain('no success: upstream is away')
  expect(run.ledger()).toMatchObject({ total: 0, inDoubt: 0 })
})

describe('a refused key ends the run', () => {
  it.each([
    { status: 401, key: 'wrong-key', concurrency: 1, most: 1 },
    { status: 403, key: 'simulator-key', concurrency: 8, most: 8 },
  ])(
    '$status: at most $most requests with $concurrency workers, exit 3, 0 credits',
    async ({ status, key, concurrency, most }) => {
      const { run, service } = fifty({ key, faults: [{ status: 403, times: 'always' }] })
      const error = await errorOf(run.extract({ concurrency }))
      expect(error).toMatchObject({ exitCode: 3, context: { status } })
      expect(service.account.length).toBeLessThanOrEqual(most)
      expect(run.ledger().total).toBe(0)
      expect(JSON.stringify([error.message, run.frames, run.log])).not.toContain(key)
    },
  )

  it.each([404, 405, 410, 301])(
    '%i means a wrong address: 1 request, exit 2, the address is named',
    async (status) => {
      const service = always(status, 'nothing here')
      const error = await errorOf(aRun(service).extract())
      expect(error).toMatchObject({ exitCode: 2 })
      expect(error.message).toContain(`${status} from https://service.example`)
      expect(service.account).toHaveLength(1)
    },
  )

  it('422 refuses the request, with the message of the service: 1 request, exit 2, 0 credits', async () => {
    const service = always(422, 'company_ids must be integers')
    const error = await errorOf(aRun(service).extract())
    expect(error).toMatchObject({ exitCode: 2, context: { status: 422 } })
    expect(error.message).toBe(
      'the service did not accept the request (422): company_ids must be integers',
    )
    expect(error['hint']).toContain('Correct what the service names')
    expect(service.account).toHaveLength(1)
  })

  it('400 that is not about a company stops the run after 1 request, because fewer companies would not help', async () => {
    const service = always(400, 'page must be a number')
    const run = aRun(service, [batchOf(['org_a', 'org_b'])])
    const error = await errorOf(run.extract())
    expect(error).toMatchObject({ name: 'BadRequestError', exitCode: 2 })
    expect(error.message).toContain('page must be a number')
    expect(error['hint']).toContain('Nothing was charged')
    expect(service.account).toHaveLength(1)
    expect(run.ledger().total).toBe(0)
  })

  it.each([
    { concurrency: 1, most: 11 },
    { concurrency: 8, most: 18 },
  ])(
    '402: with exit 4 and at most $most requests with $concurrency workers; 10 pages are kept',
    async ({ concurrency, most }) => {
      const message = 'You have used all credits of your plan'
      const { run, service } = fifty({
        faults: FIFTY.slice(10).map((id) => ({ organization_id: id, status: 402, message })),
      })
      const error = await errorOf(run.extract({ concurrency, random: () => 0 }))
      expect(error).toMatchObject({ exitCode: 4 })
      expect(error.message).toContain(`(402): ${message}`)
      expect(error['hint']).toMatch(/Nothing was charged for this request. Top up .* again/)
      expect(service.account.length).toBeLessThanOrEqual(most)
      expect(run.ledger()).toEqual({ charged: 100, inDoubt: 0, total: 100 })
      service.endpoint.setFaults([])
      await run.extract({ concurrency })
      expect(run.events()).toHaveLength(50)
      expectSameCredits(run, service)
    },
  )

  const ESC = String.fromCharCode(27)
  const CSI = String.fromCharCode(0x9b)
  const forged = `bad ${ESC}[31m thing${CSI}2J\r\n\u2028jobtide: forged \u202eline\u2066`
  it.each([400, 401, 402, 403, 404])(
    'the text of a %i reaches no reader with control characters, line breaks or reversed text',
    async (status) => {
      const run = aRun(always(status, forged))
      const error = await errorOf(run.extract())
      expect(error.message).toContain('bad [31m thing 2J jobtide: forged line')
      const records = run.frames.map(({ record }) => record)
      const kept = JSON.stringify([error.message, run.log, records])
      expect(kept).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028]|\\u00|\\[rn]/u)
    },
  )
})

/** The simulator over HTTP. */
function overHttp(simulator: TestSimulator): Service {
  const clock = virtualClock(NOW)
  const apiKey = new Secret('simulator-key')
  const transport = createTransport({ baseUrl: simulator.url, apiKey, clock, connections: 4 })
  onTestFinished(() => transport.close())
  return { ...transport, clock, account: [], charged: () => simulator.account().credits }
}

describe('a request that brings no complete page is sent again', () => {
  const cases: { name: string; fault: Fault; inDoubt: number }[] = [
    { name: 'status 500', fault: { status: 500 }, inDoubt: 0 },
    { name: 'status 504 in HTML', fault: { status: 504, body: '<html>' }, inDoubt: 0 },
    { name: 'a body cut in the middle', fault: { cut: '50%' }, inDoubt: 10 },
    { name: 'a body cut at once', fault: { cut: 0 }, inDoubt: 10 },
    { name: 'a reset connection', fault: { reset: true, charged: true }, inDoubt: 10 },
    { name: 'a gzip body cut in the middle', fault: { gzip_cut: '50%' }, inDoubt: 10 },
    {
      name: 'a body that is no JSON',
      fault: { status: 200, body: '{"data":[}', charged: true },
      inDoubt: 10,
    },
    {
      name: 'JSON that is no page',
      fault: { status: 200, body: { data: 1 }, charged: true },
      inDoubt: 10,
    },
  ]
  it.each(cases)(
    '$name: one more request, $inDoubt credits in doubt',
    async ({ fault, inDoubt }) => {
      const simulator = await simulate(manyEvents(120), { faults: [{ page: 2, ...fault }] })
      const run = aRun(overHttp(simulator))
      await run.extract({ concurrency: 1 })
      expect(run.events()).toEqual(manyEvents(120))
      expect(simulator.account().log.map(({ page }) => page)).toEqual([1, 2, 2, 3])
      expect(run.records('request_failed')).toMatchObject([{ page: 2, in_doubt: inDoubt > 0 }])
      expect(run.ledger()).toEqual({ charged: 30, inDoubt, total: 30 + inDoubt })
      expect(simulator.account().credits).toBe(30 + inDoubt)
    },
  )

  it('no event and no credit is lost if a fifth of all requests fail in every way', async () => {
    const ids = FIFTY.slice(0, 6)
    const source = ids.flatMap((organization) => manyEvents(130, { organization }))
    const kinds: Fault[] = cases.map(({ fault }) => fault)
    const simulator = await simulate(source, {
      faults: kinds.map((kind, i) => ({
        ...kind,
        probability: 0.03,
        seed: 40 + i,
        times: 'always' as const,
      })),
    })
    const run = aRun(overHttp(simulator), batchesOf(ids))
    await run.extract({ concurrency: 3 })
    expect(run.records('request_failed').length).toBeGreaterThan(0)
    expect(run.events()).toHaveLength(6 * 130)
    expect(run.ledger().total).toBe(simulator.account().credits)
  })
})

describe('no worker sends before a time the service named', () => {
  it('503 with Retry-After: 2 stops 8 workers, even while the pause is being recorded', async () => {
    const faults = [{ nth: 1, status: 503, headers: { 'Retry-After': 2 } }]
    const events = FIFTY.map((organization) => anEvent({ organization }))
    const service = simulated(events, { takesMs: 60, faults })
    // A disk that takes 150 ms to store a failure; pages are stored at once, so that the other workers continue.
    const run = aRun(service, batchesOf(FIFTY), ({ kind }) =>
      kind === 'request_failed' ? service.clock.sleep(150) : undefined,
    )
    await run.extract({ concurrency: 8 })
    const orderedAt = (service.account.find(({ status }) => status === 503)?.sentAt ?? 0) + 60
    const later = service.account.slice(8).map(({ sentAt }) => sentAt)
    expect(Math.min(...later)).toBeGreaterThanOrEqual(orderedAt + 2 * SECOND)
    expect(run.events()).toHaveLength(50)
    expectSameCredits(run, service)
  })

  it('a run stopped during a pause waits for the end of the pause when it is resumed', async () => {
    const { run, service } = fifty({ faults: [{ status: 503, headers: { 'Retry-After': 2 } }] })
    const stop = new AbortController()
    void service.clock.sleep(400).then(() => stop.abort(new Error('stop')))
    await errorOf(run.extract({ concurrency: 1, stop: stop.signal }))
    expect(service.account).toHaveLength(1)
    await run.extract({ concurrency: 8 })
    const [first, second] = service.account
    expect(second!.sentAt - first!.sentAt).toBeGreaterThanOrEqual(2_000)
    expect(run.events()).toHaveLength(50)
  })

  it('a wait longer than max_wait ends the run with exit 5 and the time; the next run requests nothing before it, and everything after it', async () => {
    const { run, service } = fifty({
      faults: [{ nth: 3, status: 503, headers: { 'Retry-After': 3_600 }, message: 'closed' }],
    })
    const error = await errorOf(run.extract())
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    const notBefore = Number(error['notBefore'])
    expect(notBefore).toBeGreaterThanOrEqual(NOW + HOUR)
    expect(error.message).toContain(waitEnd(notBefore))
    expect(error['hint']).toContain(waitEnd(notBefore))
    expect(pausedUntil(run.history(), NOW, null)).toBe(notBefore)
    const { length } = service.account
    expect(length).toBeLessThanOrEqual(3 + 4)
    const tooEarly = await errorOf(run.extract({ maxWaitMs: 10 * MINUTE }))
    expect(tooEarly).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(service.account).toHaveLength(length)
    await run.extract({ maxWaitMs: 2 * HOUR })
    expect(service.account[length]!.sentAt).toBeGreaterThanOrEqual(notBefore)
    expect(run.events()).toHaveLength(50)
    expectSameCredits(run, service)
  })

  it.each([
    ['503', { status: 503 }, 503, '503'],
    ['429', { status: 429 }, 429, '429'],
    ['a 200 that is not a page', { text: 'busy' }, 200, '200'],
    ['an error with 200', { text: '{"success":false,"message":"busy"}' }, 200, '200'],
  ])('%s: the pause says which status ordered it', async (_, answer, status, reason) => {
    const headers = { 'retry-after': '60' }
    const service = aService(({ nth }) => (nth === 1 ? { ...answer, headers } : {}))
    const run = aRun(service)
    await run.extract()
    expect(run.log).toContainEqual(expect.objectContaining({ msg: 'paused', status }))
    expect(run.records('paused')).toMatchObject([{ reason }])
  })

  it('an epoch in Retry-After is obeyed to the second', async () => {
    const { run, service } = fifty({
      faults: [{ nth: 3, status: 503, headers: { 'Retry-After': NOW / SECOND + 120 } }],
    })
    await run.extract({ concurrency: 1 })
    const waited = service.account[3]!.sentAt - NOW
    expect(waited).toBeGreaterThanOrEqual(120 * SECOND)
    expect(waited).toBeLessThanOrEqual(123 * SECOND)
    expect(run.events()).toHaveLength(50)
  })

  it('a wait of 30 days counts as a mistake: exit 5 for any max_wait, no request for an hour, then all of them', async () => {
    const { run, service } = fifty({
      faults: [{ nth: 3, status: 503, headers: { 'Retry-After': 30 * 86_400 } }],
    })
    const error = await errorOf(run.extract({ concurrency: 1, maxWaitMs: 90 * DAY }))
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(error.message).toContain('more than 24 hours away and counts as a mistake')
    const { length } = service.account
    const tooEarly = await errorOf(run.extract())
    expect(tooEarly).toMatchObject({ exitCode: 5 })
    expect(tooEarly['hint']).toContain('--forget-pause')
    expect(service.account).toHaveLength(length)
    await service.clock.advance(HOUR + 2 * SECOND)
    await run.extract()
    expect(run.events()).toHaveLength(50)
    expectSameCredits(run, service)
  })

  it('a plan of 30 requests an hour is used to its last request, then exit 5 with 0 refused requests, and the time is kept', async () => {
    const { run, service } = fifty({ rateLimit: { requests: 30, windowMs: HOUR } })
    const error = await errorOf(run.extract({ concurrency: 1 }))
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(run.records('paused')).toMatchObject([{ reason: 'requests of the plan used up' }])
    expect(pausedUntil(run.history(), NOW, null)).toBeGreaterThan(NOW + HOUR - MINUTE)
    await errorOf(run.extract({ concurrency: 1 }))
    expect(service.account.map(({ status }) => status)).toEqual(Array(30).fill(200))
    await run.extract({ concurrency: 1, maxWaitMs: 2 * HOUR })
    expect(service.account.map(({ status }) => status)).toEqual(Array(50).fill(200))
    expect(run.events()).toHaveLength(50)
  })
})

describe('a Date header that is wrong', () => {
  it.each([
    {
      what: 'in one of 3 pages, 30 days ahead: not believed, coverage is as without it',
      ahead: [0, 30, 0],
      coverage: [-365, 0],
      asked: [14, 15],
      trouble: { answers: 1, notBelieved: 1 },
      log: ['date_not_believed'],
    },
    {
      // Events that the service may have left out at the other end of the window are not covered.
      what: 'in all pages, 30 days ahead: coverage ends at our clock, and no day is left out later',
      ahead: [30, 30, 30],
      coverage: [-335, 0],
      asked: [14, 45],
      trouble: { answers: 3, notBelieved: 0 },
      // Once, not for each page.
      log: ['clocks_disagree'],
    },
    {
      what: 'in all pages, 30 days behind: coverage ends at the service clock',
      ahead: [-30, -30, -30],
      coverage: [-365, -30],
      asked: [1, 32],
      trouble: { answers: 3, notBelieved: 0 },
      log: ['clocks_disagree'],
    },
    {
      what: 'by 2 minutes is believed as it is, and nothing is said',
      ahead: [2 / 1_440, 2 / 1_440, 2 / 1_440],
      coverage: [2 / 1_440 - 365, 2 / 1_440],
      asked: [14, 15],
      trouble: null,
      log: [],
    },
  ])('$what: after $asked.0 days a window of $asked.1 is asked for', async (world) => {
    const clock = virtualClock(NOW)
    const events = manyEvents(150)
    const service = aService(({ page }) => {
      const date = new Date(clock.now() + (world.ahead[page - 1] ?? 0) * DAY).toUTCString()
      const data = events.slice((page - 1) * 50, page * 50)
      return { data, hasMore: page < 3, headers: { date } }
    }, clock)
    const run = aRun(service, [batchOf(['org_a'], { days_ago: 365 })])
    const { clockTrouble } = await run.extract()
    const history = run.history()
    const coverage = history.coverage.get('org_a') ?? []
    /** In days from now, to the minute. */
    const inDays = (at: number | null) => Math.round((((at ?? 0) - NOW) / DAY) * 1_440) / 1_440
    expect(coverage.map(({ from, to }) => [inDays(from), inDays(to)])).toEqual([world.coverage])
    const [days = 0, window] = world.asked
    const later = serviceTime(history, NOW + days * DAY)
    expect(neededWindow(aQuestion(), coverage, later)).toBe(window)
    if (world.trouble === null) expect([clockTrouble, history.clockDispute]).toEqual([null, null])
    else
      expect([clockTrouble, history.clockDispute]).toMatchObject([
        world.trouble,
        { runId: 'run_1' },
      ])
    expect(run.log.map(({ msg }) => msg)).toEqual(world.log)
  })
})

it('a run that ends while other workers wait says that their retries are dropped', async () => {
  const service = aService(() => ({ takesMs: 200, text: '<html>Please wait' }))
  const run = aRun(service, batchesOf(['org_1x', 'org_2x', 'org_3x', 'org_4x']))
  expect(await errorOf(run.extract())).toMatchObject({ exitCode: 5 })
  const dropped = run.log.filter(({ msg }) => msg === 'retry_dropped')
  expect(dropped).toContainEqual(
    expect.objectContaining({ page: 1, reason: 'the run ended first' }),
  )
})
