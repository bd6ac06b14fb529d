import { describe, expect, it } from 'vitest'
import { createPacer, type Permit } from '../../src/api/pacer.ts'
import type { Priority } from '../../src/api/pace-rules.ts'
import { createMemoryPaceStore, type PaceStore } from '../../src/api/pace-store.ts'
import { HOUR, MINUTE, SECOND } from '../../src/support/units.ts'
import { virtualClock, type VirtualClock } from '../helpers/virtual-clock.ts'

const { signal } = new AbortController()

/** A nightly and a backfill pacer over one store, at `perSecond`. */
function nightlyAndBackfill(perSecond: number | null) {
  const clock = virtualClock()
  const store = createMemoryPaceStore()
  const open = (priority: Priority) => createPacer(clock, perSecond, undefined, { store, priority })
  return { clock, store, nightly: open('nightly'), backfill: open('backfill'), open }
}

/** Workers that take turns of `lengthMs` for `forMs`, and how many they took. */
async function turnsIn(
  clock: VirtualClock,
  forMs: number,
  crews: readonly { pacer: ReturnType<typeof createPacer>; workers: number; lengthMs: number }[],
): Promise<number[]> {
  const stop = new AbortController()
  const taken = crews.map(() => 0)
  const work = async (crew: number) => {
    const { pacer, lengthMs } = crews[crew] ?? { pacer: null, lengthMs: 0 }
    while (pacer !== null) {
      const turn = await pacer.permit(stop.signal)
      taken[crew] = (taken[crew] ?? 0) + 1
      await clock.sleep(lengthMs)
      turn.release('answered')
    }
  }
  const working = crews.flatMap(({ workers }, crew) =>
    Array.from({ length: workers }, () => work(crew)),
  )
  await clock.advance(forMs)
  stop.abort()
  await clock.run(Promise.allSettled(working))
  return taken
}

describe('two processes that share 10 requests/s for 20 s', () => {
  it('take about as many each, when both are nightly', async () => {
    const { clock, nightly, open } = nightlyAndBackfill(10)
    const [first = 0, second = 0] = await turnsIn(clock, 20 * SECOND, [
      { pacer: nightly, workers: 4, lengthMs: 300 },
      { pacer: open('nightly'), workers: 4, lengthMs: 300 },
    ])
    expect(first + second).toBeGreaterThanOrEqual(190)
    expect(first + second).toBeLessThanOrEqual(201)
    expect(Math.min(first, second)).toBeGreaterThan(60)
  })

  it('give the backfill nothing while the nightly waits for turns, but 1 or 2 in the beginning', async () => {
    const { clock, nightly, backfill } = nightlyAndBackfill(10)
    const [nightlyTurns, backfillTurns] = await turnsIn(clock, 20 * SECOND, [
      { pacer: nightly, workers: 8, lengthMs: 100 },
      { pacer: backfill, workers: 8, lengthMs: 100 },
    ])
    expect(nightlyTurns).toBeGreaterThanOrEqual(194)
    expect(backfillTurns).toBeLessThanOrEqual(2)
  })

  it('give the backfill what the nightly does not want: of 10 it wants 5', async () => {
    const { clock, nightly, backfill } = nightlyAndBackfill(10)
    const [nightlyTurns, backfillTurns] = await turnsIn(clock, 20 * SECOND, [
      { pacer: nightly, workers: 1, lengthMs: 200 },
      { pacer: backfill, workers: 8, lengthMs: 100 },
    ])
    expect(nightlyTurns).toBeGreaterThan(60)
    expect(backfillTurns).toBeGreaterThan(60)
    expect((nightlyTurns ?? 0) + (backfillTurns ?? 0)).toBeGreaterThanOrEqual(190)
  })
})

describe('the backfill', () => {
  it('goes on 3 s after a nightly process of another machine was last heard of', async () => {
    const { clock, store, backfill } = nightlyAndBackfill(10)
    const now = clock.monotonic()
    const owner = { ...store.owner, host: 'elsewhere' }
    store.update((pace) => ({
      pace: { ...pace, nightlyWaits: [{ pacer: 'other', owner, until: now + 3 * SECOND }] },
    }))
    await clock.run(backfill.permit(signal))
    expect(clock.monotonic() - now).toBeLessThanOrEqual(3_100)
    expect(clock.monotonic() - now).toBeGreaterThan(2_900)
  })

  it('goes on at once when a nightly process of this machine that waited has died', async () => {
    const { clock, store, backfill } = nightlyAndBackfill(10)
    const now = clock.monotonic()
    const owner = { ...store.owner, started: 'before' }
    store.update((pace) => ({
      pace: { ...pace, nightlyWaits: [{ pacer: 'dead', owner, until: now + HOUR }] },
    }))
    await clock.run(backfill.permit(signal))
    expect(clock.monotonic()).toBe(now)
  })

  it('goes on at once when a nightly worker that waited has stopped waiting', async () => {
    const { clock, nightly, backfill } = nightlyAndBackfill(1)
    await nightly.permit(signal)
    const stop = new AbortController()
    const waiting = nightly.permit(stop.signal)
    const began = clock.monotonic()
    const turn = backfill.permit(signal).then(() => clock.monotonic() - began)
    await clock.advance(500)
    stop.abort(new Error('stop'))
    await expect(waiting).rejects.toThrow('stop')
    expect(await clock.run(turn)).toBeLessThanOrEqual(1_050)
  })

  it('lets the nightly send the probe after a pause of 10 min', async () => {
    const { clock, nightly, backfill } = nightlyAndBackfill(null)
    backfill.pause(10 * MINUTE)
    const through: string[] = []
    void backfill.permit(signal).then(() => through.push('backfill'))
    void nightly.permit(signal).then(() => through.push('nightly'))
    await clock.advance(11 * MINUTE)
    expect(through).toEqual(['nightly'])
  })
})

describe('a pause', () => {
  it('that one process was told holds for the other, which waits already', async () => {
    const { clock, nightly, open } = nightlyAndBackfill(1)
    const other = open('nightly')
    const first = await nightly.permit(signal)
    const began = clock.monotonic()
    const waiting = other.permit(signal).then(() => clock.monotonic() - began)
    await clock.advance(500)
    nightly.pause(MINUTE)
    first.release('refused')
    expect(await clock.run(waiting)).toBe(MINUTE + 500)
  })

  it('ends with one probe of all processes, and the others see within 0.1 s that it was answered', async () => {
    const { clock, nightly, open } = nightlyAndBackfill(null)
    const through: Permit[] = []
    nightly.pause(SECOND)
    for (const pacer of [nightly, open('nightly'), open('nightly')]) {
      for (let i = 0; i < 3; i += 1) void pacer.permit(signal).then((turn) => through.push(turn))
    }
    await clock.advance(10 * SECOND)
    expect(through).toHaveLength(1)
    through[0]?.release('answered')
    await clock.advance(100)
    expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([
      true,
      ...Array<boolean>(8).fill(false),
    ])
  })
})

describe('a pause that another process is told while a probe is in flight', () => {
  it('ends with a probe of its own, also when the first one was answered', async () => {
    const { clock, nightly, open } = nightlyAndBackfill(null)
    nightly.pause(SECOND)
    const probe = await clock.run(nightly.permit(signal))
    open('nightly').pause(MINUTE)
    probe.release('answered')
    const through: Permit[] = []
    for (let i = 0; i < 3; i += 1) void nightly.permit(signal).then((turn) => through.push(turn))
    await clock.advance(MINUTE + SECOND)
    expect(through.map(({ isHalfOpen }) => isHalfOpen)).toEqual([true])
  })
})

describe('a request in flight', () => {
  it('of a process of another machine is given up for lost after 2 min', async () => {
    const { clock, store, nightly } = nightlyAndBackfill(null)
    const began = clock.monotonic()
    nightly.pause(0)
    const owner = { ...store.owner, host: 'elsewhere' }
    const probe = { id: 'x', pacer: 'other', owner, sentAt: began, isHalfOpen: true }
    store.update((pace) => ({ pace: { ...pace, open: [probe] } }))
    const turn = await clock.run(nightly.permit(signal))
    expect(turn.isHalfOpen).toBe(true)
    expect(clock.monotonic() - began).toBeGreaterThanOrEqual(2 * MINUTE)
    expect(clock.monotonic() - began).toBeLessThan(2 * MINUTE + SECOND)
  })

  it('counts from when its turn was given, also when the store kept it waiting for 300 ms before', async () => {
    const virtual = virtualClock()
    let waitedMs = 0
    const clock = { ...virtual, monotonic: () => virtual.monotonic() + waitedMs }
    const store = createMemoryPaceStore()
    const slow: PaceStore = {
      owner: store.owner,
      update(change) {
        waitedMs += 300
        return store.update(change)
      },
    }
    await createPacer(clock, 1, undefined, { store: slow, priority: 'nightly' }).permit(signal)
    const { open } = store.update((pace) => ({ pace })).pace
    expect(open.map(({ sentAt }) => sentAt)).toEqual([clock.monotonic()])
  })
})

describe('limits that differ', () => {
  it('are each kept against all requests: who has set 2/s waits while another sends 8/s', async () => {
    const clock = virtualClock()
    const store = createMemoryPaceStore()
    const fast = createPacer(clock, 8, undefined, { store, priority: 'nightly' })
    const slow = createPacer(clock, 2, undefined, { store, priority: 'nightly' })
    const [fastTurns, slowTurns] = await turnsIn(clock, 10 * SECOND, [
      { pacer: fast, workers: 4, lengthMs: 100 },
      { pacer: slow, workers: 4, lengthMs: 100 },
    ])
    expect(fastTurns).toBeGreaterThanOrEqual(74)
    expect(slowTurns).toBeLessThanOrEqual(2)
  })
})
