import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { realClock, shiftedClock, waitEnd } from '../../src/support/clock.ts'
import { DAY, HOUR } from '../../src/support/units.ts'

describe('realClock.sleep', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** A sleep, and whether it has ended. */
  function sleeping(ms: number, signal?: AbortSignal) {
    const sleep = { ended: false }
    void realClock.sleep(ms, signal).then(() => (sleep.ended = true))
    return sleep
  }

  it.each([1_000, 2 ** 31, 40 * DAY, 2 ** 32 + 5])(
    'of %d ms asks no timer for more than 2^31 - 1 ms, which would fire at once',
    async (ms) => {
      const timers = vi.spyOn(globalThis, 'setTimeout')
      const sleep = sleeping(ms)
      await vi.advanceTimersByTimeAsync(ms - 1)
      expect(sleep.ended).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      expect(sleep.ended).toBe(true)
      const delays = timers.mock.calls.map(([, delay]) => delay ?? 0)
      expect(Math.max(...delays)).toBeLessThan(2 ** 31)
      expect(delays.reduce((sum, delay) => sum + delay, 0)).toBe(ms)
    },
  )

  it('throws the reason when aborted, and leaves no timer and no listener', async () => {
    const controller = new AbortController()
    const sleep = realClock.sleep(40 * DAY, controller.signal)
    const reason = new Error('stop')
    controller.abort(reason)
    await expect(sleep).rejects.toBe(reason)
    expect(vi.getTimerCount()).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  it.each([0, 1_000])('of %d ms throws at once when the signal is aborted already', async (ms) => {
    const reason = new Error('stopped before')
    await expect(realClock.sleep(ms, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leaves no listener after 1,000 sleeps on one signal', async () => {
    const { signal } = new AbortController()
    for (let i = 0; i < 1_000; i += 1) {
      const sleep = realClock.sleep(5, signal)
      await vi.advanceTimersByTimeAsync(5)
      await sleep
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('shiftedClock', () => {
  it('moves its wall clock only, and only its own', () => {
    const base = { now: () => 1_000, monotonic: () => 7, sleep: () => Promise.resolve() }
    const shifted = shiftedClock(base)
    shifted.advance(24 * HOUR)
    shifted.advance(1)
    expect(shifted.now()).toBe(1_000 + 24 * HOUR + 1)
    expect(shifted.monotonic()).toBe(7)
    expect(base.now()).toBe(1_000)
  })
})

it('the end of a wait is named in whole seconds, never early', () => {
  const at = Date.UTC(2026, 10, 20, 2, 15)
  const named = [at, at + 1, at + 999, at + 1_000].map(waitEnd)
  expect(named).toEqual(['00', '01', '01', '01'].map((second) => `2026-11-20T02:15:${second}Z`))
})
