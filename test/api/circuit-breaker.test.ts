import { describe, expect, it } from 'vitest'
import { Pacer } from '../../src/api/pacer.ts'
import type { RequestOutcome } from '../../src/api/pacer.ts'
import { SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'
import { permitsNow } from './pace-fixture.ts'

const { signal } = new AbortController()

/** The times at which consecutive requests with these outcomes are sent. */
async function sendInOrder(
  clock: VirtualClock,
  pacer: Pacer,
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

describe('the circuit breaker', () => {
  it('opens after 5 consecutive failures, then sends 1 request every 30 s until 1 is answered', async () => {
    const clock = virtualClock()
    const outcomes = [...times(7, 'failed'), ...times(3, 'answered')]
    const sentAt = await sendInOrder(clock, new Pacer(clock, null, Infinity), outcomes)
    expect(sentAt).toEqual([0, 0, 0, 0, 0, 30_000, 60_000, 90_000, 90_000, 90_000])
  })

  it('does not count aborted requests, and starts again at 0 after a page', async () => {
    const clock = virtualClock()
    const four = times(4, 'failed')
    const isSpared: RequestOutcome[] = [...four, 'answered', ...four, 'answered', ...four]
    const outcomes: RequestOutcome[] = [...isSpared, 'undecided', 'failed', 'answered']
    const sentAt = await sendInOrder(clock, new Pacer(clock, null, Infinity), outcomes)
    expect(sentAt).toEqual([...Array<number>(16).fill(0), 30 * SECOND])
  })

  it('is not kept open longer by requests that were in flight when it opened', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null, Infinity)
    const began = clock.monotonic()
    for (const permit of await permitsNow(clock, pacer, 10)) {
      permit.release('failed')
      await clock.advance(SECOND)
    }
    await clock.run(pacer.permit(signal))
    // The fifth failed 4 s after the beginning.
    expect(clock.monotonic() - began).toBe(34 * SECOND)
  })

  it('closes at the first page, even one requested before it opened', async () => {
    const clock = virtualClock()
    const pacer = new Pacer(clock, null, Infinity)
    const late = await pacer.permit(signal)
    await sendInOrder(clock, pacer, times(5, 'failed'))
    late.release('answered')
    const [next] = await Promise.all([pacer.permit(signal), clock.advance(0)])
    expect(next.isHalfOpen).toBe(true)
  })

  it.each(['deferred', 'throttled'] as const)(
    'counts an order to wait (%s) as a failure only if the trial after it gets another: then 5 of them open it',
    async (outcome) => {
      const clock = virtualClock()
      const pacer = new Pacer(clock, null, Infinity)
      for (const permit of await permitsNow(clock, pacer, 10)) permit.release(outcome)
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
