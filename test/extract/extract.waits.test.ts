import { describe, expect, it } from 'vitest'
import type { JournalWriter } from '../../src/journal/journal.ts'
import { readHistory } from '../../src/journal/read-history.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { realClock } from '../../src/support/clock.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { NOW, anEvent, simulate } from '../simulator/simulator-fixture.ts'
import {
  anExtraction,
  errorOf,
  expectEqualBooks,
  jumpingClock,
  batchesOf,
  watchUnhandledRejections,
} from './extract-fixture.ts'

const organizations = Array.from({ length: 24 }, (_, i) => `org_${String(i).padStart(2, '0')}x`)
// Long ago, so that they can be seen on the machine's own clock.
const events = organizations.map((organization) =>
  anEvent({ organization, detectedAt: Date.UTC(2025, 0, 1) }),
)
const batches = organizations.flatMap((id, i) =>
  batchesOf([id], { batch_id: String(i).padStart(4, '0') }),
)

const times = (simulator: Simulator) =>
  simulator.account().log.map(({ at, status }) => ({ at: Date.parse(at), status }))

/** A disk that takes 150 ms to keep a failure; pages are kept at once, so that the other workers go on. */
function slowDisk(writer: JournalWriter): JournalWriter {
  return {
    write: (record, payload) => writer.write(record, payload),
    async append(record, payload) {
      await writer.append(record, payload)
      if (record.kind === 'request_failed' || record.kind === 'paused') await realClock.sleep(150)
    },
    close: () => writer.close(),
  }
}

// These run on the machine's own clock: what must not happen is a request that leaves too early.
describe('no worker sends before a time the service named', () => {
  it('503 with Retry-After: 2 holds 8 workers back, also while the pause is being written down', async () => {
    const simulator = await simulate(events, {
      clock: realClock,
      faults: [
        { nth: 6, status: 503, headers: { 'Retry-After': 2 } },
        // The others of the first eight are still on their way when the order comes.
        { slow: { delay_ms: 60 }, times: 'always' },
      ],
    })
    const extraction = anExtraction({ simulator, clock: realClock, batches, wrapWriter: slowDisk })
    await extraction.run({ concurrency: 8 })
    const log = times(simulator)
    const ordered = log.find(({ status }) => status === 503)
    // The first eight left before anybody could know; on a busy machine some of them arrive after the order was given.
    const late = log.slice(8)
    expect(Math.min(...late.map(({ at }) => at)) - (ordered?.at ?? 0)).toBeGreaterThanOrEqual(2_000)
    expect(extraction.events()).toHaveLength(24)
    expectEqualBooks(extraction, simulator)
  })

  it('429: 12 requests a second: the limit is kept, nothing is lost', async () => {
    const simulator = await simulate(events, {
      clock: realClock,
      rateLimit: { requests: 12, windowMs: SECOND },
    })
    const extraction = anExtraction({ simulator, clock: realClock, batches })
    await extraction.run({ concurrency: 8 })
    expect(extraction.events()).toHaveLength(24)
    // 24 requests at 12 a second: the first answers name the limit, after that nobody runs into it.
    const { by_status: byStatus } = simulator.account()
    expect(byStatus['429'] ?? 0).toBeLessThanOrEqual(2)
    expectEqualBooks(extraction, simulator)
  })

  it('a run that was stopped during a pause waits for its end when it is taken up again', async () => {
    const simulator = await simulate(events, {
      clock: realClock,
      faults: [{ status: 503, headers: { 'Retry-After': 2 } }],
    })
    const extraction = anExtraction({ simulator, clock: realClock, batches })
    const stop = new AbortController()
    const stopSoon = realClock.sleep(400).then(() => stop.abort(new Error('stop')))
    await errorOf(extraction.run({ concurrency: 1, stop: stop.signal }))
    await stopSoon
    expect(simulator.account().requests).toBe(1)
    await extraction.run({ concurrency: 8 })
    const [first, second] = times(simulator)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2_000)
    expect(extraction.events()).toHaveLength(24)
  })
})

describe('a wait longer than max_wait', () => {
  const faults = [{ nth: 3, status: 503, headers: { 'Retry-After': 3_600 }, message: 'closed' }]

  it('ends the run with exit 5 and names the time; before it the next run asks nothing, after it all', async () => {
    const rejections = watchUnhandledRejections()
    const simulator = await simulate(events, { faults })
    const clock = jumpingClock(NOW)
    const extraction = anExtraction({ simulator, clock, batches })
    const error = await errorOf(extraction.run({ concurrency: 4, maxWaitMs: 15 * MINUTE }))
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    const notBefore = Number(error['notBefore'])
    expect(notBefore).toBeGreaterThanOrEqual(NOW + HOUR)
    const printed = new Date(notBefore).toISOString()
    expect(error.message).toContain(printed)
    expect(error['hint']).toContain(printed)
    expect(readHistory(extraction.journal).notBefore).toBe(notBefore)
    const { requests } = simulator.account()
    expect(requests).toBeLessThanOrEqual(3 + 4)

    const tooEarly = await errorOf(extraction.run({ maxWaitMs: 10 * MINUTE }))
    expect(tooEarly).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(simulator.account().requests).toBe(requests)
    await extraction.run({ maxWaitMs: 2 * HOUR })
    expect(clock.now()).toBeGreaterThanOrEqual(notBefore)
    expect(extraction.events()).toHaveLength(24)
    expectEqualBooks(extraction, simulator)
    expect(rejections()).toEqual([])
  })
})

describe('a plan of 3 requests an hour, said by X-RateLimit-Remaining: 0 on a page', () => {
  it('is bought to its last request, then the run ends with exit 5 and 0 refused requests; the time is kept', async () => {
    const clock = jumpingClock(NOW)
    const rateLimit = { requests: 3, windowMs: HOUR }
    const simulator = await simulate(events, { clock, rateLimit })
    const extraction = anExtraction({ simulator, clock, batches })
    const error = await errorOf(extraction.run({ concurrency: 1, maxWaitMs: 15 * MINUTE }))
    expect(error).toMatchObject({ name: 'UnavailableError', exitCode: 5 })
    expect(simulator.account().by_status).toEqual({ '200': 3 })
    expect(extraction.events()).toHaveLength(3)

    const { notBefore } = readHistory(extraction.journal)
    expect(notBefore).toBeGreaterThan(NOW + HOUR - MINUTE)
    await errorOf(extraction.run({ concurrency: 1, maxWaitMs: 15 * MINUTE }))
    expect(simulator.account().requests).toBe(3)
    await extraction.run({ concurrency: 1, maxWaitMs: 2 * HOUR })
    expect(simulator.account().by_status).toEqual({ '200': 24 })
    expect(extraction.events()).toHaveLength(24)
  })
})
