/**
 * Deletes from a store what is no longer needed: snapshots that are not kept, and objects that no kept manifest names and
 * that are older than a day. Needs no lock, for two reasons. A publisher reuses only files of the snapshot that the
 * pointer named when it began, and writes all others under keys that were never used before. And age is measured by the
 * store's own clock, back from the moment when the pointer last moved: a publisher that wrote an object before that and has
 * not published it can no longer win the compare-and-swap of the pointer. So what is deleted here is never named again,
 * however long the deleting takes and whatever other processes publish or delete meanwhile.
 */

import { sha256Hex } from '../../support/hash.ts'
import type { Logger } from '../../support/logger.ts'
import { sum } from '../../support/numbers.ts'
import { DAY } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { knownKey } from '../keys.ts'
import { POINTER_KEY, parseManifest, snapshotKeys, type Manifest } from '../manifest.ts'
import { readCurrent, type CurrentSnapshot } from '../read-snapshot.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { planGc, type GcFacts, type GcPlan } from './gc-plan.ts'
import type { Keep } from './retention.ts'

/** What a collection needs. */
export interface GcOptions {
  readonly store: ObjectStore
  /** Null: no snapshot expires. */
  readonly keep: Keep | null
  /**
   * Unreferenced objects go when they are older than the pointer by more than this (milliseconds). Default: a day, which is
   * more than the clocks of a store's machines differ.
   */
  readonly olderThanMs?: number
  readonly logger: Logger
  /** Stops between two requests; the next collection goes on. */
  readonly signal?: AbortSignal
}

/** What a collection did. */
export interface GcReport {
  /** Why nothing was deleted; null when all is done. */
  readonly reason: string | null
  /** Ids of snapshots that are no longer kept, oldest first. */
  readonly snapshots: readonly string[]
  /** Objects deleted, and their bytes. */
  readonly objects: number
  readonly bytes: number
  /** Uploads that were begun long ago and never completed, and are now abandoned. */
  readonly uploads: number
}

const NOTHING: GcReport = { reason: null, snapshots: [], objects: 0, bytes: 0, uploads: 0 }
// As many as S3 deletes with one request.
const OBJECTS_AT_ONCE = 1_000

/** In a store with a damaged manifest nothing is deleted: a file would look as if no snapshot named it. */
class DoubtfulStoreError extends PublishError {}

/**
 * Collects the garbage of a store, or reports why not.
 * @throws PublishError when the store refuses; what was deleted until then was deleted in order
 */
export async function collectGarbage(options: GcOptions): Promise<GcReport> {
  const { store, logger, olderThanMs = DAY } = options
  const report = await collect(options).catch((error: unknown) => {
    if (!(error instanceof DoubtfulStoreError)) throw error
    return { ...NOTHING, reason: `${error.message}; nothing is deleted as long as that is so` }
  })
  const { snapshots, objects, bytes, uploads, reason } = report
  const done = { snapshots: snapshots.length, objects, bytes, uploads, reason }
  logger.info({ ...done, older_than_ms: olderThanMs, at: store.destination }, 'gc.done')
  return report
}

async function collect(options: GcOptions): Promise<GcReport> {
  const { store, keep, olderThanMs = DAY, signal } = options
  // The listings come before the pointer is read: what is newer than they are is not even looked at.
  const [pointer] = await store.list(POINTER_KEY)
  const objects = [...(await store.list('snapshots/')), ...(await store.list('tables/'))]
  const current = await readCurrent(store)
  if (pointer === undefined || current === null) {
    return { ...NOTHING, reason: 'nothing is published there' }
  }
  const manifests = await readManifests(store, objects, current)
  const pointerMovedAt = pointer.modifiedAt
  const currentId = current.pointer.snapshot_id
  const facts: GcFacts = { manifests, currentId, pointerMovedAt, objects, keep, olderThanMs }
  const plan = planGc(facts)
  await deleteSteps(store, plan, signal)
  const gone = plan.steps.flat()
  return {
    reason: null,
    snapshots: plan.expired,
    objects: gone.length,
    bytes: sum(gone.map(({ bytes }) => bytes)),
    uploads: await store.purge({ uploadsBegunBefore: pointerMovedAt - olderThanMs }),
  }
}

async function deleteSteps(store: ObjectStore, { steps }: GcPlan, signal?: AbortSignal) {
  for (const step of steps) {
    for (let from = 0; from < step.length; from += OBJECTS_AT_ONCE) {
      signal?.throwIfAborted()
      await store.remove(step.slice(from, from + OBJECTS_AT_ONCE).map(({ key }) => key))
    }
  }
  signal?.throwIfAborted()
}

/** Reads every listed manifest, and proves each that another one names with its hash. */
async function readManifests(
  store: ObjectStore,
  objects: readonly StoredObject[],
  current: CurrentSnapshot,
): Promise<Manifest[]> {
  const hashes = new Map<string, string>()
  const manifests = [current.manifest]
  for (const { key } of objects) {
    const known = knownKey(key)
    if (known?.kind !== 'manifest') continue
    // What was listed may be gone: another collection deletes the same.
    const stored = await store.get(key)
    if (stored === null) continue
    const { snapshotId: id } = known
    const manifest = readable(stored.bytes, store.urlOf(key))
    if (manifest.snapshot_id !== id) {
      throw new DoubtfulStoreError(`${store.urlOf(key)} is the manifest of ${manifest.snapshot_id}`)
    }
    hashes.set(id, sha256Hex(stored.bytes))
    if (id !== current.manifest.snapshot_id) manifests.push(manifest)
  }
  for (const { snapshot_id: id, manifest_sha256 } of manifests.flatMap(
    (one) => one.previous ?? [],
  )) {
    if ((hashes.get(id) ?? manifest_sha256) === manifest_sha256) continue
    const where = store.urlOf(snapshotKeys(id).manifest)
    throw new DoubtfulStoreError(`${where} is not what the snapshot after it says that it is`)
  }
  return manifests
}

function readable(bytes: Uint8Array, where: string): Manifest {
  try {
    return parseManifest(bytes, null, where)
  } catch (error) {
    throw error instanceof PublishError ? new DoubtfulStoreError(error.message) : error
  }
}
