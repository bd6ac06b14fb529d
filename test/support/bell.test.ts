import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createBell } from '../../src/support/bell.ts'

const { signal } = new AbortController()

describe('a bell', () => {
  it('wakes all 3 who wait when it rings, and nobody who comes later', async () => {
    const bell = createBell()
    const woken: number[] = []
    const waiting = [1, 2, 3].map((who) => bell.wait(signal).then(() => woken.push(who)))
    bell.ring()
    const late = bell.wait(signal).then(() => woken.push(4))
    await Promise.all(waiting)
    expect(woken).toEqual([1, 2, 3])
    bell.ring()
    await late
    expect(woken).toEqual([1, 2, 3, 4])
  })

  it('throws the reason of an abort, also of one that was before', async () => {
    const bell = createBell()
    const controller = new AbortController()
    const waiting = bell.wait(controller.signal)
    const reason = new Error('stop')
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(bell.wait(controller.signal)).rejects.toBe(reason)
  })

  it('leaves no listener on a signal that 10,000 waits shared', async () => {
    const bell = createBell()
    const controller = new AbortController()
    for (let i = 0; i < 10_000; i += 1) {
      const waiting = bell.wait(controller.signal)
      bell.ring()
      await waiting
    }
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })
})
