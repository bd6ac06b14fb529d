/** What a sweep removes from a store, and in which order. Pure. */

import { expiredLogFiles } from '../delta/log-files.ts'
import { knownKey } from '../keys.ts'
import { objectsOf, type Manifest } from '../manifest.ts'
import type { StoredObject } from '../store/object-store.ts'
import { isOldIntent } from './intent.ts'
import { expiredSnapshots, type Keep } from './retention.ts'

/** What a sweeper found, after it had the lease and saw that nobody else is at work. */
export interface Findings {
  /** Of all snapshots that have one. */
  readonly manifests: readonly Manifest[]
  /** What `latest.json` names. */
  readonly currentId: string
  /** Everything below `in-flight/`, `snapshots/` and `tables/`. */
  readonly objects: readonly StoredObject[]
}

/** What decides over them. */
export interface SweepRules {
  /** Null: no snapshot expires. */
  readonly keep: Keep | null
  /** By the store's clock, milliseconds since 1970 UTC. */
  readonly now: number
}

/** What goes. The steps are done one after the other, so that whatever is left after a crash is whole. */
export interface SweepPlan {
  /** Snapshots that were published and are no longer kept. */
  readonly expired: readonly string[]
  /** How many snapshots stay. */
  readonly retained: number
  readonly steps: readonly (readonly StoredObject[])[]
}

/** Decides what goes: snapshots first, because one that still has its manifest must have its files, too. */
export function planSweep(findings: Findings, rules: SweepRules): SweepPlan {
  const { manifests, currentId, objects } = findings
  const never = neverPublished(manifests, currentId)
  const published = manifests.filter(({ snapshot_id: id }) => !never.has(id))
  const expired = expiredOf(published, rules.keep, currentId)
  const isExpired = new Set(expired)
  const retained = published.filter(({ snapshot_id: id }) => !isExpired.has(id))
  const retainedIds = new Set(retained.map(({ snapshot_id: id }) => id))
  const referenced = new Set(retained.flatMap(objectsOf).map(({ key }) => key))
  const oldLogs = oldLogFiles(objects, rules.now)

  const manifestsOf = (ids: ReadonlySet<string>) =>
    objects.filter(({ key }) => {
      const known = knownKey(key)
      return known?.kind === 'manifest' && ids.has(known.snapshotId)
    })
  const isLeftOver = ({ key }: StoredObject) => {
    const known = knownKey(key)
    if (known?.kind === 'views') return !retainedIds.has(known.snapshotId)
    if (known?.kind === 'log') return oldLogs.has(key)
    return known?.kind === 'file' && !referenced.has(key)
  }
  return {
    expired,
    retained: retained.length,
    steps: [
      objects.filter((object) => isOldIntent(object, rules.now)),
      // Before any published one: what was never published is known by the published one that it lost to.
      manifestsOf(never),
      manifestsOf(isExpired),
      objects.filter(isLeftOver),
    ],
  }
}

function oldLogFiles(objects: readonly StoredObject[], now: number): ReadonlySet<string> {
  const byTable = new Map<string, StoredObject[]>()
  for (const object of objects) {
    const known = knownKey(object.key)
    if (known?.kind !== 'log') continue
    const others = byTable.get(known.table)
    if (others === undefined) byTable.set(known.table, [object])
    else others.push(object)
  }
  return new Set([...byTable.values()].flatMap((log) => expiredLogFiles(log, now)))
}

function expiredOf(published: readonly Manifest[], keep: Keep | null, currentId: string): string[] {
  if (keep === null) return []
  const dated = published.map(({ snapshot_id: id, created_at: createdAt }) => ({
    id,
    createdAt: Date.parse(createdAt),
  }))
  return expiredSnapshots(dated, keep, currentId)
}

/**
 * Snapshots that are whole but beside the chain of what the pointer named: their publisher was killed or was not the
 * first, or what took their place names the same snapshot before it. Known by what they follow: the current snapshot, one
 * that a snapshot of the chain follows, or another of their kind. Anything less certain, such as the snapshots of before
 * somebody began anew, counts as published.
 */
export function neverPublished(
  manifests: readonly Manifest[],
  currentId: string,
): ReadonlySet<string> {
  const byId = new Map(manifests.map((manifest) => [manifest.snapshot_id, manifest]))
  // What the pointer named, as far back as every link is there.
  const followed = new Set([currentId])
  const chain = new Set<string>()
  let at = byId.get(currentId)
  while (at !== undefined && !chain.has(at.snapshot_id)) {
    chain.add(at.snapshot_id)
    if (at.previous === null) break
    followed.add(at.previous.snapshot_id)
    at = byId.get(at.previous.snapshot_id)
  }
  const never = new Set<string>()
  for (let size = -1; size < never.size;) {
    size = never.size
    for (const { snapshot_id: id, previous } of manifests) {
      if (chain.has(id) || previous === null) continue
      if (followed.has(previous.snapshot_id) || never.has(previous.snapshot_id)) never.add(id)
    }
  }
  return never
}
