import fc from 'fast-check'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock } from '../helpers/virtual-clock.ts'
import { permitsNow, sendAll, strictService, type Latency } from './pace-fixture.ts'

const { signal } = new AbortController()

/** Answers after this many milliseconds. */
const after = (back: () => number): Latency => ({ there: () => 0, back })

describe('requests per second', () => {
  it('never arrive more often than the limit allows in any window, for any schedule (property)', async () => {
    const list = (max: number) => fc.array(fc.nat(max), { minLength: 1, maxLength: 9 })
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(0.1, 0.5, 2.5, 7.3)),
        fc.integer({ min: 1, max: 18 }),
        // The time to the service; anything above the shortest counts as part of the round trip.
        list(8),
        list(2_500),
        fc.array(fc.nat(3_000), { maxLength: 4 }),
        fc.integer({ min: -HOUR, max: HOUR }),
        async (perSecond, workers, there, back, pauses, jumpMs) => {
          const clock = virtualClock()
          const pacer = new Pacer(clock, perSecond, Infinity)
          const limit = Math.ceil(perSecond)
          const service = strictService(clock, limit, (limit / perSecond) * SECOND)
          let sent = 0
          const nth = (times: readonly number[]) => times[sent % times.length] ?? 0
          await sendAll(clock, {
            pacer,
            workers,
            requests: 60,
            latency: { there: () => nth(there), back: () => nth(back) },
            service: { arrive: () => service.arrive() },
            onAnswer: (number) => {
              sent = number
              clock.jump(jumpMs)
              const pauseMs = pauses[number % 15]
              if (pauseMs !== undefined) pacer.pause(pauseMs)
            },
          })
          expect([service.accepted(), service.refused()]).toEqual([60, 0])
        },
      ),
      { numRuns: 40 },
    )
  })

  it.each([
    { perSecond: 5, requests: 501, leastMs: 100 * SECOND, mostMs: 105 * SECOND },
    { perSecond: 0.5, requests: 101, leastMs: 200 * SECOND, mostMs: 220 * SECOND },
    { perSecond: null, requests: 50, leastMs: 0, mostMs: 3.5 * SECOND },
  ])(
    'of $perSecond take $requests requests of 10 workers $leastMs to $mostMs ms',
    async ({ perSecond, requests, leastMs, mostMs }) => {
      const clock = virtualClock()
      const pacer = new Pacer(clock, perSecond, Infinity)
      const latency = after(() => 700)
      const sentAt = await sendAll(clock, { pacer, workers: 10, requests, latency })
      const tookMs = (sentAt.at(-1) ?? 0) - (sentAt[0] ?? 0)
      expect(tookMs).toBeGreaterThanOrEqual(leastMs)
      expect(tookMs).toBeLessThanOrEqual(mostMs)
    },
  )
})

describe('a pause', () => {
  it('gives no permit before the latest end, for any pauses at any times (property)', async () => {
    const pauses = fc.array(
      fc.record({ atMs: fc.nat(20_000), ms: fc.integer({ min: 1, max: 15_000 }) }),
      { minLength: 1, maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(pauses, fc.integer({ min: 1, max: 8 }), async (drawn, workers) => {
        const clock = virtualClock()
        const start = clock.monotonic()
        const pacer = new Pacer(clock, 10, Infinity)
        const ordered = drawn.map(async ({ atMs, ms }) => {
          await clock.sleep(atMs)
          pacer.pause(ms)
        })
        const latency = after(() => 50)
        const sentAt = await sendAll(clock, { pacer, workers, requests: 150, latency })
        await clock.run(Promise.all(ordered))
        for (const { atMs, ms } of drawn) {
          const early = sentAt.filter((at) => at - start > atMs && at - start < atMs + ms - 1e-6)
          expect(early).toEqual([])
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('the trial after a pause', () => {
  /** Five workers behind a pause of 1 s that has just ended. */
  async function paused() {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null, Infinity)
    pacer.pause(SECOND)
    const through = await permitsNow(clock, pacer, 5)
    await clock.advance(SECOND)
    return { clock, pacer, through }
  }

  it.each([
    ['answered', [true, false, false, false, false]],
    ['failed', [true, true]],
    ['throttled', [true, true]],
    ['undecided', [true, true]],
  ] as const)(
    'is one request, however long it takes; it ends as %s: half-open requests are %j',
    async (outcome, expected) => {
      const { clock, through } = await paused()
      await clock.advance(HOUR)
      expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true])
      through[0]?.release(outcome)
      // Releasing a permit twice releases it once.
      through[0]?.release('answered')
      await clock.advance(HOUR)
      expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual(expected)
    },
  )

  it('waits for requests sent before the pause, whose outcome says nothing about the service now', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null, Infinity)
    const before = await permitsNow(clock, pacer, 2)
    pacer.pause(SECOND)
    const through = await permitsNow(clock, pacer, 3)
    before[0]?.release('undecided')
    await clock.advance(10 * SECOND)
    expect(through).toHaveLength(0)
    before[1]?.release('answered')
    await clock.advance(10 * SECOND)
    expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true])
  })
})

describe('workers that wait', () => {
  const holds: readonly (readonly [string, (pacer: Pacer) => Promise<void>])[] = [
    ['by its rate', async (pacer) => (await pacer.permit(signal)).release('answered')],
    ['by a pause', async (pacer) => pacer.pause(HOUR)],
    [
      'by the counters',
      async (pacer) => {
        const permit = await pacer.permit(signal)
        permit.learn({ limit: 1, remaining: 0, resetMs: HOUR })
        permit.release('answered')
      },
    ],
    [
      'by a trial',
      async (pacer) => {
        pacer.pause(0)
        await pacer.permit(signal)
      },
    ],
  ]

  it.each(holds)('%s are freed at once by an abort, with its reason', async (how, hold) => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, how === 'by its rate' ? 0.001 : null, Infinity)
    await hold(pacer)
    const controller = new AbortController()
    const waiting = [1, 2, 3, 4, 5].map(() => pacer.permit(controller.signal))
    await clock.advance(10)
    const reason = new Error('stop')
    controller.abort(reason)
    const outcomes = await Promise.allSettled(waiting)
    expect(outcomes).toEqual(Array(5).fill({ status: 'rejected', reason }))
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    expect(clock.sleepers()).toBe(0)
    await expect(pacer.permit(controller.signal)).rejects.toBe(reason)
  })

  it('keep their turn when another waiter gives up', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1, Infinity)
    ;(await pacer.permit(signal)).release('answered')
    const controller = new AbortController()
    const first = pacer.permit(controller.signal)
    const second = pacer.permit(signal).then(() => clock.monotonic())
    const start = clock.monotonic()
    controller.abort(new Error('stop'))
    await expect(first).rejects.toThrow('stop')
    // 1 % more than a second: the travel time of a request is not known yet.
    expect((await clock.run(second)) - start).toBe(1.01 * SECOND)
  })

  it('fail when the wait is longer than max_wait, including those that already wait', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1, 15 * MINUTE)
    const startedAt = clock.monotonic()
    const permit = await pacer.permit(signal)
    const waiting = pacer.permit(signal)
    permit.learn({ limit: 1, remaining: 0, resetMs: 24 * HOUR })
    permit.release('answered')
    const ends = await clock.run(Promise.allSettled([waiting, pacer.permit(signal)]))
    const reason = { name: 'WaitTooLongError', waitMs: 24 * HOUR }
    expect(ends).toMatchObject(Array(2).fill({ status: 'rejected', reason }))
    expect(clock.monotonic() - startedAt).toBeLessThan(2 * SECOND)
  })
})
