/** What a strict service sees of the pace: in virtual time, over many requests. */

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
