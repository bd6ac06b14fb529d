import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { thisWriter } from '../../../src/publish/sweep/intent-writer.ts'
import { POINTER_KEY } from '../../../src/publish/manifest.ts'
import { intentKey, withIntent, type Intent } from '../../../src/publish/sweep/intent.ts'
import { LEASE_KEY } from '../../../src/publish/sweep/sweep-lease.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { HOUR, MINUTE } from '../../../src/support/units.ts'
import { virtualClock } from '../../helpers/virtual-clock.ts'
import { START, idOf, manifestOf, memoryStore, pointerBytes } from './sweep-world.ts'

const KEY = intentKey(idOf(1))
const WRITER = { host: 'night', pid: 7, boot_id: 'a', started: '1', pid_namespace: 'pid:[1]' }

function aPublisher() {
  const clock = virtualClock(START)
  const store = memoryStore(() => clock.now())
  const options = { store, snapshotId: idOf(1), clock, writer: WRITER, logger: silentLogger }
  const publish = <T>(work: (intent: Intent) => Promise<T>) => withIntent(options, work)
  return { clock, store, options, publish }
}

describe('an intent', () => {
  it('is there while the work goes on, says whose it is, and is gone after it', async () => {
    const { store, publish } = aPublisher()
    const seen = await publish(async () => {
      const stored = await store.get(KEY)
      return JSON.parse(Buffer.from(stored?.bytes ?? []).toString()) as unknown
    })
    expect(seen).toEqual({
      snapshot_id: idOf(1),
      ...WRITER,
      started_at: '2026-11-20T02:15:00.000Z',
    })
    expect([...store.objects.keys()]).toEqual([])
  })

  it('is gone when the work failed, or lost to another publisher, and the failure is what is thrown', async () => {
    const { store, publish } = aPublisher()
    const failing = publish(() => Promise.reject(new Error('full')))
    await expect(failing).rejects.toThrow('full')
    expect(store.objects.has(KEY)).toBe(false)
    const won = await publish((intent) => intent.commit(() => Promise.resolve(false)))
    expect(won).toBe(false)
    expect(store.objects.has(KEY)).toBe(false)
  })

  it('stays when nobody knows whether the pointer moved', async () => {
    const { store, publish } = aPublisher()
    const moving = publish((intent) => intent.commit(() => Promise.reject(new Error('no answer'))))
    await expect(moving).rejects.toThrow('no answer')
    expect(store.objects.has(KEY)).toBe(true)
  })

  it('that cannot be removed changes nothing about the result of the work', async () => {
    const { store, publish } = aPublisher()
    store.remove = () => Promise.reject(new Error('forbidden'))
    await expect(publish(async () => 42)).resolves.toBe(42)
    await expect(publish(() => Promise.reject(new Error('full')))).rejects.toThrow('full')
    expect(store.objects.has(KEY)).toBe(true)
  })

  it('lets the pointer move after 22 hours, and neither after 23 nor once a sweeper removed it', async () => {
    const { clock, store, publish } = aPublisher()
    const commitAfter = (work: () => Promise<void>) =>
      publish(async (intent) => {
        await work()
        return intent.commit(() => Promise.resolve(true))
      })
    await expect(commitAfter(() => clock.advance(22 * HOUR))).resolves.toBe(true)
    const refused = { exitCode: 7, message: expect.stringContaining('no longer counts') as unknown }
    await expect(commitAfter(() => clock.advance(23 * HOUR))).rejects.toMatchObject(refused)
    // A machine that slept: its monotonic clock stood still.
    const slept = async () => clock.jump(23 * HOUR)
    await expect(commitAfter(slept)).rejects.toMatchObject(refused)
    await expect(commitAfter(() => store.remove([KEY]))).rejects.toMatchObject(refused)
    await expect(commitAfter(() => clock.advance(1))).resolves.toBe(true)
  })

  it('is written before the publisher looks for a sweeper, and waits with it', async () => {
    const { clock, store, options } = aPublisher()
    const expiresAt = new Date(START + 5 * MINUTE).toISOString()
    const lease = { owner: idOf(9), expires_at: expiresAt, token: 'a' }
    await store.put(LEASE_KEY, Buffer.from(JSON.stringify(lease)))
    let waits = 0
    const onWait = () => {
      waits += 1
      expect(store.objects.has(KEY)).toBe(true)
    }
    const beganAt = await clock.run(withIntent({ ...options, onWait }, async () => clock.now()))
    expect(beganAt - START).toBe(5 * MINUTE)
    expect(waits).toBe(150)
  })

  it('is gone when waiting for a sweeper is ended by a signal', async () => {
    const { clock, store, options } = aPublisher()
    await store.put(LEASE_KEY, Buffer.from('what a later Jobtide may write there'))
    const stop = new AbortController()
    const publishing = withIntent({ ...options, signal: stop.signal }, async () => 'begun')
    const refused = expect(publishing).rejects.toThrow('stopped')
    await clock.advance(MINUTE)
    stop.abort(new Error('stopped'))
    await refused
    expect([...store.objects.keys()]).toEqual([LEASE_KEY])
  })
})

// Skipped where the system does not say which process is which.
describe.runIf(existsSync('/proc/self/ns/pid'))('an intent of another publisher', () => {
  const OTHER = intentKey(idOf(2))
  const gone = () => ({ ...thisWriter(), pid: spawnSync(process.execPath, ['-e', '']).pid })

  /** Publishes beside an intent; the pointer moves or not. @returns whether the intent is still there */
  async function isThereAfter(other: unknown, moves: boolean): Promise<boolean> {
    const { store, publish } = aPublisher()
    await store.put(OTHER, Buffer.from(JSON.stringify(other)))
    await publish((intent) => intent.commit(() => Promise.resolve(moves)))
    expect(store.objects.has(KEY)).toBe(false)
    return store.objects.has(OTHER)
  }

  it('that was killed on this machine goes once the pointer has moved, and not before', async () => {
    expect(await isThereAfter(gone(), true)).toBe(false)
    // Another process has its number now.
    expect(await isThereAfter({ ...thisWriter(), started: '1' }, true)).toBe(false)
    expect(await isThereAfter(gone(), false)).toBe(true)
  })

  it('that was killed after it had moved the pointer goes although nothing moves', async () => {
    const { store, publish } = aPublisher()
    const manifest = manifestOf({ id: idOf(2), createdAt: START, contents: [] })
    await store.put(POINTER_KEY, pointerBytes(manifest))
    await store.put(OTHER, Buffer.from(JSON.stringify(gone())))
    await publish(async () => 'unchanged')
    expect([...store.objects.keys()]).toEqual([POINTER_KEY])
  })

  it('that was killed after this one began stays: it may have seen the same pointer', async () => {
    const { store, publish } = aPublisher()
    await publish(async (intent) => {
      await store.put(OTHER, Buffer.from(JSON.stringify(gone())))
      return intent.commit(() => Promise.resolve(true))
    })
    expect([...store.objects.keys()]).toEqual([OTHER])
  })

  it.each<readonly [string, () => unknown]>([
    ['is still at work', () => thisWriter()],
    ['is on another machine', () => ({ ...gone(), host: 'night' })],
    [
      'is on another machine of the same name, or of before a restart',
      () => ({ ...gone(), boot_id: 'b' }),
    ],
    ['is in another container', () => ({ ...gone(), pid_namespace: 'pid:[1]' })],
    ['could not tell when it started', () => ({ ...gone(), started: 'unknown' })],
    ['is of an earlier Jobtide', () => ({ host: gone().host, pid: gone().pid })],
    ['wrote something else', () => 'in flight'],
  ])('stays where that %s', async (_, other) => {
    expect(await isThereAfter(other(), true)).toBe(true)
  })
})
