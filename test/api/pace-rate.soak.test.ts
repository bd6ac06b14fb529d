/** What a strict service sees of the pace: in virtual time, over many requests. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import { HOUR, SECOND } from '../../src/support/units.ts'
import { seededRandom } from '../../src/simulator/random.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { sendAll, strictService, type Latency } from './pace-fixture.ts'

/** 5 to 20 ms there, 120 more on a new connection; 25 to 145 ms of thinking; 5 to 15 ms back. */
function jitter(seed: number): Latency {
  const random = seededRandom(seed)
  return {
    there: (isFirst) => (isFirst ? 120 : 0) + 5 + 15 * random(),
    back: () => 30 + 120 * random() + 10 * random(),
  }
}

describe('50 requests/s to a service that takes 50 in any second', () => {
  it('by 10 workers, the wall clock jumping by up to ± 1 h: of 100,000 are 0 refused, at 90 % of the rate', async () => {
    const clock = virtualClock()
    const service = strictService(clock, 50)
    const random = seededRandom(5)
    const beganAt = clock.monotonic()
    await sendAll(clock, {
      pacer: new Pacer(clock, 50),
      workers: 10,
      requests: 100_000,
      latency: jitter(1),
      service,
      onAnswer: (sent) => sent % 100 === 0 && clock.jump((random() - 0.5) * 2 * HOUR),
    })
    const use = service.accepted() / ((50 * (clock.monotonic() - beganAt)) / SECOND)
    process.stdout.write(`pace: ${(100 * use).toFixed(2)} % of the rate used\n`)
    expect(service.refused()).toBe(0)
    expect(use).toBeGreaterThanOrEqual(0.9)
    expect(use).toBeLessThanOrEqual(1)
  })

  it('by 20 workers whose first requests take 400 ms longer to arrive: 0 refused', async () => {
    const clock = virtualClock()
    const service = strictService(clock, 50)
    const random = seededRandom(9)
    await sendAll(clock, {
      pacer: new Pacer(clock, 50),
      workers: 20,
      requests: 500,
      latency: { there: (isFirst) => (isFirst ? 400 : 0) + 5 * random(), back: () => 20 },
      service: { arrive: () => service.arrive() },
    })
    expect(service.refused()).toBe(0)
  })
})

describe('any window of the limit', () => {
  it('holds no more requests than the limit, as they arrive, for any schedule (property)', async () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 2_500 }), { minLength: 1, maxLength: 9 })
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(0.1, 0.5, 2.5, 7.3)),
        fc.integer({ min: 1, max: 18 }),
        // On the way there; whatever lies above the shortest is part of the round trip.
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 9 }),
        lengths,
        fc.array(fc.nat(3_000), { maxLength: 4 }),
        async (perSecond, workers, there, back, pauses) => {
          const clock = virtualClock()
          const pacer = new Pacer(clock, perSecond)
          const requests = Math.ceil(perSecond)
          const service = strictService(clock, requests, (requests / perSecond) * SECOND)
          let sent = 0
          const nth = (list: readonly number[]) => list[sent % list.length] ?? 0
          await sendAll(clock, {
            pacer,
            workers,
            requests: 60,
            latency: { there: () => nth(there), back: () => nth(back) },
            service: { arrive: () => service.arrive() },
            onAnswer: (number) => {
              sent = number
              const pauseMs = pauses[number % 15]
              if (pauseMs !== undefined) pacer.pause(pauseMs)
            },
          })
          expect(service.refused()).toBe(0)
        },
      ),
      { numRuns: 100 },
    )
  })
})
