/**
 * Who may remove objects from a store: the one sweeper that holds the lease `sweep.json`. A publisher first writes its
 * intent and then looks for a lease; a sweeper first takes the lease and then looks for intents. In a store that shows
 * every write at once at least one of the two sees the other, and nothing in flight is ever swept.
 *
 * A lease is short and renewed while work goes on, so that a killed sweeper delays publishers for minutes only. How long
 * it was left alone each side measures by its own monotonic clock; the clocks of two machines are not compared, but for
 * a lease that nobody has renewed for more than an hour. How old intents are is measured by the store's clock alone.
 */

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isoInstant, type Clock } from '../../support/clock.ts'
import { jsonOrNull } from '../../support/json.ts'
import type { Logger } from '../../support/logger.ts'
import { HOUR, MINUTE, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import type { ObjectStore, ObjectVersion, StoredObject } from '../store/object-store.ts'

/** The key of the lease. It stays there when it was given back. */
export const LEASE_KEY = 'sweep.json'

/** A lease that was not renewed for so long is over. */
const LIFE_MS = 5 * MINUTE
// A request to remove something may be under way, or be tried again, for as long as the other half.
const RENEW_AFTER_MS = LIFE_MS / 2
// A sweep with more to do goes on with the next publish; publishers wait for it.
const LONGEST_SWEEP_MS = HOUR - LIFE_MS
// How far two machines' clocks may be apart.
const CLOCKS_DIFFER_MS = HOUR
const LOOK_AGAIN_MS = 2 * SECOND
// As many as S3 removes with one request.
const OBJECTS_AT_ONCE = 1_000

const leaseSchema = z.object({
  /** Id of the snapshot or certificate whose maker sweeps. */
  owner: z.string(),
  /** By the owner's clock; null: given back. */
  expires_at: z.iso.datetime().nullable(),
  /** Makes the bytes differ from everything that was ever stored here. */
  token: z.string(),
})

/** Sweeping had to stop. What was removed was removed in order; the next sweep goes on. */
export class SweepStopped extends PublishError {}

/** What taking a lease needs. */
export interface LeaseOptions {
  readonly store: ObjectStore
  /** ULID of the snapshot or certificate whose maker sweeps. */
  readonly owner: string
  readonly clock: Clock
  readonly logger: Logger
}

/** The right to remove objects, for as long as it is held. */
export interface SweepLease {
  /** ULID of the snapshot or certificate whose maker holds it. */
  readonly owner: string
  /** When it was taken by the store's clock, milliseconds since 1970 UTC: to compare with when objects were written. */
  readonly takenAt: number
  /**
   * Makes sure that it is held for minutes to come. Call it before every request that removes something by itself.
   * @throws SweepStopped when it is lost, or an hour is over
   */
  hold(): Promise<void>
  /**
   * Removes objects, 1,000 at a time in their order, while the lease is held.
   * @param onRemoved called with each thousand that is gone; what it throws ends the removing
   * @throws SweepStopped as `hold` does
   */
  remove<T extends Pick<StoredObject, 'key'>>(
    objects: readonly T[],
    onRemoved?: (gone: readonly T[]) => void,
  ): Promise<void>
}

/** What came of asking for the lease: the result of the work, or why it was not begun. */
export type Leased<T> = { readonly result: T } | { readonly refused: string }

/**
 * Runs `work` with the lease, which is given back after it; nothing is awaited when another sweeper has it. A lease
 * under which a removal failed is left to run out: the request may still arrive.
 * @throws what `work` throws
 */
export async function withSweepLease<T>(
  options: LeaseOptions,
  work: (lease: SweepLease) => Promise<T>,
): Promise<Leased<T>> {
  const { store, clock } = options
  const stored = await store.get(LEASE_KEY)
  if (stored !== null && mayBeHeld(stored.bytes, clock)) {
    const of = read(stored.bytes)?.owner
    const who = of === undefined ? `${store.urlOf(LEASE_KEY)} is not a lease` : `${of} sweeps`
    return { refused: `${who}, or was killed while it did; the next publish looks again` }
  }
  const lease = new HeldLease(options)
  if (!(await lease.write(stored?.version ?? null))) {
    return { refused: 'another publisher began to sweep at the same moment' }
  }
  try {
    await lease.readTime()
    return { result: await work(lease) }
  } finally {
    await lease.giveBack()
  }
}

/**
 * Resolves when no sweeper can be removing anything: at once, or when the lease is given back or was left alone for
 * 5 minutes. Write the intent before.
 * @param onWait called before each wait
 */
export async function waitForSweeper(
  store: ObjectStore,
  clock: Clock,
  options: { readonly signal?: AbortSignal; readonly onWait?: () => void } = {},
): Promise<void> {
  let seen = { text: '', at: 0 }
  for (;;) {
    const askedAt = clock.monotonic()
    const stored = await store.get(LEASE_KEY)
    if (stored === null || !mayBeHeld(stored.bytes, clock)) return
    const text = Buffer.from(stored.bytes).toString()
    // The same lease when it was first seen, and when asked again 5 minutes later: its owner knows that it lost it.
    if (seen.text !== text) seen = { text, at: clock.monotonic() }
    else if (askedAt - seen.at >= LIFE_MS) return
    options.onWait?.()
    await clock.sleep(LOOK_AGAIN_MS, options.signal)
  }
}

function mayBeHeld(bytes: Uint8Array, clock: Clock): boolean {
  const lease = read(bytes)
  // What nobody can read may be the lease of a later Jobtide.
  if (lease === null) return true
  if (lease.expires_at === null) return false
  return clock.now() <= Date.parse(lease.expires_at) + CLOCKS_DIFFER_MS
}

function read(bytes: Uint8Array): z.infer<typeof leaseSchema> | null {
  return leaseSchema.safeParse(jsonOrNull(Buffer.from(bytes).toString())).data ?? null
}

/** A moment on both clocks of this machine. */
interface Moment {
  readonly wall: number
  readonly monotonic: number
}

class HeldLease implements SweepLease {
  readonly owner: string
  takenAt = Number.NaN
  readonly #options: LeaseOptions
  readonly #began: Moment
  #written: Moment
  #bytes: Uint8Array = new Uint8Array()
  #isInDoubt = false

  constructor(options: LeaseOptions) {
    this.owner = options.owner
    this.#options = options
    this.#began = this.#now()
    this.#written = this.#began
  }

  /** Writes the lease in place of `expected`. False when somebody else was first. */
  async write(expected: ObjectVersion | null): Promise<boolean> {
    // Before the request, so that nobody's 5 minutes are over before ours.
    const written = this.#now()
    const bytes = this.#leaseUntil(isoInstant(written.wall + LIFE_MS))
    if (!(await this.#options.store.replace(LEASE_KEY, bytes, expected))) return false
    this.#written = written
    this.#bytes = bytes
    return true
  }

  async readTime(): Promise<void> {
    const listed = await this.#options.store.list(LEASE_KEY)
    const mine = listed.find(({ key }) => key === LEASE_KEY)
    if (mine === undefined) throw new SweepStopped('the lease that was just written is not listed')
    this.takenAt = mine.modifiedAt
  }

  async hold(): Promise<void> {
    while (this.#since(this.#written) >= RENEW_AFTER_MS) await this.#renew()
    if (this.#since(this.#began) >= LONGEST_SWEEP_MS) {
      throw new SweepStopped(
        'an hour of sweeping is over; the rest is swept after the next publish',
      )
    }
  }

  async remove<T extends Pick<StoredObject, 'key'>>(
    objects: readonly T[],
    onRemoved?: (gone: readonly T[]) => void,
  ): Promise<void> {
    for (let from = 0; from < objects.length; from += OBJECTS_AT_ONCE) {
      const some = objects.slice(from, from + OBJECTS_AT_ONCE)
      await this.hold()
      this.#isInDoubt = true
      await this.#options.store.remove(some.map(({ key }) => key))
      this.#isInDoubt = false
      onRemoved?.(some)
    }
  }

  /** Lets others go on at once. Whatever fails here costs them minutes, and nothing else. */
  async giveBack(): Promise<void> {
    if (this.#isInDoubt) return
    const { store, logger } = this.#options
    try {
      const version = await this.#versionOfMine()
      if (version !== null) await store.replace(LEASE_KEY, this.#leaseUntil(null), version)
    } catch (error) {
      logger.warn({ key: store.urlOf(LEASE_KEY), err: error }, 'sweep.lease_left')
    }
  }

  async #renew(): Promise<void> {
    const before = this.#written
    const version = await this.#versionOfMine()
    const isRenewed = version !== null && (await this.write(version))
    // A lease that was over for a moment may have let a publisher through, even if nobody else took it.
    if (isRenewed && this.#since(before) < LIFE_MS) return
    throw new SweepStopped(
      'the lease was lost while sweeping; the rest is swept after the next publish',
    )
  }

  async #versionOfMine(): Promise<ObjectVersion | null> {
    const stored = await this.#options.store.get(LEASE_KEY)
    return stored !== null && Buffer.from(stored.bytes).equals(this.#bytes) ? stored.version : null
  }

  #leaseUntil(expiresAt: string | null): Uint8Array {
    const lease = { owner: this.owner, expires_at: expiresAt, token: randomUUID() }
    return Buffer.from(`${JSON.stringify(lease)}\n`)
  }

  #now(): Moment {
    const { clock } = this.#options
    return { wall: clock.now(), monotonic: clock.monotonic() }
  }

  // A monotonic clock stands still while a machine sleeps, a wall clock can be set: the longer of the two is safe.
  #since(moment: Moment): number {
    const { wall, monotonic } = this.#now()
    return Math.max(Math.abs(wall - moment.wall), monotonic - moment.monotonic)
  }
}
