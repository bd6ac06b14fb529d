/** Snapshots of a store, read back: the one that the pointer names, one by its id, all of them. */

import { PublishError } from './errors.ts'
import { knownKey } from './keys.ts'
import {
  POINTER_KEY,
  parseManifest,
  parsePointer,
  snapshotKeys,
  type Manifest,
  type Pointer,
} from './manifest.ts'
import type { ObjectStore, ObjectVersion, StoreOptions } from './store/object-store.ts'
import { openStore } from './store/open-store.ts'

export interface CurrentSnapshot {
  readonly pointer: Pointer
  readonly version: ObjectVersion
  readonly manifest: Manifest
}

/**
 * Reads the snapshot that `latest.json` points to; null when nothing was published yet.
 * @throws PublishError when pointer or manifest is missing, changed or not Jobtide's
 */
export async function readCurrent(store: ObjectStore): Promise<CurrentSnapshot | null> {
  const stored = await store.get(POINTER_KEY)
  if (stored === null) return null
  const pointer = parsePointer(stored.bytes, store.urlOf(POINTER_KEY))
  const manifest = await store.get(pointer.manifest_key)
  const where = store.urlOf(pointer.manifest_key)
  if (manifest === null) {
    throw new PublishError(`${POINTER_KEY} points to ${where}, which is not there`, {
      hint: `Restore it, or remove ${POINTER_KEY} there to begin again with a whole snapshot.`,
    })
  }
  return {
    pointer,
    version: stored.version,
    manifest: parseManifest(manifest.bytes, pointer.manifest_sha256, where),
  }
}

/** Reads one snapshot by its id; null when its manifest is not there. */
export async function readSnapshot(
  store: ObjectStore,
  snapshotId: string,
): Promise<Manifest | null> {
  const key = snapshotKeys(snapshotId).manifest
  const stored = await store.get(key)
  return stored === null ? null : parseManifest(stored.bytes, null, store.urlOf(key))
}

/** The ids of the snapshots in a store, oldest first; the last one may not be what the pointer names. */
export async function snapshotIds(store: ObjectStore): Promise<string[]> {
  const objects = await store.list('snapshots/')
  const known = objects.map(({ key }) => knownKey(key))
  return known.flatMap((key) => (key?.kind === 'manifest' ? key.snapshotId : [])).toSorted()
}

/** Every snapshot in a store, oldest first. @throws PublishError when a manifest is not Jobtide's */
export async function listSnapshots(store: ObjectStore): Promise<Manifest[]> {
  const manifests: Manifest[] = []
  for (const id of await snapshotIds(store)) {
    const manifest = await readSnapshot(store, id)
    if (manifest !== null) manifests.push(manifest)
  }
  return manifests
}

/** Takes `<destination>` or `<destination>/snapshots/<snapshot id>` apart; the id is null where readers' own is meant. */
export function splitSnapshotUrl(url: string): { destination: string; snapshotId: string | null } {
  const parts = /^(.+)\/snapshots\/([0-9A-Z]{26})\/?$/.exec(url) ?? []
  const [, destination = url, snapshotId = null] = parts
  return { destination, snapshotId }
}

export interface OpenSnapshot {
  readonly store: ObjectStore
  readonly manifest: Manifest
}

/**
 * Opens `<destination>` (the snapshot that readers see) or `<destination>/snapshots/<snapshot id>` (that one), where the
 * destination is a folder or `s3://bucket/prefix`.
 */
export async function openSnapshot(url: string, options: StoreOptions): Promise<OpenSnapshot> {
  const { destination, snapshotId: id } = splitSnapshotUrl(url)
  const store = await openStore(destination, options)
  if (id !== null) {
    const manifest = await readSnapshot(store, id)
    if (manifest === null) throw noSnapshot(id, destination)
    return { store, manifest }
  }
  const current = await readCurrent(store)
  if (current === null) throw nothingPublished(destination)
  return { store, manifest: current.manifest }
}

/** What a reader is told of an address without a pointer. */
export function nothingPublished(destination: string): PublishError {
  return new PublishError(`nothing was published to ${destination}`, {
    hint: `There is no ${POINTER_KEY} there. Check the address.`,
  })
}

/** What a reader is told of a snapshot that is not there. */
export function noSnapshot(id: string, destination: string): PublishError {
  return new PublishError(`there is no snapshot ${id} in ${destination}`, {
    hint: 'List what is there with `jobtide snapshots`.',
  })
}
