import { describe, expect, it } from 'vitest'
import { Pacer, type Permit } from '../../src/api/pacer.ts'
import type { RequestOutcome } from '../../src/api/circuit-breaker.ts'
import { MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'

const { signal } = new AbortController()

/** Ends one permit after another with these outcomes, as soon as each is given. */
async function sendInOrder(
  clock: VirtualClock,
  pacer: { permit(signal: AbortSignal): Promise<Permit> },
  outcomes: readonly RequestOutcome[],
): Promise<number[]> {
  const sentAt: number[] = []
  const began = clock.monotonic()
  const send = async () => {
    for (const outcome of outcomes) {
      const permit = await pacer.permit(signal)
      sentAt.push(clock.monotonic() - began)
      permit.release(outcome)
    }
  }
  await clock.run(send())
  return sentAt
}

const times = (count: number, outcome: RequestOutcome) => Array<RequestOutcome>(count).fill(outcome)

describe('the share of requests that failed lately', () => {
  /** How many are let through at once after these outcomes. */
  async function letThrough(outcomes: readonly RequestOutcome[]): Promise<number> {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    await sendInOrder(clock, pacer, outcomes)
    let through = 0
    for (let i = 0; i < 32; i += 1) {
      void pacer.permit(signal).then(() => {
        through += 1
      })
    }
    await clock.advance(SECOND)
    return through
  }
  const oneIn = (n: number): RequestOutcome[] =>
    Array.from({ length: 200 }, (_, i) => (i % n === 0 ? 'failed' : 'answered'))

  it.each([
    { what: '0 %', outcomes: times(200, 'answered'), least: 32, most: 32 },
    { what: '12.5 %', outcomes: oneIn(8), least: 6, most: 12 },
    { what: '50 %', outcomes: oneIn(2), least: 1, most: 3 },
    {
      what: '0 % after 50 %',
      outcomes: [...oneIn(2), ...times(60, 'answered')],
      least: 30,
      most: 32,
    },
    {
      what: '0 %, but all are told to wait',
      outcomes: times(200, 'deferred'),
      least: 32,
      most: 32,
    },
  ])(
    '$what: $least to $most of 32 requests are in flight at a time',
    async ({ outcomes, least, most }) => {
      const through = await letThrough(outcomes)
      expect(through).toBeGreaterThanOrEqual(least)
      expect(through).toBeLessThanOrEqual(most)
    },
  )
})

describe('the circuit breaker', () => {
  it('opens after 5 failures in a row; then 1 request goes every 30 s until 1 is answered', async () => {
    const clock = virtualClock()
    const sentAt = await sendInOrder(clock, new Pacer(clock, null), [
      ...times(7, 'failed'),
      ...times(3, 'answered'),
    ])
    expect(sentAt).toEqual([0, 0, 0, 0, 0, 30_000, 60_000, 90_000, 90_000, 90_000])
  })

  it('stays closed when the 5. answer is a page, and opens when it only is a request that we broke off', async () => {
    const clock = virtualClock()
    const four = times(4, 'failed')
    const pacer = new Pacer(clock, null)
    expect(await sendInOrder(clock, pacer, [...four, 'answered', ...four, 'answered'])).toEqual(
      Array(10).fill(0),
    )
    const sentAt = await sendInOrder(clock, pacer, [...four, 'undecided', 'failed', 'answered'])
    expect(sentAt.at(-1)).toBe(30 * SECOND)
  })

  it('is not kept open longer by what was in flight when it opened', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    const began = clock.monotonic()
    const permits = await Promise.all(Array.from({ length: 10 }, () => pacer.permit(signal)))
    for (const permit of permits) {
      permit.release('failed')
      await clock.advance(SECOND)
    }
    await clock.run(pacer.permit(signal))
    // The 5. failed 4 s after the beginning.
    expect(clock.monotonic() - began).toBe(34 * SECOND)
  })

  it('closes at the first page, also one that was asked for before it opened', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null)
    const late = await pacer.permit(signal)
    await sendInOrder(clock, pacer, times(5, 'failed'))
    late.release('answered')
    const [next] = await Promise.all([pacer.permit(signal), clock.advance(0)])
    expect(next.isHalfOpen).toBe(true)
  })

  it('ends nothing by itself: a trial each 30 s for 5 h', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null, 15 * MINUTE)
    const sentAt = await sendInOrder(clock, pacer, times(605, 'failed'))
    expect(sentAt.at(-1)).toBe(600 * 30 * SECOND)
  })

  it.each(['deferred', 'refused'] as const)(
    'takes an order to wait (%s) for a failure only when the trial after it gets another: then 5 of them open it',
    async (outcome) => {
      const clock = virtualClock()
      const pacer = new Pacer(clock, null)
      const permits = await Promise.all(Array.from({ length: 10 }, () => pacer.permit(signal)))
      for (const permit of permits) permit.release(outcome)
      const sentAt: number[] = []
      const beganAt = clock.monotonic()
      const trial = async () => {
        for (let i = 0; i < 8; i += 1) {
          pacer.pause(SECOND)
          const permit = await pacer.permit(signal)
          sentAt.push(clock.monotonic() - beganAt)
          permit.release(outcome)
        }
      }
      await clock.run(trial())
      expect(sentAt.map((ms) => ms / SECOND)).toEqual([1, 2, 3, 4, 5, 35, 65, 95])
    },
  )
})
