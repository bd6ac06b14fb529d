/**
 * Deletes from a store what is no longer needed: snapshots that are not kept, objects that no kept manifest names and that are
 * older than a day, and files of Delta logs that no version of the last 30 days needs (delta/log-files.ts). It needs no lock,
 * for two reasons:
 * - A publisher reuses only files of the snapshot that the pointer named when it began. It writes all others under keys that
 *   were never used before.
 * - Age is measured by the store's own clock, back from the moment when the pointer last moved. A publisher that wrote an object
 *   before that and has not published it can no longer win the compare-and-swap of the pointer.
 * So what is deleted here is never named again, whatever other processes publish or delete meanwhile. Dropping snapshots
 * (drop-snapshots.ts) sets the age aside.
 */

import type { Logger } from '../../support/logger.ts'
import { sum } from '../../support/numbers.ts'
import { DAY } from '../../support/units.ts'
import { expiredLogFiles } from '../delta/log-files.ts'
import { knownKey } from '../keys.ts'
import { POINTER_KEY, objectsOf, snapshotKeys, type ManifestOutline } from '../manifest.ts'
import { readCurrent, readOutlines, snapshotIds } from '../read-snapshot.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { expiredSnapshots, neverPublished, type Keep } from './retention.ts'

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

export interface GcReport {
  /** Why nothing was deleted; null when all is done. */
  readonly reason: string | null
  /** Ids of snapshots that are no longer kept, oldest first. */
  readonly snapshots: readonly string[]
  readonly objects: number
  readonly bytes: number
  /** Uploads that were begun long ago and never completed, and are now abandoned. */
  readonly uploads: number
}

interface Inventory {
  readonly manifests: readonly ManifestOutline[]
  readonly currentId: string
  /** When `latest.json` was last replaced, by the store's clock (milliseconds since 1970 UTC). */
  readonly pointerMovedAt: number
  readonly objects: readonly StoredObject[]
}

const NOTHING = { snapshots: [], objects: 0, bytes: 0, uploads: 0 }
// As many as S3 deletes with one request.
const OBJECTS_AT_ONCE = 1_000

/** Collects the garbage of a store, or reports why not. */
export async function collectGarbage(options: GcOptions): Promise<GcReport> {
  const { store, logger, olderThanMs = DAY } = options
  const inventory = await takeInventory(store)
  const report =
    typeof inventory === 'string'
      ? { ...NOTHING, reason: inventory }
      : await collect(options, inventory, inventory.pointerMovedAt - olderThanMs)
  const done = { ...report, snapshots: report.snapshots.length, older_than_ms: olderThanMs }
  logger.info({ ...done, at: store.destination }, 'gc.done')
  return report
}

async function collect(
  { store, keep, signal }: GcOptions,
  inventory: Inventory,
  oldBefore: number,
): Promise<GcReport> {
  const { expired, steps } = plan(inventory, keep, oldBefore)
  for (const step of steps) {
    for (let from = 0; from < step.length; from += OBJECTS_AT_ONCE) {
      signal?.throwIfAborted()
      await store.remove(step.slice(from, from + OBJECTS_AT_ONCE).map(({ key }) => key))
    }
  }
  signal?.throwIfAborted()
  const gone = steps.flat()
  return {
    reason: null,
    snapshots: expired,
    objects: gone.length,
    bytes: sum(gone.map(({ bytes }) => bytes)),
    uploads: await store.purge({ uploadsBegunBefore: oldBefore }),
  }
}

/**
 * The snapshots that expire, oldest first, and what to delete, one step after the other, so that a snapshot with a manifest
 * has its files, whenever the deleting stops.
 */
function plan(
  { manifests, currentId, pointerMovedAt, objects }: Inventory,
  keep: Keep | null,
  oldBefore: number,
): { expired: string[]; steps: StoredObject[][] } {
  const isOld = ({ modifiedAt }: StoredObject) => modifiedAt < oldBefore
  const never = neverPublished(manifests, currentId)
  const dated = manifests
    .filter(({ snapshot_id: id }) => !never.has(id))
    .map(({ snapshot_id: id, created_at: at }) => ({ id, createdAt: Date.parse(at) }))
  const expired = keep === null ? [] : expiredSnapshots(dated, keep, currentId)
  const manifestsOf = (isGone: (id: string, object: StoredObject) => boolean) =>
    objects.filter((object) => {
      const known = knownKey(object.key)
      return known?.kind === 'manifest' && isGone(known.snapshotId, object)
    })
  // First what was never published: only the manifest of the snapshot that won against it tells that.
  const steps = [
    manifestsOf((id, object) => never.has(id) && isOld(object)),
    manifestsOf((id) => expired.includes(id)),
  ]
  const gone = new Set(steps.flat().map(({ key }) => key))
  const kept = manifests.filter(({ snapshot_id: id }) => !gone.has(snapshotKeys(id).manifest))
  const named = new Set([
    ...kept.flatMap(objectsOf).map(({ key }) => key),
    ...kept.map(({ snapshot_id: id }) => snapshotKeys(id).views),
  ])
  const oldLogFiles = expiredLogs(objects, pointerMovedAt)
  const garbage = objects.filter((object) => {
    const known = knownKey(object.key)
    if (known?.kind === 'log') return oldLogFiles.has(object.key)
    if (known === null || known.kind === 'manifest') return false
    return !named.has(object.key) && isOld(object)
  })
  return { expired, steps: [...steps, garbage] }
}

function expiredLogs(objects: readonly StoredObject[], now: number): ReadonlySet<string> {
  const logs = new Map<string, StoredObject[]>()
  for (const object of objects) {
    const known = knownKey(object.key)
    if (known?.kind !== 'log') continue
    logs.set(known.table, [...(logs.get(known.table) ?? []), object])
  }
  return new Set([...logs.values()].flatMap((log) => expiredLogFiles(log, now)))
}

/**
 * Lists a store, reads every manifest, and proves each that another one names with its hash.
 * @returns the reason not to delete anything, in a store with a damaged manifest: a file would look as if no snapshot named it
 */
async function takeInventory(store: ObjectStore): Promise<Inventory | string> {
  // The listings come before the pointer is read: what is newer than they are is not even looked at.
  const [pointer] = await store.list(POINTER_KEY)
  const objects = [...(await store.list('snapshots/')), ...(await store.list('tables/'))]
  const current = await readCurrent(store)
  if (pointer === undefined || current === null) return 'nothing is published there'
  const currentId = current.manifest.snapshot_id
  const doubt = (what: string) => `${what}; nothing is deleted as long as that is so`
  let wrong: string | null = null
  const ids = snapshotIds(objects).filter((id) => id !== currentId)
  const found = await readOutlines(store, ids, (_, { message }) => {
    wrong ??= message
  })
  const lost = ids.find((id) => !found.has(id))
  // Another collection may have deleted it: then that one does the work.
  if (lost !== undefined)
    wrong ??= `${store.urlOf(snapshotKeys(lost).manifest)} is listed and not there`
  if (wrong !== null) return doubt(wrong)
  const others = [...found.values()].map(({ manifest }) => manifest)
  const manifests = [current.manifest, ...others]
  // Reading the current one has proved it.
  const proved = current.pointer.manifest_sha256
  for (const { previous } of manifests) {
    if (previous === null) continue
    const { snapshot_id: id, manifest_sha256: sha256 } = previous
    const own = id === currentId ? proved : found.get(id)?.sha256
    if ((own ?? sha256) === sha256) continue
    const where = store.urlOf(snapshotKeys(id).manifest)
    return doubt(`${where} is not what the snapshot after it says that it is`)
  }
  return { manifests, currentId, pointerMovedAt: pointer.modifiedAt, objects }
}
