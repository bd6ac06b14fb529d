/**
 * Drops snapshots with everything that could tell what was in them: data files that no other snapshot needs, the history
 * of the Delta logs, old versions of objects. The caller publishes a snapshot without the data first.
 */

import { forgetLogHistory, type SyncOptions } from './delta/sync.ts'
import { knownKey } from './keys.ts'
import { objectsOf, snapshotKeys } from './manifest.ts'
import { listSnapshots, readCurrent } from './read-snapshot.ts'

/** What was removed, and what is left to read. */
export interface DroppedObjects {
  /** The snapshot that readers see; null where there is none. */
  readonly current: string | null
  /** Objects removed. */
  readonly objects: number
  /** Old versions of objects, and uploads that were never completed, removed for good. */
  readonly versions: number
}

/**
 * Drops snapshots. No other process may publish there. Stopped at any point, it can be called again.
 * @param ids of snapshots; not of the one that readers see
 * @throws PublishError when the store refuses
 */
export async function dropSnapshots(
  options: Omit<SyncOptions, 'manifest'>,
  ids: readonly string[],
): Promise<DroppedObjects> {
  const { store, signal } = options
  let objects = 0
  const remove = async (keys: readonly string[]) => {
    signal?.throwIfAborted()
    await store.remove(keys)
    objects += keys.length
  }
  const present = new Set((await store.list('snapshots/')).map(({ key }) => key))
  const dropped = ids.map(snapshotKeys).flatMap(({ manifest, views }) => [manifest, views])
  await remove(dropped.filter((key) => present.has(key)))
  const current = await readCurrent(store)
  const left = (await listSnapshots(store)).flatMap(objectsOf)
  const needed = new Set(left.map(({ key }) => key))
  const published = new Set(current?.manifest.tables.map(({ name }) => name))
  const tables = await store.list('tables/')
  await remove(
    tables
      .map(({ key }) => key)
      .filter((key) => {
        const known = knownKey(key)
        return (
          (known?.kind === 'file' && !needed.has(key)) ||
          (known?.kind === 'log' && !published.has(known.table))
        )
      }),
  )
  if (current !== null) await forgetLogHistory({ ...options, manifest: current.manifest, remove })
  const versions = await store.purge({
    versions: true,
    uploadsBegunBefore: Number.POSITIVE_INFINITY,
  })
  return { current: current?.manifest.snapshot_id ?? null, objects, versions }
}
