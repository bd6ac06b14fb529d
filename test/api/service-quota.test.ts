import { describe, expect, it } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import type { RateReport } from '../../src/api/retry-after.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { fixedWindowService, permitsNow, sendAll, strictService } from './pace-fixture.ts'

const told = (remaining: number | null, resetMs: number | null): RateReport => ({
  limit: 10,
  remaining,
  resetMs,
})

/** A pacer whose first answer had this report. */
async function taught(report: RateReport) {
  const clock = virtualClock()
  const pacer = new Pacer(clock, null, Infinity)
  const [permit] = await permitsNow(clock, pacer, 1)
  permit?.learn(report)
  permit?.release('answered')
  return { clock, pacer }
}

describe('the count of the service', () => {
  it('of 0 remaining stops all workers until the reset, when 1 request goes first; 0 seconds count as 1 second', async () => {
    for (const [resetMs, endsAt] of [
      [30 * SECOND, 30 * SECOND],
      [0, SECOND],
    ] as const) {
      const { clock, pacer } = await taught(told(0, resetMs))
      const through = await permitsNow(clock, pacer, 4)
      await clock.advance(endsAt - 1)
      expect(through).toHaveLength(0)
      await clock.advance(HOUR)
      expect(through).toHaveLength(1)
    }
  })

  it('of 0 remaining applies at once: while its answer is written to disk, another finished request releases no worker', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null, Infinity)
    const [first, second] = await permitsNow(clock, pacer, 2)
    second?.learn(told(0, MINUTE))
    first?.learn(told(5, MINUTE))
    first?.release('answered')
    expect(await permitsNow(clock, pacer, 2)).toHaveLength(0)
  })

  it('uses the later of 2 answers if its request was sent after the other had arrived', async () => {
    const { clock, pacer } = await taught(told(2, MINUTE))
    await clock.advance(1)
    const [later] = await permitsNow(clock, pacer, 1)
    later?.learn(told(6, MINUTE))
    later?.release('answered')
    expect(await permitsNow(clock, pacer, 9)).toHaveLength(6)
  })

  it('counts a request without an answer, and ends when an answer no longer reports it', async () => {
    const { clock, pacer } = await taught(told(3, MINUTE))
    const [lost] = await permitsNow(clock, pacer, 1)
    lost?.release('failed')
    const through = await permitsNow(clock, pacer, 9)
    expect(through).toHaveLength(2)
    for (const permit of through) permit.release('failed')
    await clock.advance(MINUTE)
    expect(through).toHaveLength(3)
    through[2]?.release('answered')
    await clock.advance(0)
    expect(through).toHaveLength(9)
  })

  it.each([told(null, MINUTE), told(0, null)])('is absent from %j', async (report) => {
    const { clock, pacer } = await taught(report)
    expect(await permitsNow(clock, pacer, 9)).toHaveLength(9)
  })
})

const jitter = () => {
  const random = seededRandom(3)
  return { there: () => 5 + 10 * random(), back: () => 40 + 100 * random() }
}

describe('limits that 10 workers learn within 1,000 requests', () => {
  const services = [
    ['sliding windows of 50 per 1 s', strictService, 50, SECOND, 0.55],
    ['fixed windows of 50 per 1 s', fixedWindowService, 50, SECOND, 0.75],
    ['sliding windows of 60 per 1 s', strictService, 60, SECOND, 0.55],
    ['sliding windows of 20 per 10 s', strictService, 20, 10 * SECOND, 0.9],
    ['fixed windows of 20 per 10 s', fixedWindowService, 20, 10 * SECOND, 0.95],
    ['sliding windows of 100 per 60 s', strictService, 100, MINUTE, 0.95],
    ['fixed windows of 100 per 60 s', fixedWindowService, 100, MINUTE, 0.95],
    // The same number in a longer window: the count does not show that until a request is refused.
    ['sliding windows of 50 per 2 s', strictService, 50, 2 * SECOND, 0.55],
    ['fixed windows of 50 per 2 s', fixedWindowService, 50, 2 * SECOND, 0.75],
  ] as const

  it.each(services)('%s', async (_, start, requests, windowMs, leastUse) => {
    for (const own of [null, 10, 50]) {
      const clock = virtualClock()
      const counted = start(clock, requests, windowMs)
      const pacer = new Pacer(clock, own, Infinity)
      const service = {
        arrive() {
          const isTaken = counted.arrive()
          if (!isTaken) pacer.pause(SECOND)
          return isTaken
        },
        report: () => counted.report(),
      }
      const startedAt = clock.monotonic()
      await sendAll(clock, { pacer, workers: 10, requests: 1_000, latency: jitter(), service })
      const isHidden = own === requests && windowMs > SECOND
      expect([own, counted.refused() <= (isHidden ? 5 : 0)]).toEqual([own, true])
      const perSecond = (counted.accepted() / (clock.monotonic() - startedAt)) * SECOND
      const allowed = Math.min(own ?? Infinity, (requests / windowMs) * SECOND)
      expect(perSecond / allowed).toBeGreaterThan(leastUse)
    }
  })
})
