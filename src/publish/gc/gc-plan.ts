/** Decides what garbage collection deletes from a store, and in which order. Pure. */

import { expiredLogFiles } from '../delta/log-files.ts'
import { knownKey } from '../keys.ts'
import { objectsOf, type Manifest } from '../manifest.ts'
import type { StoredObject } from '../store/object-store.ts'
import { expiredSnapshots, type Keep } from './retention.ts'

/** What lies in a store, and the rules for it. */
export interface GcFacts {
  /** Of all snapshots that have one. */
  readonly manifests: readonly Manifest[]
  /** What `latest.json` names. */
  readonly currentId: string
  /** When `latest.json` was last replaced, by the store's clock (milliseconds since 1970 UTC). */
  readonly pointerMovedAt: number
  /** Everything below `snapshots/` and `tables/`. */
  readonly objects: readonly StoredObject[]
  /** Null: no snapshot expires. */
  readonly keep: Keep | null
  /** Unreferenced objects go when they are older than the pointer by more than this (milliseconds). */
  readonly olderThanMs: number
}

/** What goes. */
export interface GcPlan {
  /** Snapshots that were published and are no longer kept, oldest first. */
  readonly expired: readonly string[]
  /** To delete one after the other, so that a snapshot with a manifest has its files, whenever the deleting stops. */
  readonly steps: readonly (readonly StoredObject[])[]
}

/** Plans a collection: expired snapshots, then old objects that no remaining manifest names. */
export function planGc(facts: GcFacts): GcPlan {
  const { manifests, currentId, pointerMovedAt, objects, keep } = facts
  const isOld = ({ modifiedAt }: StoredObject) => pointerMovedAt - modifiedAt > facts.olderThanMs
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
  const gone = new Set(steps.flat().map(({ key }) => key.split('/')[1]))
  const kept = manifests.filter(({ snapshot_id: id }) => !gone.has(id))
  const keptIds = new Set(kept.map(({ snapshot_id: id }) => id))
  const referenced = new Set(kept.flatMap(objectsOf).map(({ key }) => key))
  const oldLogFiles = logFilesToDelete(objects, pointerMovedAt)
  const garbage = objects.filter((object) => {
    const known = knownKey(object.key)
    if (known?.kind === 'log') return oldLogFiles.has(object.key)
    if (known?.kind === 'views') return !keptIds.has(known.snapshotId) && isOld(object)
    return known?.kind === 'file' && !referenced.has(object.key) && isOld(object)
  })
  return { expired, steps: [...steps, garbage] }
}

function logFilesToDelete(objects: readonly StoredObject[], now: number): ReadonlySet<string> {
  const logs = new Map<string, StoredObject[]>()
  for (const object of objects) {
    const known = knownKey(object.key)
    if (known?.kind !== 'log') continue
    logs.set(known.table, [...(logs.get(known.table) ?? []), object])
  }
  return new Set([...logs.values()].flatMap((log) => expiredLogFiles(log, now)))
}

/**
 * Finds snapshots that are whole but were never what the pointer named: their publisher was killed, or another one won.
 * They follow the current snapshot, or one that a snapshot of its chain follows, or another snapshot of their kind. Anything less
 * certain counts as published, such as the snapshots of before `latest.json` was removed by hand.
 */
export function neverPublished(
  manifests: readonly Manifest[],
  currentId: string,
): ReadonlySet<string> {
  const byId = new Map(manifests.map((manifest) => [manifest.snapshot_id, manifest]))
  const chain = new Set<string>()
  const followed = new Set([currentId])
  for (let at = byId.get(currentId); at !== undefined && !chain.has(at.snapshot_id);) {
    chain.add(at.snapshot_id)
    if (at.previous === null) break
    followed.add(at.previous.snapshot_id)
    at = byId.get(at.previous.snapshot_id)
  }
  const never = new Set<string>()
  for (const { snapshot_id: id, previous } of manifests.toSorted(
    (a, b) => a.sequence - b.sequence,
  )) {
    if (chain.has(id) || previous === null) continue
    if (followed.has(previous.snapshot_id) || never.has(previous.snapshot_id)) never.add(id)
  }
  return never
}
