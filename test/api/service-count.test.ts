import { describe, expect, it } from 'vitest'
import { Pacer, type Permit } from '../../src/api/pacer.ts'
import type { RateReport } from '../../src/api/retry-after.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { fixedWindowService, seededRandom, sendAll, strictService } from './pace-fixture.ts'

const { signal } = new AbortController()

/** A pacer whose first answer told `report`. */
async function taught(report: RateReport) {
  const clock = virtualClock()
  const pacer = new Pacer(clock, null)
  const turn = await pacer.permit(signal)
  turn.learn(report)
  turn.release('answered')
  return { clock, pacer }
}

/** As many turns as are given now to workers that ask for `tries`; later ones are added to the list. */
async function turnsNow(clock: VirtualClock, pacer: Pacer, tries: number): Promise<Permit[]> {
  const given: Permit[] = []
  for (let i = 0; i < tries; i += 1) void pacer.permit(signal).then((turn) => given.push(turn))
  await clock.advance(0)
  return given
}

describe('the count of the service', () => {
  it('stops everybody at 0 remaining, and 1 finds out at the reset', async () => {
    const { clock, pacer } = await taught({ limit: null, remaining: 0, resetMs: 30 * SECOND })
    const turns = await turnsNow(clock, pacer, 4)
    await clock.advance(30 * SECOND - 1)
    expect(turns).toHaveLength(0)
    await clock.advance(HOUR)
    expect(turns).toHaveLength(1)
  })

  it('lets 3 remaining go, then 1 at the reset, then 9 when that was told that 9 remain', async () => {
    const { clock, pacer } = await taught({ limit: 10, remaining: 3, resetMs: 30 * SECOND })
    const turns = await turnsNow(clock, pacer, 30)
    expect(turns).toHaveLength(3)
    for (const turn of turns) {
      turn.learn({ limit: 10, remaining: 0, resetMs: 30 * SECOND })
      turn.release('answered')
    }
    await clock.advance(30 * SECOND)
    expect(turns).toHaveLength(4)
    turns[3]?.learn({ limit: 10, remaining: 9, resetMs: 30 * SECOND })
    turns[3]?.release('answered')
    await clock.advance(0)
    expect(turns).toHaveLength(13)
  })

  it('assumes that requests in flight are not counted yet', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    const [first] = await Promise.all([1, 2, 3, 4].map(() => pacer.permit(signal)))
    first?.learn({ limit: 10, remaining: 5, resetMs: MINUTE })
    first?.release('answered')
    expect(await turnsNow(clock, pacer, 9)).toHaveLength(2)
  })

  it('takes the lower of two answers that overtook each other', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    const two = await turnsNow(clock, pacer, 2)
    for (const [i, turn] of two.entries()) {
      turn.learn({ limit: 10, remaining: i === 0 ? 2 : 6, resetMs: MINUTE })
      turn.release('answered')
    }
    expect(await turnsNow(clock, pacer, 9)).toHaveLength(2)
  })

  it('takes the later of two answers, when one was asked for after the other had come', async () => {
    const { clock, pacer } = await taught({ limit: 10, remaining: 2, resetMs: MINUTE })
    await clock.advance(1)
    const [later] = await turnsNow(clock, pacer, 1)
    later?.learn({ limit: 10, remaining: 6, resetMs: MINUTE })
    later?.release('answered')
    expect(await turnsNow(clock, pacer, 9)).toHaveLength(6)
  })

  it('takes a request without an answer as counted', async () => {
    const { clock, pacer } = await taught({ limit: 10, remaining: 3, resetMs: MINUTE })
    const [lost] = await turnsNow(clock, pacer, 1)
    lost?.release('failed')
    expect(await turnsNow(clock, pacer, 9)).toHaveLength(2)
  })

  it('sends 1 after another at the reset while they fail, and all when an answer no longer tells', async () => {
    const { clock, pacer } = await taught({ limit: 10, remaining: 0, resetMs: SECOND })
    const turns = await turnsNow(clock, pacer, 9)
    await clock.advance(SECOND)
    turns[0]?.release('failed')
    await clock.advance(SECOND)
    expect(turns).toHaveLength(2)
    turns[1]?.release('answered')
    await clock.advance(0)
    expect(turns).toHaveLength(9)
  })

  it('of 0 remaining for 0 seconds more is a second', async () => {
    const { clock, pacer } = await taught({ limit: 10, remaining: 0, resetMs: 0 })
    const turns = await turnsNow(clock, pacer, 2)
    await clock.advance(SECOND - 1)
    expect(turns).toHaveLength(0)
    await clock.advance(1)
    expect(turns).toHaveLength(1)
  })

  it.each([
    { limit: 10, remaining: null, resetMs: MINUTE },
    { limit: 10, remaining: 0, resetMs: null },
    { limit: null, remaining: null, resetMs: null },
  ])('is nothing in %j', async (report) => {
    const { clock, pacer } = await taught(report)
    expect(await turnsNow(clock, pacer, 9)).toHaveLength(9)
  })
})

describe('a pace that the service teaches, 10 workers and 1,000 requests', () => {
  const services = [
    ['sliding windows of 50 per 1 s', strictService, 50, SECOND, 0.55],
    ['fixed windows of 50 per 1 s', fixedWindowService, 50, SECOND, 0.75],
    ['sliding windows of 20 per 10 s', strictService, 20, 10 * SECOND, 0.9],
    ['fixed windows of 20 per 10 s', fixedWindowService, 20, 10 * SECOND, 0.95],
    ['sliding windows of 100 per 60 s', strictService, 100, MINUTE, 0.95],
    ['fixed windows of 100 per 60 s', fixedWindowService, 100, MINUTE, 0.95],
  ] as const

  it.each([null, 10, 50])('of %s requests/s of its own: 0 refused', async (own) => {
    for (const [what, start, requests, windowMs, leastUse] of services) {
      const clock = virtualClock()
      const service = start(clock, requests, windowMs)
      const random = seededRandom(3)
      const latency = { there: () => 5 + 10 * random(), back: () => 40 + 100 * random() }
      const beganAt = clock.monotonic()
      await sendAll(clock, {
        pacer: new Pacer(clock, own),
        workers: 10,
        requests: 1_000,
        latency,
        service,
      })
      expect([what, service.refused()]).toEqual([what, 0])
      const perSecond = (service.accepted() / (clock.monotonic() - beganAt)) * SECOND
      const allowed = Math.min(own ?? Infinity, (requests / windowMs) * SECOND)
      expect(perSecond / allowed).toBeGreaterThan(leastUse)
    }
  })
})

describe('a limit of 50 requests/s that is not the service’s own, 10 workers and 2,000 requests', () => {
  const services = [
    ['sliding windows of 30 per 1 s', strictService, 30, SECOND, 0],
    ['fixed windows of 30 per 1 s', fixedWindowService, 30, SECOND, 0],
    ['sliding windows of 60 per 1 s', strictService, 60, SECOND, 0],
    ['sliding windows of 100 per 3 s', strictService, 100, 3 * SECOND, 0],
    ['fixed windows of 100 per 3 s', fixedWindowService, 100, 3 * SECOND, 0],
    // As many requests in a window that is longer: a count does not show it until a request is refused.
    ['sliding windows of 50 per 2 s', strictService, 50, 2 * SECOND, 5],
    ['fixed windows of 50 per 2 s', fixedWindowService, 50, 2 * SECOND, 5],
  ] as const

  it.each(services)('%s', async (_, start, requests, windowMs, mostRefused) => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 50)
    const service = start(clock, requests, windowMs)
    const random = seededRandom(3)
    await sendAll(clock, {
      pacer,
      workers: 10,
      requests: 2_000,
      latency: { there: () => 5 + 10 * random(), back: () => 40 + 100 * random() },
      service: {
        arrive() {
          const isTaken = service.arrive()
          if (!isTaken) pacer.pause(SECOND)
          return isTaken
        },
        report: () => service.report(),
      },
    })
    expect(service.refused()).toBeLessThanOrEqual(mostRefused)
  })
})
