import { describe, expect, it } from 'vitest'
import { createPacer, type Turn } from '../../src/api/pacer.ts'
import type { TurnOutcome } from '../../src/api/pace-rules.ts'
import { createMemoryPaceStore } from '../../src/api/pace-store.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'

const { signal } = new AbortController()

/** Ends one turn after another with these outcomes, as soon as each is given. */
async function sendOneByOne(
  clock: VirtualClock,
  pacer: { turn(signal: AbortSignal): Promise<Turn> },
  outcomes: readonly TurnOutcome[],
): Promise<number[]> {
  const sentAt: number[] = []
  const began = clock.monotonic()
  const send = async () => {
    for (const outcome of outcomes) {
      const turn = await pacer.turn(signal)
      sentAt.push(clock.monotonic() - began)
      turn.end(outcome)
    }
  }
  await clock.run(send())
  return sentAt
}

const times = (count: number, outcome: TurnOutcome) => Array<TurnOutcome>(count).fill(outcome)

describe('the circuit breaker', () => {
  it('opens after 5 failures in a row; then 1 request goes every 30 s until 1 is answered', async () => {
    const clock = virtualClock()
    const sentAt = await sendOneByOne(clock, createPacer(clock, null), [
      ...times(7, 'failed'),
      ...times(3, 'answered'),
    ])
    expect(sentAt).toEqual([0, 0, 0, 0, 0, 30_000, 60_000, 90_000, 90_000, 90_000])
  })

  it('stays closed when the 5. answer is a page, and opens when it only is a request that we broke off', async () => {
    const clock = virtualClock()
    const four = times(4, 'failed')
    const pacer = createPacer(clock, null)
    expect(await sendOneByOne(clock, pacer, [...four, 'answered', ...four, 'answered'])).toEqual(
      Array(10).fill(0),
    )
    const sentAt = await sendOneByOne(clock, pacer, [...four, 'undecided', 'failed', 'answered'])
    expect(sentAt.at(-1)).toBe(30 * SECOND)
  })

  it('counts the failures of all workers and of 2 processes together', async () => {
    const clock = virtualClock()
    const store = createMemoryPaceStore()
    const pacers = [1, 2].map(() =>
      createPacer(clock, null, undefined, { store, priority: 'nightly' }),
    )
    const failing = [...pacers, ...pacers, ...pacers.slice(1)]
    const turns = await Promise.all(failing.map((pacer) => pacer.turn(signal)))
    for (const turn of turns) turn.end('failed')
    const through: Turn[] = []
    for (const pacer of pacers) void pacer.turn(signal).then((turn) => through.push(turn))
    await clock.advance(30 * SECOND - 1)
    expect(through).toHaveLength(0)
    await clock.advance(MINUTE)
    expect(through.map(({ isProbe }) => isProbe)).toEqual([true])
  })

  it('is not kept open longer by what was in flight when it opened', async () => {
    const clock = virtualClock()
    const pacer = createPacer(clock, null)
    const began = clock.monotonic()
    const turns = await Promise.all(Array.from({ length: 10 }, () => pacer.turn(signal)))
    for (const turn of turns) {
      turn.end('failed')
      await clock.advance(SECOND)
    }
    await clock.run(pacer.turn(signal))
    // The 5. failed 4 s after the beginning.
    expect(clock.monotonic() - began).toBe(34 * SECOND)
  })

  it('closes at the first page, also one that was asked for before it opened', async () => {
    const clock = virtualClock()
    const pacer = createPacer(clock, null)
    const late = await pacer.turn(signal)
    await sendOneByOne(clock, pacer, times(5, 'failed'))
    late.end('answered')
    const [next] = await Promise.all([pacer.turn(signal), clock.advance(0)])
    expect(next.isProbe).toBe(true)
  })

  it('ends every turn when it stays open longer than anybody may wait, here 15 min', async () => {
    const clock = virtualClock()
    const pacer = createPacer(clock, null, 15 * MINUTE)
    const began = clock.monotonic()
    await expect(sendOneByOne(clock, pacer, times(1_000, 'failed'))).rejects.toMatchObject({
      name: 'WaitTooLongError',
      waitMs: 30 * SECOND,
      isBroken: true,
    })
    const openMs = clock.monotonic() - began
    expect(openMs).toBeGreaterThan(14 * MINUTE)
    expect(openMs).toBeLessThanOrEqual(15 * MINUTE)
  })

  it('ends them also when whoever asks waits for longer than 30 s between two probes', async () => {
    const clock = virtualClock()
    const pacer = createPacer(clock, null, 15 * MINUTE)
    const began = clock.monotonic()
    const askSlowly = async () => {
      for (;;) {
        const turn = await pacer.turn(signal)
        turn.end('failed')
        await clock.sleep(MINUTE)
      }
    }
    await expect(clock.run(askSlowly())).rejects.toThrow('the next request may leave')
    expect(clock.monotonic() - began).toBeLessThanOrEqual(22 * MINUTE)
  })

  it('that was left open 20 h ago by a process that has ended lets the next one try at once', async () => {
    const clock = virtualClock()
    const store = createMemoryPaceStore()
    const sharing = { store, priority: 'nightly' } as const
    await sendOneByOne(clock, createPacer(clock, null, MINUTE, sharing), times(5, 'failed'))
    await clock.advance(20 * HOUR)
    const next = await createPacer(clock, null, MINUTE, sharing).turn(signal)
    expect(next.isProbe).toBe(true)
  })
})

describe('a storm of 10 minutes, 10 workers and 1,000 pages', () => {
  const storms = [
    ['500', 0],
    ['503 with Retry-After: 60', MINUTE],
    ['503 with Retry-After: 1', SECOND],
  ] as const

  it.each(storms)(
    'of %s: at most 1.10 × the requests + 20, over within one probe',
    async (_, pauseMs) => {
      const clock = virtualClock()
      const pacer = createPacer(clock, 5)
      const from = clock.monotonic() + 30 * SECOND
      const until = from + 10 * MINUTE
      let requests = 0
      let pages = 0
      let probesAfter = 0
      const work = async () => {
        while (pages < 1_000) {
          const turn = await pacer.turn(signal)
          requests += 1
          await clock.sleep(200)
          const isStorm = clock.monotonic() >= from && clock.monotonic() < until
          if (!isStorm) pages += 1
          if (!isStorm && turn.isProbe) probesAfter += 1
          if (isStorm && pauseMs > 0) pacer.pause(pauseMs)
          turn.end(isStorm ? 'failed' : 'answered')
          if (isStorm && pauseMs === 0) await clock.sleep(SECOND)
        }
      }
      await clock.run(Promise.all(Array.from({ length: 10 }, work)))
      expect(probesAfter).toBe(1)
      expect(requests).toBeLessThanOrEqual(1.1 * pages + 20)
    },
  )
})
