/**
 * What a publisher leaves in the store while it is at work: `in-flight/<snapshot id>.json`. As long as it is there, no
 * sweeper removes anything, so objects that nothing refers to yet are safe. One that a killed publisher left counts for
 * a day, or until the next publisher on its machine has moved the pointer: from then on nothing of the killed one that
 * may still be under way can move it.
 */

import { z } from 'zod'
import { isoInstant, type Clock } from '../../support/clock.ts'
import { jsonOrNull } from '../../support/json.ts'
import type { Logger } from '../../support/logger.ts'
import { DAY, HOUR } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { POINTER_KEY, parsePointer } from '../manifest.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { canTellWriters, isWriterGone, type IntentWriter } from './intent-writer.ts'
import { LEASE_KEY, waitForSweeper } from './sweep-lease.ts'

/** Where intents lie. */
export const INTENT_PREFIX = 'in-flight/'

// From this age on (milliseconds, by the store's clock) an intent no longer keeps sweepers away.
const INTENT_COUNTS_MS = DAY

// An hour less than its intent counts, for clocks that differ and a pointer that is slow to move.
const LONGEST_PUBLISH_MS = DAY - HOUR

/** The key of a publisher's intent. */
export function intentKey(snapshotId: string): string {
  return `${INTENT_PREFIX}${snapshotId}.json`
}

/**
 * Whether an object is an intent that no longer counts.
 * @param now by the store's clock, milliseconds since 1970 UTC
 */
export function isOldIntent({ key, modifiedAt }: StoredObject, now: number): boolean {
  return key.startsWith(INTENT_PREFIX) && now - modifiedAt > INTENT_COUNTS_MS
}

const intentSchema = z.object({ host: z.string(), pid: z.int(), started_at: z.iso.datetime() })

/**
 * Says which publisher is at work; null when nobody is. Ask with the lease: then whoever begins later waits.
 * @param intents everything below `in-flight/`
 * @param lease the one that is held; an intent of its owner's own is not in its way
 */
export async function publisherAtWork(
  store: ObjectStore,
  intents: readonly StoredObject[],
  { owner, takenAt }: { readonly owner: string; readonly takenAt: number },
): Promise<string | null> {
  const intent = intents.find((one) => !isOldIntent(one, takenAt) && one.key !== intentKey(owner))
  if (intent === undefined) return null
  const stored = await store.get(intent.key)
  const text = stored === null ? '' : Buffer.from(stored.bytes).toString()
  const said = intentSchema.safeParse(jsonOrNull(text)).data
  const who = said === undefined ? '' : ` (process ${said.pid} on ${said.host})`
  const since = isoInstant(intent.modifiedAt)
  return `a publisher is at work since ${since}${who}; one that was killed counts for 24 hours: ${intent.key}`
}

/** Who publishes, and where to. */
export interface IntentOptions {
  readonly store: ObjectStore
  /** ULID of the snapshot that is being made. */
  readonly snapshotId: string
  readonly clock: Clock
  /** This process, for people who wonder whose intent it is, and for those who find it when it is gone. */
  readonly writer: IntentWriter
  readonly logger: Logger
  /** Ends waiting for a sweeper. */
  readonly signal?: AbortSignal
  /** Called before each wait for a sweeper. */
  readonly onWait?: () => void
}

/** The intent of a publisher at work. */
export interface Intent {
  /**
   * Runs `move`, which moves the pointer and says whether it won. When it throws, the pointer may have moved or may
   * still move: the intent then stays, and keeps sweepers away for a day.
   * @throws PublishError before `move`, when the publish took so long that its objects may be gone
   */
  commit(move: () => Promise<boolean>): Promise<boolean>
}

/**
 * Writes the intent, waits for a sweeper to end, runs `work`, and removes the intent, whether or not `work` succeeded.
 * Look at no object of the store before, and rely on none after.
 * @throws what `work` throws, or the signal's reason
 */
export async function withIntent<T>(
  options: IntentOptions,
  work: (intent: Intent) => Promise<T>,
): Promise<T> {
  const { store, snapshotId, clock, writer } = options
  const intent = new WrittenIntent(options)
  const text = { snapshot_id: snapshotId, ...writer, started_at: isoInstant(clock.now()) }
  try {
    // Within, because a write that failed was perhaps done.
    await store.put(intentKey(snapshotId), Buffer.from(`${JSON.stringify(text)}\n`))
    await waitForSweeper(store, clock, { ...options, onWait: sayOnce(options) })
    await intent.lookForKilled()
    return await work(intent)
  } finally {
    await intent.withdraw()
  }
}

/** What to do before each wait: it takes minutes at most, but whoever looks on should know why nothing happens. */
function sayOnce({ store, logger, onWait }: IntentOptions): () => void {
  let isSaid = false
  return () => {
    if (!isSaid) logger.warn({ key: store.urlOf(LEASE_KEY) }, 'publish.waits_for_sweep')
    isSaid = true
    onWait?.()
  }
}

class WrittenIntent implements Intent {
  readonly #options: IntentOptions
  readonly #key: string
  readonly #startedWall: number
  readonly #startedMonotonic: number
  /** Intents of publishers that were gone before this one looked at the pointer. */
  readonly #killed: string[] = []
  /** The intent of the snapshot that the pointer named then. */
  #pointedAt: string | null = null
  #isInDoubt = false
  #hasMoved = false

  constructor(options: IntentOptions) {
    this.#options = options
    this.#key = intentKey(options.snapshotId)
    this.#startedWall = options.clock.now()
    this.#startedMonotonic = options.clock.monotonic()
  }

  async commit(move: () => Promise<boolean>): Promise<boolean> {
    await this.#verify()
    this.#isInDoubt = true
    this.#hasMoved = await move()
    this.#isInDoubt = false
    return this.#hasMoved
  }

  /** Call it before the pointer is read: only then a pointer that moved since cannot be moved by one of them. */
  async lookForKilled(): Promise<void> {
    const { store } = this.#options
    if (!canTellWriters()) return
    for (const { key } of await store.list(INTENT_PREFIX)) {
      const stored = key === this.#key ? null : await store.get(key)
      if (stored !== null && isWriterGone(stored.bytes)) this.#killed.push(key)
    }
    const pointer = this.#killed.length === 0 ? null : await store.get(POINTER_KEY)
    if (pointer === null) return
    const { snapshot_id: id } = parsePointer(pointer.bytes, store.urlOf(POINTER_KEY))
    this.#pointedAt = intentKey(id)
  }

  /** Removes the intent, unless it is needed, and those of the killed. One that stays only delays sweeping by a day. */
  async withdraw(): Promise<void> {
    if (this.#isInDoubt) return
    const { store, logger } = this.#options
    try {
      // Who was killed after the pointer had moved needs nobody to move it again.
      const over = this.#killed.filter((key) => this.#hasMoved || key === this.#pointedAt)
      await store.remove([this.#key, ...over])
      for (const key of over) {
        logger.info({ key: store.urlOf(key) }, 'publish.killed_intent_removed')
      }
    } catch (error) {
      logger.warn({ key: store.urlOf(this.#key), err: error }, 'publish.intent_left')
    }
  }

  async #verify(): Promise<void> {
    const { store, clock } = this.#options
    const isThere = (await store.head(this.#key)) !== null
    // A monotonic clock stands still while a machine sleeps; the wall clock does not.
    const took = Math.max(
      clock.now() - this.#startedWall,
      clock.monotonic() - this.#startedMonotonic,
    )
    if (isThere && took < LONGEST_PUBLISH_MS) return
    throw new PublishError(
      `${store.urlOf(this.#key)} no longer counts: this publish took too long, and what it uploaded may be swept`,
      { hint: `A publish may take ${LONGEST_PUBLISH_MS / HOUR} hours.` },
    )
  }
}
