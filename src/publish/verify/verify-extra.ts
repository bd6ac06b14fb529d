/**
 * Objects that nothing refers to: what a killed publisher or sweeper left, or what somebody else put there. What a publisher
 * at work has written so far is not among them: it has said so before.
 */

import type { Clock } from '../../support/clock.ts'
import { ulidTime } from '../../support/ulid.ts'
import { HOUR } from '../../support/units.ts'
import { knownKey } from '../keys.ts'
import { objectsOf, snapshotKeys, type Manifest } from '../manifest.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { INTENT_PREFIX, isOldIntent } from '../sweep/intent.ts'
import { waitForSweeper } from '../sweep/sweep-lease.ts'
import type { Finding } from './verify-findings.ts'

const FOLDERS = ['tables/', 'snapshots/'] as const
// How far the clocks of a publisher and of its store may be apart.
const CLOCKS_DIFFER_MS = HOUR

/** What lies in a store, and who is adding to it. */
export interface Inventory {
  /** Everything below the folders of tables and snapshots. */
  readonly objects: readonly StoredObject[]
  /** Publishers at work may have written what is not older than this, milliseconds since 1970 UTC. */
  readonly begunAt: number
}

/**
 * Takes the inventory. Call it before the manifests are read: then what a publisher has written is in one of them, or the
 * publisher is still at work.
 */
export async function takeInventory(store: ObjectStore, clock: Clock): Promise<Inventory> {
  const objects: StoredObject[] = []
  for (const folder of FOLDERS) objects.push(...(await store.list(folder)))
  const begun = (await store.list(INTENT_PREFIX))
    .filter((intent) => !isOldIntent(intent, clock.now()))
    .map(({ key }) => ulidTime(key.slice(INTENT_PREFIX.length)) - CLOCKS_DIFFER_MS)
  return { objects, begunAt: Math.min(...begun, Number.POSITIVE_INFINITY) }
}

/** What finding extra objects needs. */
export interface ExtraOptions {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly inventory: Inventory
  /** Every manifest of the store. */
  readonly manifests: readonly Manifest[]
  readonly signal: AbortSignal | undefined
}

/** The objects that no manifest refers to and that nobody at work has just written or is about to remove. */
export async function findExtra(options: ExtraOptions): Promise<Finding[]> {
  const { store, clock, inventory, manifests, signal } = options
  const known = new Set(
    manifests.flatMap((manifest) => {
      const keys = snapshotKeys(manifest.snapshot_id)
      return [keys.manifest, keys.views, ...objectsOf(manifest).map(({ key }) => key)]
    }),
  )
  const candidates = inventory.objects.filter(
    ({ key, modifiedAt }) =>
      !known.has(key) && knownKey(key)?.kind !== 'log' && modifiedAt < inventory.begunAt,
  )
  if (candidates.length === 0) return []
  // A sweeper removes manifests before what they refer to: when it is done, look again.
  await waitForSweeper(store, clock, signal === undefined ? {} : { signal })
  const findings: Finding[] = []
  for (const { key } of candidates) {
    if ((await store.head(key)) === null) continue
    const table = /^tables\/([^/]+)\//.exec(key)?.[1] ?? null
    // A sweep leaves alone what is named otherwise.
    const message =
      knownKey(key) === null
        ? 'nothing refers to it, and it is not named as Jobtide names files: remove it'
        : 'nothing refers to it; the sweep after a publish removes it'
    findings.push({ kind: 'extra', table, object: key, message })
  }
  return findings
}
