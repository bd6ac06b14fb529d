/** Snapshots of a store, read back: the one that the pointer names, one by its id, all of them. */

import { sha256Hex } from '../support/hash.ts'
import { PublishError } from './errors.ts'
import { knownKey } from './keys.ts'
import {
  POINTER_KEY,
  isOfThisFormat,
  parseManifest,
  parseOutline,
  parsePointer,
  snapshotKeys,
  type Manifest,
  type ManifestOutline,
  type Pointer,
  type StoredManifest,
} from './manifest.ts'
import type {
  ObjectStore,
  ObjectVersion,
  StoreOptions,
  StoredObject,
} from './store/object-store.ts'
import { openStore } from './store/open-store.ts'

export interface CurrentSnapshot {
  readonly pointer: Pointer
  readonly version: ObjectVersion
  /** Perhaps one of an older format. */
  readonly manifest: StoredManifest
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

/** The ids of the snapshots that have a manifest among these objects, oldest first. */
export function snapshotIds(objects: readonly StoredObject[]): string[] {
  const known = objects.map(({ key }) => knownKey(key))
  return known.flatMap((key) => (key?.kind === 'manifest' ? key.snapshotId : [])).toSorted()
}

type OnWrong = (key: string, why: PublishError) => void

interface Read<M> {
  readonly manifest: M
  /** Of its bytes. */
  readonly sha256: string
}

/**
 * The manifests of these snapshots that can be read, by id. What was listed may be gone: a collection deletes it.
 * @param onWrong takes what is wrong with another one: it is none, or that of another snapshot; by default it is thrown
 */
export function readManifests(
  store: ObjectStore,
  ids: readonly string[],
  onWrong?: OnWrong,
): Promise<Map<string, Read<StoredManifest>>> {
  return readEach(store, ids, (bytes, where) => parseManifest(bytes, null, where), onWrong)
}

/** The same in outline. */
export function readOutlines(
  store: ObjectStore,
  ids: readonly string[],
  onWrong?: OnWrong,
): Promise<Map<string, Read<ManifestOutline>>> {
  return readEach(store, ids, parseOutline, onWrong)
}

async function readEach<M extends { readonly snapshot_id: string }>(
  store: ObjectStore,
  ids: readonly string[],
  parse: (bytes: Uint8Array, where: string) => M,
  onWrong: OnWrong = (_, why) => {
    throw why
  },
) {
  const manifests = new Map<string, Read<M>>()
  for (const id of ids) {
    const { manifest: key } = snapshotKeys(id)
    const stored = await store.get(key)
    if (stored === null) continue
    const where = store.urlOf(key)
    try {
      const manifest = parse(stored.bytes, where)
      const { snapshot_id: said } = manifest
      if (said !== id) throw new PublishError(`${where} is the manifest of ${said}`)
      manifests.set(id, { manifest, sha256: sha256Hex(stored.bytes) })
    } catch (error) {
      if (!(error instanceof PublishError)) throw error
      onWrong(key, error)
    }
  }
  return manifests
}

/** Every snapshot in a store, oldest first. @throws PublishError when a manifest is not Jobtide's */
export async function listSnapshots(store: ObjectStore): Promise<StoredManifest[]> {
  const ids = snapshotIds(await store.list('snapshots/'))
  const found = await readManifests(store, ids)
  return [...found.values()].map(({ manifest }) => manifest)
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
    const found = (await readManifests(store, [id])).get(id)
    if (found === undefined) throw noSnapshot(id, destination)
    return { store, manifest: ofThisFormat(found.manifest, destination) }
  }
  const current = await readCurrent(store)
  if (current === null) throw nothingPublished(destination)
  return { store, manifest: ofThisFormat(current.manifest, destination) }
}

/** Of a snapshot whose rows are read. @throws PublishError for one of an older format */
export function ofThisFormat(manifest: StoredManifest, destination: string): Manifest {
  if (isOfThisFormat(manifest)) return manifest
  const { snapshot_id: id, format_version: format } = manifest
  throw new PublishError(`snapshot ${id} in ${destination} has the older format ${format}`, {
    hint: 'Publish first: `jobtide publish` puts a whole new snapshot in its place. An older one is read by Jobtide 0.12.',
  })
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
