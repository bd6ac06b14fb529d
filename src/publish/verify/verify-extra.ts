/** Objects that no manifest names: what garbage collection will delete, and what Jobtide did not write. */

import { DAY } from '../../support/units.ts'
import { knownKey } from '../keys.ts'
import { POINTER_KEY, objectsOf, snapshotKeys, type Manifest } from '../manifest.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import type { Finding } from './verify-findings.ts'

/** What lies in a store. */
export interface Inventory {
  /** Everything below the folders of tables and snapshots. */
  readonly objects: readonly StoredObject[]
  /** Publishers at work may have written what is not older than this (milliseconds since 1970 UTC, by the store's clock). */
  readonly oldBefore: number
}

/** Takes the inventory. Call it before the manifests are read: then what it lists is in one of them, or is not published. */
export async function takeInventory(store: ObjectStore): Promise<Inventory> {
  const [pointer] = await store.list(POINTER_KEY)
  const objects = [...(await store.list('tables/')), ...(await store.list('snapshots/'))]
  return { objects, oldBefore: (pointer?.modifiedAt ?? Number.NEGATIVE_INFINITY) - DAY }
}

/** Finds the objects that no manifest names, but for those that a publisher at work may have written. */
export async function findExtra(
  store: ObjectStore,
  { objects, oldBefore }: Inventory,
  manifests: readonly Manifest[],
): Promise<Finding[]> {
  const named = new Set(
    manifests.flatMap((manifest) => {
      const keys = snapshotKeys(manifest.snapshot_id)
      return [keys.manifest, keys.views, ...objectsOf(manifest).map(({ key }) => key)]
    }),
  )
  const findings: Finding[] = []
  for (const { key, modifiedAt } of objects) {
    const known = knownKey(key)
    if (named.has(key) || known?.kind === 'log') continue
    if (known !== null && modifiedAt >= oldBefore) continue
    if ((await store.head(key)) === null) continue
    const table = /^tables\/([^/]+)\//.exec(key)?.[1] ?? null
    const message =
      known === null
        ? 'nothing refers to it, and it is not named as Jobtide names files: remove it'
        : 'nothing refers to it; garbage collection after a publish deletes it'
    findings.push({ kind: 'extra', table, object: key, message })
  }
  return findings
}
