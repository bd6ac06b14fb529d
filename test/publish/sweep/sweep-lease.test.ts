import { describe, expect, it } from 'vitest'
import {
  LEASE_KEY,
  waitForSweeper,
  withSweepLease,
} from '../../../src/publish/sweep/sweep-lease.ts'
import type { StoredObject } from '../../../src/publish/store/object-store.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/support/units.ts'
import { virtualClock } from '../../helpers/virtual-clock.ts'
import { START, memoryStore, type MemoryStore } from './sweep-world.ts'

function aSweeper() {
  const clock = virtualClock(START)
  const store = memoryStore(() => clock.now())
  const options = (owner: string) => ({ store, owner, clock, logger: silentLogger })
  return { clock, store, options }
}

function leaseIn(store: MemoryStore): { owner: string; expires_at: string | null } {
  const stored = store.objects.get(LEASE_KEY)?.bytes ?? new Uint8Array()
  return JSON.parse(Buffer.from(stored).toString()) as { owner: string; expires_at: string | null }
}

const objectsNamed = (names: readonly string[]): StoredObject[] =>
  names.map((key) => ({ key, bytes: 1, modifiedAt: START }))

describe('the sweep lease', () => {
  it('is there for 5 minutes, keeps a second sweeper away, and is given back', async () => {
    const { store, options } = aSweeper()
    const outcome = await withSweepLease(options('first'), async () => {
      expect(leaseIn(store)).toMatchObject({
        owner: 'first',
        expires_at: '2026-11-20T02:20:00.000Z',
      })
      return withSweepLease(options('second'), async () => 'swept')
    })
    expect(outcome).toEqual({
      result: { refused: expect.stringMatching(/^first sweeps, or was killed/) as unknown },
    })
    expect(leaseIn(store)).toMatchObject({ owner: 'first', expires_at: null })
    await expect(withSweepLease(options('second'), async () => 'swept')).resolves.toEqual({
      result: 'swept',
    })
  })

  it('is given back after work that failed, but not after a removal that failed', async () => {
    const { store, options } = aSweeper()
    const failing = withSweepLease(options('first'), () => Promise.reject(new Error('failed')))
    await expect(failing).rejects.toThrow('failed')
    expect(leaseIn(store).expires_at).toBeNull()
    store.remove = () => Promise.reject(new Error('no answer'))
    const removing = withSweepLease(options('second'), (lease) => lease.remove(objectsNamed(['a'])))
    await expect(removing).rejects.toThrow('no answer')
    expect(leaseIn(store)).toMatchObject({ owner: 'second', expires_at: expect.any(String) })
  })

  it('of a killed sweeper is taken over 65 minutes after it was written, not before', async () => {
    const { clock, store, options } = aSweeper()
    store.remove = () => Promise.reject(new Error('killed'))
    await withSweepLease(options('killed'), (lease) => lease.remove(objectsNamed(['a']))).catch(
      () => undefined,
    )
    await clock.advance(65 * MINUTE)
    const early = await withSweepLease(options('next'), async () => 'swept')
    expect(early).toHaveProperty('refused')
    await clock.advance(1)
    const late = await withSweepLease(options('next'), async () => 'swept')
    expect(late).toEqual({ result: 'swept' })
  })

  it('goes to one of two that take it at the same moment', async () => {
    const { store, options } = aSweeper()
    const outcomes = await Promise.all([
      withSweepLease(options('one'), async () => 'swept'),
      withSweepLease(options('two'), async () => 'swept'),
    ])
    expect(outcomes.filter((outcome) => 'result' in outcome)).toHaveLength(1)
    expect(outcomes).toContainEqual({
      refused: 'another publisher began to sweep at the same moment',
    })
    expect(leaseIn(store).expires_at).toBeNull()
  })

  it('is renewed from half its life on, before 2,500 objects go in 3 requests', async () => {
    const { clock, store, options } = aSweeper()
    const requests: { keys: number; expires: string | null }[] = []
    store.remove = async (keys) => {
      requests.push({ keys: keys.length, expires: leaseIn(store).expires_at })
      await clock.advance(2 * MINUTE)
    }
    const names = Array.from({ length: 2_500 }, (_, index) => `object_${index}`)
    let gone = 0
    await withSweepLease(options('first'), (lease) =>
      lease.remove(objectsNamed(names), (some) => {
        gone += some.length
      }),
    )
    expect(gone).toBe(2_500)
    expect(requests).toEqual([
      { keys: 1_000, expires: '2026-11-20T02:20:00.000Z' },
      { keys: 1_000, expires: '2026-11-20T02:20:00.000Z' },
      { keys: 500, expires: '2026-11-20T02:24:00.000Z' },
    ])
  })

  it('ends the work when it was left alone for 5 minutes, although nobody took it', async () => {
    const { clock, store, options } = aSweeper()
    let removed = 0
    store.remove = async () => {
      removed += 1
    }
    const sweep = (owner: string, work: () => Promise<void>) =>
      withSweepLease(options(owner), async (lease) => {
        await work()
        await lease.remove(objectsNamed(['a']))
      })
    const lost = 'the lease was lost while sweeping; the rest is swept after the next publish'
    await expect(sweep('slow', () => clock.advance(5 * MINUTE))).rejects.toThrow(lost)
    await expect(sweep('asleep', async () => clock.jump(8 * HOUR))).rejects.toThrow(lost)
    await expect(sweep('set back', async () => clock.jump(-8 * HOUR))).rejects.toThrow(lost)
    expect(removed).toBe(0)
    await sweep('quick', () => clock.advance(5 * MINUTE - 1))
    expect(removed).toBe(1)
  })

  it('ends the work when somebody else has it, whose it then stays', async () => {
    const { clock, store, options } = aSweeper()
    const sweeping = withSweepLease(options('first'), async (lease) => {
      const version = store.objects.get(LEASE_KEY)?.version ?? null
      await store.replace(LEASE_KEY, Buffer.from('{"owner":"thief"}'), version)
      await clock.advance(3 * MINUTE)
      await lease.hold()
    })
    await expect(sweeping).rejects.toThrow('the lease was lost')
    expect(leaseIn(store)).toEqual({ owner: 'thief' })
  })

  it('is held for less than an hour', async () => {
    const { clock, options } = aSweeper()
    let minutes = 0
    const sweeping = withSweepLease(options('long'), async (lease) => {
      for (; minutes < 100; minutes += 1) {
        await lease.hold()
        await clock.advance(MINUTE)
      }
    })
    await expect(sweeping).rejects.toThrow('an hour of sweeping is over')
    expect(minutes).toBe(55)
  })
})

describe('a publisher', () => {
  it('does not wait where no lease is, where it was given back, or is old', async () => {
    const { clock, store } = aSweeper()
    await waitForSweeper(store, clock)
    const lease = { owner: 'x', token: 'y' }
    const old = new Date(START - HOUR - 1).toISOString()
    for (const expires_at of [null, old]) {
      const version = store.objects.get(LEASE_KEY)?.version ?? null
      await store.replace(LEASE_KEY, Buffer.from(JSON.stringify({ ...lease, expires_at })), version)
      await waitForSweeper(store, clock)
    }
    expect(clock.now()).toBe(START)
  })

  it('waits as long as the lease is renewed, and goes on within 2 seconds after it is given back', async () => {
    const { clock, store, options } = aSweeper()
    const sweeping = withSweepLease(options('busy'), async (lease) => {
      for (let minute = 0; minute < 30; minute += 1) {
        await clock.sleep(MINUTE)
        await lease.hold()
      }
    })
    await clock.advance(0)
    const waiting = waitForSweeper(store, clock).then(() => clock.now())
    await clock.run(sweeping)
    const beganAt = await clock.run(waiting)
    expect(beganAt - START).toBeGreaterThanOrEqual(30 * MINUTE)
    expect(beganAt - START).toBeLessThanOrEqual(30 * MINUTE + 2 * SECOND)
  })

  it.each([
    ['of a machine whose clock is 50 minutes behind', -50 * MINUTE],
    ['of a machine whose clock is 50 minutes ahead', 50 * MINUTE],
  ])('waits 5 minutes for the lease of a killed sweeper %s', async (_, skewMs) => {
    const { clock, store } = aSweeper()
    const expires_at = new Date(START + skewMs + 5 * MINUTE).toISOString()
    await store.put(LEASE_KEY, Buffer.from(JSON.stringify({ owner: 'x', token: 'y', expires_at })))
    await clock.run(waitForSweeper(store, clock))
    expect(clock.now() - START).toBe(5 * MINUTE)
  })
})
