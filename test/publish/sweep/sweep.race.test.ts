import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thisWriter } from '../../../src/publish/sweep/intent-writer.ts'
import { withIntent } from '../../../src/publish/sweep/intent.ts'
import { LEASE_KEY } from '../../../src/publish/sweep/sweep-lease.ts'
import { POINTER_KEY, objectsOf, snapshotKeys } from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { readCurrent } from '../../../src/publish/read-snapshot.ts'
import { parseKeep } from '../../../src/publish/sweep/retention.ts'
import { sweepStore, type SweepReport } from '../../../src/publish/sweep/sweep.ts'
import type { Clock } from '../../../src/support/clock.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/support/units.ts'
import {
  fileKey,
  idOf,
  manifestOf,
  memoryStore,
  missingObjects,
  newWorld,
  pointerBytes,
  publishDays,
  putSnapshot,
  type Fate,
  type MemoryStore,
  type World,
} from './sweep-world.ts'

const FILES = ['a', 'b', 'c', 'd', 'e', 'f']

/** How a process and its network are. */
type Temper = 'steady' | 'slow' | 'lossy' | 'sleepy'

/** One process: publishes and then sweeps, or only sweeps. */
interface Actor {
  readonly publishes: boolean
  readonly startsAfterMs: number
  /** How far its wall clock is ahead. */
  readonly skewMs: number
  /** Which of six possible files its snapshot has; files come back after they were dropped. */
  readonly contents: readonly string[]
  readonly keep: number
  readonly temper: Temper
  /** It is killed at this request (from 0). */
  readonly diesAt: number
  readonly seed: number
}

const actorWithin = (windowMs: number, fromMs = 0): fc.Arbitrary<Actor> =>
  fc.record({
    publishes: fc.boolean(),
    startsAfterMs: fc.integer({ min: fromMs, max: windowMs }),
    skewMs: fc.integer({ min: -20 * MINUTE, max: 20 * MINUTE }),
    contents: fc.subarray([...FILES], { minLength: 1 }),
    keep: fc.integer({ min: 1, max: 3 }),
    temper: fc.constantFrom<Temper>('steady', 'steady', 'slow', 'lossy', 'sleepy'),
    diesAt: fc.oneof(
      { weight: 4, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 25 }) },
    ),
    seed: fc.nat(),
  })

// A sweeper meets one or two publishers, whom nothing else keeps apart: at once, or when their intents cease to count.
const aMeeting = fc
  .constantFrom([0, 15 * SECOND], [0, 5 * MINUTE], [23 * HOUR, 29 * HOUR])
  .chain(([from, to]) =>
    fc.tuple(
      actorWithin(to, from).map((actor) => ({ ...actor, publishes: false })),
      fc.array(actorWithin(15 * SECOND), { minLength: 1, maxLength: 2 }),
      fc.array(actorWithin(to), { minLength: 0, maxLength: 1 }),
    ),
  )
  .map(([sweeper, publishers, others]) =>
    [sweeper, ...publishers.map((actor) => ({ ...actor, publishes: true })), ...others].map(
      (actor) => ({ ...actor, diesAt: Number.POSITIVE_INFINITY }),
    ),
  )

// Together within seconds, within minutes, or around the day for which an intent counts; some are killed.
const aCrowd = fc
  .constantFrom(15 * SECOND, 90 * SECOND, 10 * MINUTE, 40 * HOUR)
  .chain((windowMs) => fc.array(actorWithin(windowMs), { minLength: 2, maxLength: 7 }))

const manyActors: fc.Arbitrary<readonly Actor[]> = fc.oneof(aMeeting, aCrowd)

const mostly = fc.integer({ min: 0, max: 5 }).map((die) => die > 0)

/** What happened in all runs of the property: a world in which nothing happens would prove nothing. */
const seen = { published: 0, beaten: 0, lost: 0, waited: 0, refused: 0, removed: 0, reused: 0 }

/** The fates of one process's requests, from its seed. */
function fates({ seed, temper }: Actor): (operation: string, key: string) => Fate {
  let state = seed >>> 0
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const within = (ms: number) => Math.floor(random() * ms)
  return (operation, key) => {
    // A process may stand still for more than a day, but not between the last look at its right to do something and the
    // request that does it: then it is minutes, as with a request that hangs.
    const isMove = operation === 'replace' && key === POINTER_KEY
    const longest = operation === 'remove' ? 140 * SECOND : isMove ? 15 * MINUTE : 30 * HOUR
    const isQuick = temper === 'steady' || temper === 'lossy'
    const usual = isQuick ? SECOND : random() < 0.8 ? 2 * SECOND : 4 * MINUTE
    const isAsleep = temper === 'sleepy' && random() < 0.1
    // The answers that matter most are lost most, and what was asked still happens, later.
    const isLost = temper === 'lossy' && random() < (longest < HOUR ? 0.4 : 0.02)
    const untilEffectMs = within(isLost ? Math.min(longest, 30 * MINUTE) : Math.min(usual, longest))
    if (isLost) return { untilEffectMs, untilAnswerMs: within(2 * SECOND), lost: 'answer' }
    const pauseMs = isAsleep ? 20 * HOUR + within(10 * HOUR) : 0
    const effectMs = Math.min(untilEffectMs + pauseMs, longest)
    return { untilEffectMs: effectMs, untilAnswerMs: within(usual), lost: 'nothing' }
  }
}

/** The world of one run. */
class Race {
  readonly world: World = newWorld()
  readonly store: MemoryStore = memoryStore(() => this.world.now())
  /** Every snapshot that the pointer ever named. */
  readonly published = new Set<string>()
  readonly damage: string[] = []

  /** The store, which looks after each change whether every published snapshot is whole. */
  watched(): ObjectStore {
    return new Proxy(this.store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (name !== 'remove' && name !== 'replace') return member
        return async (key: string, ...values: unknown[]) => {
          const result: unknown = await Reflect.apply(member as () => unknown, target, [
            key,
            ...values,
          ])
          if (key === POINTER_KEY && result === true) {
            const current = await readCurrent(target)
            if (current !== null) this.published.add(current.pointer.snapshot_id)
            seen.published += 1
          }
          const missing = missingObjects(target, this.published)
          if (missing.length > 0)
            this.damage.push(`${String(name)} ${String(key)}: ${missing.join()}`)
          return result
        }
      },
    })
  }

  async act(actor: Actor, number: number): Promise<void> {
    const clock = this.world.clock(actor.skewMs)
    const fateOf = fates(actor)
    let requests = 0
    const store = this.world.connect(
      this.watched(),
      (operation, key) => {
        requests += 1
        return fateOf(operation, key)
      },
      () => requests > actor.diesAt,
    )
    await clock.sleep(actor.startsAfterMs)
    try {
      if (actor.publishes) await this.publish(store, clock, actor, number)
      note(await sweepOnce(store, clock, idOf(number), actor.keep))
    } catch {
      seen.lost += 1
    }
  }

  async publish(store: ObjectStore, clock: Clock, actor: Actor, number: number): Promise<void> {
    const snapshotId = idOf(number)
    const contents = [...actor.contents]
    const onWait = () => {
      seen.waited += 1
    }
    const options = { store, snapshotId, clock, writer: thisWriter(), logger: silentLogger, onWait }
    await withIntent(options, async (intent) => {
      const current = await readCurrent(store)
      const after = current?.manifest ?? null
      const manifest = manifestOf({ id: snapshotId, createdAt: clock.now(), contents, after })
      // A file may be there that nobody refers to any more: it is taken as it is.
      const outcomes: string[] = []
      for (const content of contents) {
        outcomes.push(await store.put(fileKey(content), Buffer.from(content)))
      }
      const kept = new Set(after === null ? [] : objectsOf(after).map(({ key }) => key))
      seen.reused += contents.filter(
        (content, index) => outcomes[index] === 'already-there' && !kept.has(fileKey(content)),
      ).length
      await putSnapshot(store, manifest, [])
      const version = current?.version ?? null
      const won = await intent.commit(() =>
        store.replace(POINTER_KEY, pointerBytes(manifest), version),
      )
      if (won) return
      seen.beaten += 1
      throw new Error('another publisher was first')
    })
  }
}

function sweepOnce(store: ObjectStore, clock: Clock, owner: string, keep: number) {
  return sweepStore({ store, clock, owner, keep: parseKeep(keep), logger: silentLogger })
}

function note(report: SweepReport): void {
  seen.removed += report.objects
  if (report.reason !== null) seen.refused += 1
}

describe('publishers and sweepers at the same time', () => {
  it('never remove what a published snapshot needs, and leave nothing behind that nobody needs', async () => {
    await fc.assert(
      fc.asyncProperty(mostly, manyActors, async (isBegun, actors) => {
        const race = new Race()
        // What somebody uploaded before and never published: sweepers want it gone, publishers want to use it.
        for (const content of FILES) await race.store.put(fileKey(content), Buffer.from(content))
        if (isBegun) {
          const [first] = await publishDays(race.store, [['a', 'b']])
          race.published.add(first!.snapshot_id)
        }
        const done = actors.map((actor, index) => race.act(actor, index + 2))
        await race.world.run()
        expect(race.damage).toEqual([])
        expect(done).toHaveLength(actors.length)

        // Two days later whatever killed processes left no longer counts, and one sweep tidies up.
        const clock = race.world.clock(0)
        const later = clock.sleep(2 * DAY)
        await race.world.run()
        await later
        const current = await readCurrent(race.store)
        const report = await sweepOnce(race.store, clock, idOf(99), 1)
        expect(race.damage).toEqual([])
        if (current === null) {
          expect(report.reason).toBe('nothing is published there')
          return
        }
        expect(report.reason).toBeNull()
        const { views, manifest } = snapshotKeys(current.pointer.snapshot_id)
        const needed = objectsOf(current.manifest).map(({ key }) => key)
        // The very first ones follow nothing, so nobody can tell which of them the pointer never named.
        if (!isBegun) return
        const rest = [LEASE_KEY, POINTER_KEY, views, manifest, ...needed]
        expect([...race.store.objects.keys()].toSorted()).toEqual(rest.toSorted())
      }),
      { numRuns: 500 },
    )
    // Each of these is what makes a world in which something could go wrong.
    for (const [what, times] of Object.entries(seen)) {
      expect(times, what).toBeGreaterThan(10)
    }
  })
})
