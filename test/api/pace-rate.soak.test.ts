/** What a strict service sees of the pace: in virtual time, over many requests. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPacer } from '../../src/api/pacer.ts'
import { createMemoryPaceStore } from '../../src/api/pace-store.ts'
import { HOUR, SECOND } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { seededRandom, sendAll, strictService, type Latency } from './pace-fixture.ts'

/** 5 to 20 ms there, 120 more on a new connection; 25 to 145 ms of thinking; 5 to 15 ms back. */
function jitter(seed: number): Latency {
  const random = seededRandom(seed)
  return {
    there: (isFirst) => (isFirst ? 120 : 0) + 5 + 15 * random(),
    back: () => 30 + 120 * random() + 10 * random(),
  }
}

/** Sends `requests` at 50 a second to a service that takes 50 in any second, and tells so or not. */
async function atFifty(options: { processes: number; requests: number; isTold: boolean }) {
  const { processes, requests, isTold } = options
  const clock = virtualClock()
  const sharing = { store: createMemoryPaceStore(), priority: 'nightly' } as const
  const pacers = Array.from({ length: processes }, () => createPacer(clock, 50, undefined, sharing))
  const service = strictService(clock, 50)
  const random = seededRandom(5)
  const beganAt = clock.monotonic()
  await sendAll(clock, {
    pacers,
    workersEach: 10 / processes,
    requests,
    latency: jitter(1),
    service: isTold ? service : { arrive: () => service.arrive() },
    onAnswer: (sent) => sent % 100 === 0 && clock.jump((random() - 0.5) * 2 * HOUR),
  })
  const use = service.accepted() / ((50 * (clock.monotonic() - beganAt)) / SECOND)
  process.stdout.write(
    `pace: ${processes} processes, ${requests} requests: ${(100 * use).toFixed(2)} % of the rate used, ${service.refused()} refused\n`,
  )
  return { use, refused: service.refused() }
}

describe('50 requests/s to a service that takes 50 in any second', () => {
  it('by 10 workers, the wall clock jumping by up to ± 1 h: of 100,000 are 0 refused, at 97 % of the rate', async () => {
    const { use, refused } = await atFifty({ processes: 1, requests: 100_000, isTold: true })
    expect(refused).toBe(0)
    expect(use).toBeGreaterThanOrEqual(0.97)
    expect(use).toBeLessThanOrEqual(1)
  })

  it('by 2 processes of 5 workers: of 20,000 are 0 refused, at 97 % of the rate', async () => {
    const { use, refused } = await atFifty({ processes: 2, requests: 20_000, isTold: false })
    expect(refused).toBe(0)
    expect(use).toBeGreaterThanOrEqual(0.97)
  })

  it('by 20 workers whose first requests take 400 ms longer to arrive: 0 refused', async () => {
    const clock = virtualClock()
    const service = strictService(clock, 50)
    const random = seededRandom(9)
    await sendAll(clock, {
      pacers: [createPacer(clock, 50)],
      workersEach: 20,
      requests: 500,
      latency: { there: (isFirst) => (isFirst ? 400 : 0) + 5 * random(), back: () => 20 },
      service: { arrive: () => service.arrive() },
    })
    expect(service.refused()).toBe(0)
  })

  it('that takes twice as long as ever to arrive, again and again: a refusal widens the margin', async () => {
    const clock = virtualClock()
    const service = strictService(clock, 50)
    const random = seededRandom(7)
    await sendAll(clock, {
      pacers: [createPacer(clock, 50)],
      workersEach: 10,
      requests: 10_000,
      latency: { there: () => 5 + 60 * random(), back: () => 20 },
      service: { arrive: () => service.arrive() },
    })
    // With a fixed margin of 2 % it is more than 500.
    expect(service.refused()).toBeLessThan(100)
  })
})

describe('any window of the limit', () => {
  it('holds no more requests than the limit, as they arrive, for any schedule of any number of processes (property)', async () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 2_500 }), { minLength: 1, maxLength: 9 })
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(0.1, 0.5, 2.5, 7.3)),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 6 }),
        // On the way there; whatever lies above the shortest is part of the round trip.
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 9 }),
        lengths,
        fc.array(fc.nat(3_000), { maxLength: 4 }),
        async (perSecond, processes, workersEach, there, back, pauses) => {
          const clock = virtualClock()
          const sharing = { store: createMemoryPaceStore(), priority: 'nightly' } as const
          const pacers = Array.from({ length: processes }, () =>
            createPacer(clock, perSecond, undefined, sharing),
          )
          const requests = Math.ceil(perSecond)
          const windowMs = (requests / perSecond) * SECOND
          const service = strictService(clock, requests, windowMs)
          let sent = 0
          const nth = (list: readonly number[]) => list[sent % list.length] ?? 0
          await sendAll(clock, {
            pacers,
            workersEach,
            requests: 60,
            latency: { there: () => nth(there), back: () => nth(back) },
            service: { arrive: () => service.arrive() },
            onAnswer: (number) => {
              sent = number
              const pauseMs = pauses[number % 15]
              if (pauseMs !== undefined) pacers[0]?.pause(pauseMs)
            },
          })
          expect(service.refused()).toBe(0)
        },
      ),
      { numRuns: 100 },
    )
  })
})
