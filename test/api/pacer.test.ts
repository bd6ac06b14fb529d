import fc from 'fast-check'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Pacer, type Permit } from '../../src/api/pacer.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'

const { signal } = new AbortController()

/** Workers that each take turns of `lengthMs`, one after another; gives the times at which turns began. */
async function work(
  clock: VirtualClock,
  pacer: Pacer,
  options: { workers: number; turns: number; lengthMs: (turn: number) => number },
): Promise<number[]> {
  const began: number[] = []
  let left = options.turns
  const worker = async () => {
    while (left > 0) {
      left -= 1
      const turn = await pacer.permit(signal)
      began.push(clock.monotonic())
      await clock.sleep(options.lengthMs(began.length))
      turn.release('answered')
    }
  }
  await clock.run(Promise.all(Array.from({ length: options.workers }, worker)))
  return began
}

/** The most turns in any span of `spanMs` that holds its first instant and not its last. */
function mostWithin(times: readonly number[], spanMs: number): number {
  return Math.max(
    0,
    ...times.map((from) => times.filter((at) => at >= from && at < from + spanMs - 1e-6).length),
  )
}

describe('requests per second', () => {
  it('are never more than asked for in any second, for any number of workers and any lengths (property)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 9 }),
        fc.integer({ min: -HOUR, max: HOUR }),
        async (perSecond, workers, lengths, jumpMs) => {
          const clock = virtualClock()
          const pacer = new Pacer(clock, perSecond)
          const lengthMs = (turn: number) => {
            clock.jump(jumpMs)
            return lengths[turn % lengths.length] ?? 0
          }
          const began = await work(clock, pacer, { workers, turns: 40, lengthMs })
          expect(began).toHaveLength(40)
          expect(mostWithin(began, SECOND)).toBeLessThanOrEqual(perSecond)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('of 5 are used up by 10 workers to at least 95 %: 501 turns take 100 s to 105 s', async () => {
    const clock = virtualClock()
    const began = await work(clock, new Pacer(clock, 5), {
      workers: 10,
      turns: 501,
      lengthMs: () => 700,
    })
    const tookMs = (began.at(-1) ?? 0) - (began[0] ?? 0)
    expect(tookMs).toBeGreaterThanOrEqual(100 * SECOND)
    expect(tookMs).toBeLessThanOrEqual(105 * SECOND)
  })

  it('may be fewer than 1: 0.5 is a turn every 2 s, and 20 ms more to be sure', async () => {
    const clock = virtualClock()
    const began = await work(clock, new Pacer(clock, 0.5), {
      workers: 3,
      turns: 4,
      lengthMs: () => 1,
    })
    const gaps = began.slice(1).map((at, i) => at - (began[i] ?? 0))
    expect(gaps).toHaveLength(3)
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(2_000)
      expect(gap).toBeLessThanOrEqual(2_041)
    }
  })

  it('without a limit leave all at once', async () => {
    const clock = virtualClock()
    const began = await work(clock, new Pacer(clock, null), {
      workers: 50,
      turns: 50,
      lengthMs: () => 1,
    })
    expect(new Set(began).size).toBe(1)
  })

  it('begin at the same times when the wall clock jumps by 1 h forward and back', async () => {
    const times = async (jumps: readonly number[]) => {
      const clock = virtualClock()
      const pacer = new Pacer(clock, 3)
      pacer.pause(5 * SECOND)
      const first = await clock.run(pacer.permit(signal))
      first.learn({ limit: 20, remaining: 4, resetMs: 9 * SECOND })
      first.release('answered')
      return work(clock, pacer, {
        workers: 4,
        turns: 20,
        lengthMs: (turn) => {
          clock.jump(jumps[turn % jumps.length] ?? 0)
          return 200
        },
      })
    }
    expect(await times([HOUR, -2 * HOUR, HOUR])).toEqual(await times([0]))
  })
})

describe('a pause', () => {
  it('lets nobody through before the latest end, for any pauses at any times (property)', async () => {
    const pauses = fc.array(
      fc.record({ atMs: fc.nat(20_000), ms: fc.integer({ min: 1, max: 15_000 }) }),
      { minLength: 1, maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(pauses, fc.integer({ min: 1, max: 8 }), async (drawn, workers) => {
        const clock = virtualClock()
        const start = clock.monotonic()
        const pacer = new Pacer(clock, 10)
        const ordered = drawn.map(async ({ atMs, ms }) => {
          await clock.sleep(atMs)
          pacer.pause(ms)
        })
        const began = await work(clock, pacer, { workers, turns: 150, lengthMs: () => 50 })
        await clock.run(Promise.all(ordered))
        for (const { atMs, ms } of drawn) {
          const early = began.filter((at) => at - start > atMs && at - start < atMs + ms - 1e-6)
          expect(early).toEqual([])
        }
      }),
      { numRuns: 60 },
    )
  })

  it('of 60 s is not shortened by a later one of 5 s', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    const start = clock.monotonic()
    pacer.pause(MINUTE)
    pacer.pause(5 * SECOND)
    await clock.run(pacer.permit(signal))
    expect(clock.monotonic() - start).toBe(MINUTE)
  })

  it('holds for those who wait already', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1)
    const first = await pacer.permit(signal)
    first.release('answered')
    const start = clock.monotonic()
    const turn = pacer.permit(signal).then(() => clock.monotonic() - start)
    await clock.advance(500)
    pacer.pause(10 * SECOND)
    expect(await clock.run(turn)).toBe(10_500)
  })
})

describe('the probe after a pause', () => {
  /** Five workers behind a pause of 1 s that has just ended. */
  async function paused() {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    const through: Permit[] = []
    pacer.pause(SECOND)
    for (let worker = 0; worker < 5; worker += 1) {
      void pacer.permit(signal).then((turn) => through.push(turn))
    }
    await clock.advance(SECOND)
    return { clock, pacer, through }
  }

  it('is one request, however long it takes', async () => {
    const { clock, through } = await paused()
    await clock.advance(HOUR)
    expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true])
  })

  it('that was answered lets the other 4 through', async () => {
    const { clock, through } = await paused()
    through[0]?.release('answered')
    await clock.advance(0)
    expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true, false, false, false, false])
  })

  it.each(['failed', 'refused', 'undecided'] as const)(
    'that ended as %s is followed by one other',
    async (outcome) => {
      const { clock, through } = await paused()
      through[0]?.release(outcome)
      await clock.advance(HOUR)
      expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true, true])
    },
  )

  it('that is ended twice is ended once', async () => {
    const { clock, through } = await paused()
    through[0]?.release('undecided')
    await clock.advance(0)
    through[0]?.release('answered')
    await clock.advance(HOUR)
    expect(through).toHaveLength(2)
  })

  it('that brought a new pause is followed by one other at its end', async () => {
    const { clock, pacer, through } = await paused()
    pacer.pause(MINUTE)
    through[0]?.release('undecided')
    await clock.advance(MINUTE - 1)
    expect(through).toHaveLength(1)
    await clock.advance(1)
    expect(through).toHaveLength(2)
  })

  it.each(['answered', 'undecided'] as const)(
    'waits for the requests sent before the pause, whose end (%s) says nothing of the service now',
    async (outcome) => {
      const clock = virtualClock()
      const pacer = new Pacer(clock, null)
      const before = [await pacer.permit(signal), await pacer.permit(signal)]
      pacer.pause(SECOND)
      const through: Permit[] = []
      for (let worker = 0; worker < 3; worker += 1) {
        void pacer.permit(signal).then((turn) => through.push(turn))
      }
      before[0]?.release('undecided')
      await clock.advance(10 * SECOND)
      expect(through).toHaveLength(0)
      before[1]?.release(outcome)
      await clock.advance(10 * SECOND)
      expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true])
    },
  )
})

describe('an abort', () => {
  const holds: readonly (readonly [string, (pacer: Pacer) => Promise<void>])[] = [
    ['by its rate', async (pacer) => (await pacer.permit(signal)).release('answered')],
    ['by a pause', async (pacer) => pacer.pause(HOUR)],
    [
      'by the counters',
      async (pacer) => {
        const turn = await pacer.permit(signal)
        turn.learn({ limit: 1, remaining: 0, resetMs: HOUR })
        turn.release('answered')
      },
    ],
    [
      'by a probe',
      async (pacer) => {
        pacer.pause(0)
        await pacer.permit(signal)
      },
    ],
  ]

  it.each(holds)('frees 5 who are held %s at once, with its reason', async (how, hold) => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, how === 'by its rate' ? 0.001 : null)
    await hold(pacer)
    const controller = new AbortController()
    const turns = [1, 2, 3, 4, 5].map(() => pacer.permit(controller.signal))
    await clock.advance(10)
    const reason = new Error('stop')
    controller.abort(reason)
    const outcomes = await Promise.allSettled(turns)
    expect(outcomes).toEqual(Array(5).fill({ status: 'rejected', reason }))
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    expect(clock.sleepers()).toBe(0)
  })

  it('of one leaves the others waiting, and takes no turn away from them', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1)
    ;(await pacer.permit(signal)).release('answered')
    const controller = new AbortController()
    const first = pacer.permit(controller.signal)
    const second = pacer.permit(signal).then(() => clock.monotonic())
    const start = clock.monotonic()
    controller.abort(new Error('stop'))
    await expect(first).rejects.toThrow('stop')
    // 1 % more than a second, because nobody knows yet when the first request arrived.
    expect((await clock.run(second)) - start).toBe(1.01 * SECOND)
  })

  it('before the turn is asked for is said at once', async () => {
    const pacer = new Pacer(virtualClock(), null)
    await expect(pacer.permit(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
  })
})

describe('listeners', () => {
  it('of 50 workers that wait at the same time bring no warning of a leak', async () => {
    const warnings: string[] = []
    const onWarning = ({ name }: Error) => warnings.push(name)
    process.on('warning', onWarning)
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1)
    const controller = new AbortController()
    const turns = Array.from({ length: 50 }, () => pacer.permit(controller.signal))
    await clock.run(Promise.all(turns))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it('do not pile up on one signal over 2,000 turns with pauses and probes', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1_000)
    const controller = new AbortController()
    let most = 0
    let left = 2_000
    const worker = async () => {
      while (left > 0) {
        left -= 1
        const turn = await pacer.permit(controller.signal)
        most = Math.max(most, getEventListeners(controller.signal, 'abort').length)
        if (left % 50 === 0) pacer.pause(5)
        turn.release(left % 7 === 0 ? 'undecided' : 'answered')
      }
    }
    await clock.run(Promise.all([worker(), worker(), worker(), worker()]))
    expect(most).toBeLessThanOrEqual(4)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })
})

describe('the line', () => {
  it('gives 20 turns in the order in which they were asked for', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 10)
    const order: number[] = []
    const turns = Array.from({ length: 20 }, async (_, place) => {
      const turn = await pacer.permit(signal)
      order.push(place)
      turn.release('answered')
    })
    await clock.run(Promise.all(turns))
    expect(order).toEqual(Array.from({ length: 20 }, (_, place) => place))
  })
})

describe('a wait that is longer than anybody may wait', () => {
  it('ends every turn that waits, also one that began to wait before, and says how long it would be', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, 1, 15 * MINUTE)
    const beganAt = clock.monotonic()
    const turn = await pacer.permit(signal)
    const waiting = pacer.permit(signal)
    turn.learn({ limit: 1, remaining: 0, resetMs: 24 * HOUR })
    turn.release('answered')
    const ends = Promise.allSettled([waiting, pacer.permit(signal)])
    const [first, second] = await clock.run(ends)
    const reason = { name: 'WaitTooLongError', waitMs: 24 * HOUR }
    expect([first, second]).toMatchObject(Array(2).fill({ status: 'rejected', reason }))
    expect(clock.monotonic() - beganAt).toBeLessThan(2 * SECOND)
  })
})
