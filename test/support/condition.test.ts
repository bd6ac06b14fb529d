import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Condition } from '../../src/support/condition.ts'

const { signal } = new AbortController()

describe('a condition', () => {
  it('wakes all 3 who wait at notifyAll(), and none that comes later', async () => {
    const condition = new Condition()
    const woken: number[] = []
    const waiting = [1, 2, 3].map((who) => condition.wait(signal).then(() => woken.push(who)))
    condition.notifyAll()
    const late = condition.wait(signal).then(() => woken.push(4))
    await Promise.all(waiting)
    expect(woken).toEqual([1, 2, 3])
    condition.notifyAll()
    await late
    expect(woken).toEqual([1, 2, 3, 4])
  })

  it('throws the reason of an abort, also of one that was before', async () => {
    const condition = new Condition()
    const controller = new AbortController()
    const waiting = condition.wait(controller.signal)
    const reason = new Error('stop')
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(condition.wait(controller.signal)).rejects.toBe(reason)
  })

  it('leaves no listener on a signal that 10,000 waits shared', async () => {
    const condition = new Condition()
    const controller = new AbortController()
    for (let i = 0; i < 10_000; i += 1) {
      const waiting = condition.wait(controller.signal)
      condition.notifyAll()
      await waiting
    }
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })
})
