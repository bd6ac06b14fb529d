/**
 * Drops snapshots with everything that could tell what was in them: data files that no other snapshot needs, the history
 * of the Delta logs, old versions of objects. The caller publishes a snapshot without the data first.
 */

import { rewriteCurrent, type CurrentOptions } from './current.ts'
import { forgetLogHistory, type SyncOptions } from './delta/sync.ts'
import { PublishError } from './errors.ts'
import { collectGarbage } from './gc/gc.ts'
import { knownKey } from './keys.ts'
import { ofThisFormat, readCurrent } from './read-snapshot.ts'
import { removeFolder } from './store/prefixed-store.ts'

/**
 * Drops snapshots, and what only they name, however young. No other process may publish there. Stopped at any point, it can be called again.
 */
export async function dropSnapshots(
  options: Omit<SyncOptions, 'manifest'> & CurrentOptions,
  ids: readonly string[],
): Promise<void> {
  const { store } = options
  const current = await readCurrent(store)
  const published = new Set(current?.manifest.tables.map(({ name }) => name))
  const objects = [...(await store.list('snapshots/')), ...(await store.list('tables/'))]
  const dropped = objects.filter(({ key }) => {
    const known = knownKey(key)
    if (known?.kind === 'manifest') {
      const { snapshotId: id } = known
      return ids.includes(id) && id !== current?.pointer.snapshot_id
    }
    // The Delta log of a table that is no longer published is not synchronised any more.
    return known?.kind === 'log' && !published.has(known.table)
  })
  await store.remove(dropped.map(({ key }) => key))
  if (current !== null) {
    const all = { keep: null, olderThanMs: Number.NEGATIVE_INFINITY }
    const { reason } = await collectGarbage({ ...options, ...all })
    if (reason !== null)
      throw new PublishError(`old files are still in ${store.destination}: ${reason}`)
    const manifest = ofThisFormat(current.manifest, store.destination)
    await rewriteCurrent(options, manifest)
    await forgetLogHistory({ ...options, manifest })
  }
  // What Spark builds from can be made again, and is.
  for (const folder of ['inputs', 'core', 'work']) await removeFolder(store, folder)
  await store.purge({ versions: true, uploadsBegunBefore: Number.POSITIVE_INFINITY })
}
