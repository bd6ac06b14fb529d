import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collectGarbage, parseKeep } from '../../../src/publish/retention.ts'
import {
  fileKey,
  POINTER_KEY,
  objectsOf,
  snapshotKeys,
  readCurrent,
  type Manifest,
} from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import type { Clock } from '../../../src/support/clock.ts'
import { sha256Hex } from '../../../src/support/hash.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/support/units.ts'
import { through } from '../../helpers/through.ts'
import { rounds } from '../../helpers/tier.ts'
import { virtualClock } from '../../helpers/virtual-clock.ts'
import {
  idOf,
  manifestOf,
  memoryStore,
  missingObjects,
  pointerBytes,
  publishManifest,
  putSnapshot,
  START,
  type MemoryStore,
} from './gc-world.ts'

const CONTENTS = ['a', 'b', 'c', 'd', 'e']

/** One process: publishes and then collects garbage, or only collects. */
interface Actor {
  readonly publishes: boolean
  readonly startsAfterMs: number
  /** How far its clock is ahead. */
  readonly skewMs: number
  /** Which of five possible files its snapshot has; dropped files can come back. */
  readonly contents: readonly string[]
  readonly keep: number
  /** The longest time that a request hangs, or that it sleeps between two. */
  readonly longestMs: number
  /** It is killed at this request (from 0). */
  readonly diesAt: number
  readonly seed: number
}

const anActor: fc.Arbitrary<Actor> = fc.record({
  publishes: fc.boolean(),
  startsAfterMs: fc.oneof(
    fc.integer({ min: 0, max: MINUTE }),
    fc.integer({ min: 0, max: 3 * DAY }),
  ),
  skewMs: fc.integer({ min: -10 * DAY, max: 10 * DAY }),
  contents: fc.subarray(CONTENTS, { minLength: 1 }),
  keep: fc.integer({ min: 1, max: 3 }),
  longestMs: fc.constantFrom(SECOND, MINUTE, 30 * HOUR, 4 * DAY),
  diesAt: fc.oneof(
    { weight: 3, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 15 }) },
  ),
  seed: fc.nat(),
})

/** What happened over all runs of the property: an uneventful world would prove nothing. */
const seen = { published: 0, beaten: 0, failed: 0, deleted: 0, old: 0 }

/** The fate of a request: when it takes effect, and then its answer, or an error, even before the effect. */
interface Fate {
  readonly untilEffectMs: number
  readonly untilAnswerMs: number
  readonly isLost: boolean
}

/** The fates of one process's requests, from its seed: one in ten loses its answer but still takes effect later. */
function fates({ seed, longestMs }: Actor): () => Fate {
  let state = seed >>> 0
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const delay = () => Math.floor(random() * (random() < 0.3 ? longestMs : SECOND))
  return () => ({ untilEffectMs: delay(), untilAnswerMs: delay(), isLost: random() < 0.1 })
}

/**
 * A machine's connection to `store`.
 * @param isDead once true, its requests get no answer
 */
function connect(
  store: ObjectStore,
  clock: Clock,
  fateOf: () => Fate,
  isDead: () => boolean,
): ObjectStore {
  return through(store, (name, _, work) => {
    return new Promise((resolve, reject) => {
      if (isDead()) return
      const { untilEffectMs, untilAnswerMs, isLost } = fateOf()
      const effect = clock.sleep(untilEffectMs).then(work)
      effect.catch(() => undefined)
      const answer = async () => {
        const value = isLost ? null : await effect
        await clock.sleep(untilAnswerMs)
        if (isLost) throw new Error(`no answer to ${name}`)
        return value
      }
      answer().then(
        (value) => isDead() || resolve(value),
        (error: Error) => isDead() || reject(error),
      )
    })
  })
}

/** The world of one run. The clocks of the store's machines differ by up to 11 hours. */
class Race {
  readonly clock = virtualClock(START)
  readonly store: MemoryStore
  readonly published = new Set<string>()
  readonly damage: string[] = []

  constructor() {
    let writes = 0
    this.store = memoryStore(() => this.clock.now() + (((writes += 7) % 12) - 6) * HOUR * 0.9)
  }

  /** The store, which checks after each change that every published snapshot is whole. */
  watched(): ObjectStore {
    return through(this.store, async (name, key, work) => {
      const result = await work()
      if (name !== 'remove' && name !== 'replace') return result
      if (key === POINTER_KEY && result === true) {
        const current = await readCurrent(this.store)
        if (current !== null) this.published.add(current.pointer.snapshot_id)
        seen.published += 1
      }
      const missing = missingObjects(this.store, this.published)
      if (missing.length > 0) this.damage.push(`${name}: ${missing.join()}`)
      return result
    })
  }

  async act(actor: Actor, number: number): Promise<void> {
    const fateOf = fates(actor)
    let requests = 0
    const next = () => {
      requests += 1
      return fateOf()
    }
    const store = connect(this.watched(), this.clock, next, () => requests > actor.diesAt)
    await this.clock.sleep(actor.startsAfterMs)
    try {
      if (actor.publishes) await this.publish(store, actor, number)
      const keep = parseKeep(actor.keep)
      const report = await collectGarbage({ store, keep, logger: silentLogger })
      seen.deleted += report.objects
    } catch {
      seen.failed += 1
    }
  }

  async publish(store: ObjectStore, actor: Actor, number: number): Promise<void> {
    const current = await readCurrent(store)
    const after = (current?.manifest ?? null) as Manifest | null
    const createdAt = this.clock.now() + actor.skewMs
    const { contents } = actor
    const manifest = manifestOf({ id: idOf(number), createdAt, contents, after })
    await putSnapshot(store, manifest, after)
    const began = this.clock.now()
    const version = current?.version ?? null
    const hasWon = await store.replace(POINTER_KEY, pointerBytes(manifest), version)
    if (hasWon && this.clock.now() - began > DAY) seen.old += 1
    if (!hasWon) seen.beaten += 1
  }
}

describe('publishers and garbage collectors at the same time', () => {
  it('never delete what a published snapshot needs, whatever hangs, sleeps, dies or has a wrong clock, and leave nothing behind', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anActor, { minLength: 2, maxLength: 7 }), async (actors) => {
        const race = new Race()
        const first = manifestOf({ id: idOf(1), createdAt: race.clock.now(), contents: ['a', 'b'] })
        await publishManifest(race.watched(), first)
        // Files that were uploaded days ago and never published, with the contents that publishers are about to write.
        for (const content of CONTENTS) {
          const sha256 = sha256Hex(Buffer.from(content))
          const key = fileKey('joiners', 'changed_year=2024', sha256)
          const modifiedAt = race.clock.now() - 3 * DAY
          race.store.objects.set(key, { bytes: Buffer.from('x'), modifiedAt, version: content })
        }
        const done = actors.map((actor, index) => race.act(actor, index + 2))
        await race.clock.runUntilIdle()
        expect(race.damage).toEqual([])
        expect(done).toHaveLength(actors.length)

        // The leftovers of killed processes go after a publish two days later.
        await race.clock.advance(2 * DAY)
        const current = await readCurrent(race.store)
        const after = (current?.manifest ?? null) as Manifest | null
        const facts = { id: idOf(99), createdAt: race.clock.now(), contents: ['a', 'f'], after }
        const last = manifestOf(facts)
        await publishManifest(race.watched(), last, after)
        const keep = parseKeep(1)
        await collectGarbage({ store: race.watched(), keep, logger: silentLogger })
        expect(race.damage).toEqual([])
        const { views, manifest } = snapshotKeys(idOf(99))
        const rest = [POINTER_KEY, views, manifest, ...objectsOf(last).map(({ key }) => key)]
        expect([...race.store.objects.keys()].toSorted()).toEqual(rest.toSorted())
      }),
      { numRuns: rounds('JOBTIDE_GC_WORLDS', 200, 3_000) },
    )
    // Each of these must have happened for the property to prove anything.
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0)
  })
})
