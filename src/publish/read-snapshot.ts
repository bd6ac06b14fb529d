/** Snapshots of a store, read back: the one that the pointer names, some by their ids, all of them. */

import { sha256Hex } from '../support/hash.ts'
import { PublishError } from './errors.ts'
import {
  POINTER_KEY,
  isOfThisFormat,
  knownKey,
  parseCurrent,
  parseManifest,
  parsePointer,
  snapshotKeys,
  type Manifest,
  type Pointer,
  type StoredManifest,
} from './manifest.ts'
import type { ObjectStore, ObjectVersion, StoredObject } from './store/object-store.ts'

export interface CurrentSnapshot {
  readonly pointer: Pointer
  readonly version: ObjectVersion
  /** Perhaps one of an older format. */
  readonly manifest: StoredManifest
}

/** Reads `latest.json` alone; null when nothing was published yet. @throws PublishError when it is not Jobtide's */
export async function readPointer(store: ObjectStore) {
  const stored = await store.get(POINTER_KEY)
  if (stored === null) return null
  return { pointer: parsePointer(stored.bytes, store.urlOf(POINTER_KEY)), version: stored.version }
}

/**
 * Reads the snapshot that `latest.json` points to; null when nothing was published yet.
 * @throws PublishError when pointer or manifest is missing, changed or not Jobtide's
 */
export async function readCurrent(store: ObjectStore): Promise<CurrentSnapshot | null> {
  const found = await readPointer(store)
  if (found === null) return null
  const { manifest_key: key, manifest_sha256: sha256 } = found.pointer
  const stored = await store.get(key)
  const where = store.urlOf(key)
  if (stored === null) {
    throw new PublishError(`${POINTER_KEY} points to ${where}, which is missing`, {
      hint: `Restore it, or remove ${POINTER_KEY} there to begin again with a whole snapshot.`,
    })
  }
  return { ...found, manifest: parseCurrent(stored.bytes, where, sha256) }
}

/** The ids of the snapshots that have a manifest among these objects, oldest first. */
export function snapshotIds(objects: readonly StoredObject[]): string[] {
  const known = objects.map(({ key }) => knownKey(key))
  return known.flatMap((key) => (key?.kind === 'manifest' ? key.snapshotId : [])).toSorted()
}

/**
 * The readable manifests of these snapshots, by id, with the SHA-256 of their bytes. Garbage collection may have deleted some.
 * @param parse reads it whole or in outline
 * @param onWrong takes the fault of a file that is not the manifest of its snapshot. Default: it is thrown
 */
export async function readManifests<M extends Pick<Manifest, 'snapshot_id' | 'previous'>>(
  store: ObjectStore,
  ids: readonly string[],
  parse: (bytes: Uint8Array, where: string) => M,
  onWrong?: (key: string, why: PublishError) => void,
) {
  const manifests = new Map<string, { readonly manifest: M; readonly sha256: string }>()
  for (const id of ids) {
    const { manifest: key } = snapshotKeys(id)
    const where = store.urlOf(key)
    const stored = await store.get(key)
    if (stored === null) continue
    try {
      const manifest = parse(stored.bytes, where)
      const { snapshot_id: said } = manifest
      if (said !== id) throw new PublishError(`${where} is the manifest of ${said}`)
      manifests.set(id, { manifest, sha256: sha256Hex(stored.bytes) })
    } catch (error) {
      if (!(error instanceof PublishError) || onWrong === undefined) throw error
      onWrong(key, error)
    }
  }
  return manifests
}

/** The manifests whose bytes are not those that the pointer, or the snapshot after them, names: by key, with the reason. */
export function changedManifests(
  found: Awaited<ReturnType<typeof readManifests>>,
  pointer: Pointer | null,
): [key: string, message: string][] {
  const links = [...found.values()].map(({ manifest: { previous, snapshot_id: after } }) => {
    return { ...previous, who: `the snapshot after it, ${after},` }
  })
  return [{ ...pointer, who: POINTER_KEY }, ...links].flatMap((link) => {
    const { snapshot_id: id = '', manifest_sha256: sha256, who } = link
    const own = found.get(id)?.sha256
    if (own === undefined || own === sha256) return []
    const message = `its SHA-256 is ${own}, but ${who} says ${sha256}: it was changed after it was published`
    return [[snapshotKeys(id).manifest, message]]
  })
}

/** Every snapshot in a store, oldest first. @throws PublishError when a manifest is not Jobtide's */
export async function listSnapshots(store: ObjectStore): Promise<StoredManifest[]> {
  const ids = snapshotIds(await store.list('snapshots/'))
  const found = await readManifests(store, ids, parseManifest)
  return [...found.values()].map(({ manifest }) => manifest)
}

/** Takes `<destination>` or `<destination>/snapshots/<snapshot id>` apart; without an id it is what readers see. */
export function splitSnapshotUrl(url: string): { destination: string; snapshotId: string | null } {
  const parts = /^(.+)\/snapshots\/([0-9A-Z]{26})\/?$/.exec(url) ?? []
  const [, destination = url, snapshotId = null] = parts
  return { destination, snapshotId }
}

/** Of a snapshot whose rows are read. @throws PublishError for one of an older format */
export function ofThisFormat(manifest: StoredManifest, destination: string): Manifest {
  if (isOfThisFormat(manifest)) return manifest
  const { snapshot_id: id, format_version: format } = manifest
  throw new PublishError(`snapshot ${id} in ${destination} has the older format ${format}`, {
    hint: 'Publish first: `jobtide publish` puts a whole new snapshot in its place. An older one is read by Jobtide 0.12.',
  })
}
