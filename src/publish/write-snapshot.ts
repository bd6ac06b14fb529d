/** The last steps of every publish: a snapshot's views and manifest, then the pointer. */

import {
  POINTER_KEY,
  formatJson,
  pointerTo,
  snapshotKeys,
  type Manifest,
  type Pointer,
} from './manifest.ts'
import type { CurrentSnapshot } from './read-snapshot.ts'
import type { ObjectStore } from './store/object-store.ts'
import { viewsSql } from './views.ts'

/**
 * Stores views and manifest; what it names is in the store. Readers see nothing of it before the pointer moves.
 * @returns the pointer to it
 * @throws PublishError when the store refuses
 */
export async function putManifest(store: ObjectStore, manifest: Manifest): Promise<Pointer> {
  const keys = snapshotKeys(manifest.snapshot_id)
  const text = formatJson(manifest)
  await store.put(keys.views, Buffer.from(viewsSql(manifest, (key) => store.urlOf(key))))
  await store.put(keys.manifest, Buffer.from(text))
  return pointerTo(manifest.snapshot_id, text)
}

/**
 * Moves the pointer from the snapshot that was current when this publish began; null: from none.
 * @returns false when another publisher was first
 * @throws PublishError when the store refuses
 */
export async function movePointer(
  store: ObjectStore,
  pointer: Pointer,
  from: CurrentSnapshot | null,
): Promise<boolean> {
  const bytes = Buffer.from(formatJson(pointer))
  return store.replace(POINTER_KEY, bytes, from?.version ?? null)
}
