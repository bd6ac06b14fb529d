/**
 * Removes what nobody needs any more: snapshots that are no longer kept, objects that no snapshot refers to, old files of
 * the Delta logs, what killed publishers left. Only with the lease, only while no publisher is at work, and never what a
 * kept snapshot refers to; what is not named as Jobtide names its objects is left alone.
 */

import { sha256Hex } from '../../support/hash.ts'
import { sum } from '../../support/numbers.ts'
import { DAY } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { INTENT_PREFIX, publisherAtWork } from './intent.ts'
import { parseManifest, snapshotKeys, type Manifest } from '../manifest.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { readCurrent, snapshotIds, type CurrentSnapshot } from '../read-snapshot.ts'
import { SweepStopped, withSweepLease, type LeaseOptions, type SweepLease } from './sweep-lease.ts'
import { planSweep, type SweepPlan, type SweepRules } from './sweep-plan.ts'

/** What a sweep needs. An intent of `owner`'s own is not in its way. */
export interface SweepOptions extends LeaseOptions, Omit<SweepRules, 'now'> {
  /** Stops between two requests; the next sweep goes on. */
  readonly signal?: AbortSignal
  /** Called after each step. */
  readonly onProgress?: (step: SweepStep) => void
}

/** How far a sweep is: objects removed, of those to remove. */
export interface SweepStep {
  readonly done: number
  readonly total: number
}

/** What a sweep did. */
export interface SweepReport {
  /** Why nothing was removed, or not everything; null when all is done. */
  readonly reason: string | null
  /** Ids of snapshots that are no longer kept, oldest first. */
  readonly snapshots: readonly string[]
  /** Objects removed, and their bytes. */
  readonly objects: number
  readonly bytes: number
  /** Uploads that were begun more than a day ago and never completed, and are now forgotten. */
  readonly uploads: number
}

/** What was done so far, while it is done. */
interface Tally {
  readonly snapshots: string[]
  objects: number
  bytes: number
  uploads: number
}

const MANIFESTS_AT_ONCE = 8

/**
 * Sweeps a store, or says why not.
 * @throws PublishError when the store refuses; what was removed until then was removed in order
 */
export async function sweepStore(options: SweepOptions): Promise<SweepReport> {
  const tally: Tally = { snapshots: [], objects: 0, bytes: 0, uploads: 0 }
  try {
    const leased = await withSweepLease(options, (lease) => sweepWith(lease, options, tally))
    const reason = 'refused' in leased ? leased.refused : leased.result
    options.logger.info({ ...tally, reason, at: options.store.destination }, 'sweep.done')
    return { ...tally, reason }
  } catch (error) {
    if (error instanceof SweepStopped) return { ...tally, reason: error.message }
    throw error
  }
}

/** Returns why nothing was swept, or null. */
async function sweepWith(
  lease: SweepLease,
  options: SweepOptions,
  tally: Tally,
): Promise<string | null> {
  const { store, signal } = options
  const now = lease.takenAt
  const intents = await store.list(INTENT_PREFIX)
  const busy = await publisherAtWork(store, intents, lease)
  if (busy !== null) return busy
  const current = await readCurrent(store)
  if (current === null) return 'nothing is published there'
  const manifests = await readManifests(store, current)
  const objects = [
    ...intents,
    ...(await store.list('snapshots/')),
    ...(await store.list('tables/')),
  ]
  const plan = planSweep(
    { manifests, currentId: current.pointer.snapshot_id, objects },
    { ...options, now },
  )
  await carryOut(plan, lease, options, tally)
  signal?.throwIfAborted()
  tally.uploads = await store.abandonUploads(now - DAY)
  return null
}

async function carryOut(
  plan: SweepPlan,
  lease: SweepLease,
  { signal, onProgress }: SweepOptions,
  tally: Tally,
): Promise<void> {
  const total = sum(plan.steps.map((step) => step.length))
  const expired = new Map(plan.expired.map((id) => [snapshotKeys(id).manifest, id]))
  for (const step of plan.steps) {
    signal?.throwIfAborted()
    await lease.remove(step, (gone) => {
      tally.objects += gone.length
      tally.bytes += sum(gone.map(({ bytes }) => bytes))
      tally.snapshots.push(...gone.flatMap(({ key }) => expired.get(key) ?? []))
      onProgress?.({ done: tally.objects, total })
      signal?.throwIfAborted()
    })
  }
}

/**
 * Reads every manifest, and proves each that another one names with its hash: in one that was damaged a file would look
 * as if nobody needed it.
 */
async function readManifests(store: ObjectStore, current: CurrentSnapshot): Promise<Manifest[]> {
  const ids = await snapshotIds(store)
  const stored = new Map<string, Uint8Array>()
  for (let from = 0; from < ids.length; from += MANIFESTS_AT_ONCE) {
    const some = ids.slice(from, from + MANIFESTS_AT_ONCE)
    const objects = await Promise.all(some.map((id) => store.get(snapshotKeys(id).manifest)))
    for (const [index, id] of some.entries()) {
      const bytes = objects[index]?.bytes
      // Only with the lease can one go, and then only by us.
      if (bytes === undefined) throw new SweepStopped(`somebody else removes snapshots: ${id} went`)
      stored.set(id, bytes)
    }
  }
  return proven(store, stored, current)
}

function proven(
  store: ObjectStore,
  stored: ReadonlyMap<string, Uint8Array>,
  current: CurrentSnapshot,
): Manifest[] {
  const where = (id: string) => store.urlOf(snapshotKeys(id).manifest)
  const manifests = [...stored].map(([id, bytes]) => {
    const manifest = readable(bytes, where(id))
    if (manifest.snapshot_id === id) return manifest
    throw unsure(`${where(id)} is the manifest of ${manifest.snapshot_id}`)
  })
  const links = manifests.flatMap(({ previous }) => previous ?? [])
  for (const { snapshot_id: id, manifest_sha256: sha256 } of [current.pointer, ...links]) {
    const bytes = stored.get(id)
    if (bytes === undefined || sha256Hex(bytes) === sha256) continue
    throw unsure(`${where(id)} is not what the snapshot after it, or the pointer, says that it is`)
  }
  if (stored.has(current.pointer.snapshot_id)) return manifests
  throw unsure(`${store.destination} does not list the snapshot that readers see`)
}

function readable(bytes: Uint8Array, where: string): Manifest {
  try {
    return parseManifest(bytes, null, where)
  } catch (error) {
    throw error instanceof PublishError ? unsure(error.message) : error
  }
}

function unsure(what: string): SweepStopped {
  return new SweepStopped(`${what}; nothing is swept as long as that is so`)
}
