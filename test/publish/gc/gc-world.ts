/** Snapshots made by hand, and a store in memory that a test can inspect and change. */

import {
  fileKey,
  keysOfSnapshot,
  POINTER_KEY,
  formatJson,
  objectsOf,
  pointerTo,
  snapshotKeys,
  type Manifest,
} from '../../../src/publish/manifest.ts'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { isoInstant } from '../../../src/support/clock.ts'
import { sha256Hex } from '../../../src/support/hash.ts'
import { aFile, aManifest, aTable } from '../manifests.ts'

/** 2026-11-20 02:15 UTC. */
export const START = Date.UTC(2026, 10, 20, 2, 15)

/** A store in memory whose objects a test can inspect and change. */
export interface MemoryStore extends ObjectStore {
  readonly objects: Map<string, { bytes: Uint8Array; modifiedAt: number; version: string }>
}

/** An empty store. @param now its clock, milliseconds since 1970 UTC */
export function memoryStore(now: () => number): MemoryStore {
  const objects: MemoryStore['objects'] = new Map()
  let versions = 0
  const write = (key: string, bytes: Uint8Array) => {
    versions += 1
    objects.set(key, { bytes, modifiedAt: now(), version: String(versions) })
  }
  const never = () => Promise.reject(new Error('these tests have no files'))
  return {
    objects,
    destination: 'memory',
    urlOf: (key) => `memory/${key}`,
    localPath: () => null,
    putFile: never,
    copy: never,
    download: never,
    head: never,
    put: async (key, bytes) => write(key, bytes),
    get: async (key) => objects.get(key) ?? null,
    list: async (prefix) =>
      [...objects]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, { bytes, modifiedAt }]) => ({ key, bytes: bytes.length, modifiedAt }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    async replace(key, bytes, expected) {
      if ((objects.get(key)?.version ?? null) !== expected) return false
      write(key, bytes)
      return true
    },
    async remove(keys) {
      for (const key of keys) objects.delete(key)
    },
    purge: async () => 0,
  }
}

/** The id of snapshot `n` of a test: ids sort by `n`. */
export function idOf(n: number): string {
  return `01JD${String(n).padStart(22, '0')}`
}

/**
 * A manifest of one table with a file for each of `contents`; those of `after` keep their keys, others get new ones.
 */
export function manifestOf(facts: {
  id: string
  createdAt: number
  contents: readonly string[]
  after?: Manifest | null
}): Manifest {
  const { id, createdAt, contents, after = null } = facts
  const partition = 'changed_year=2024'
  const ownKey = keysOfSnapshot(after?.tables[0], id)
  const files = contents.map((content) => {
    const sha256 = sha256Hex(Buffer.from(content))
    const key = ownKey(fileKey('joiners', partition, sha256))
    return aFile({ key, partition, bytes: content.length, sha256 })
  })
  const pointer = after && pointerTo(after.snapshot_id, formatJson(after))
  return aManifest({
    snapshot_id: id,
    sequence: (after?.sequence ?? 0) + 1,
    previous: pointer && {
      snapshot_id: pointer.snapshot_id,
      manifest_sha256: pointer.manifest_sha256,
    },
    created_at: isoInstant(createdAt),
    tables: [aTable({ name: 'joiners', files })],
  })
}

/**
 * Stores the files of a snapshot that `after` does not have, then its views and manifest, without moving the pointer.
 */
export async function putSnapshot(
  store: ObjectStore,
  manifest: Manifest,
  after: Manifest | null = null,
): Promise<void> {
  const keys = snapshotKeys(manifest.snapshot_id)
  const known = new Set(after === null ? [] : objectsOf(after).map(({ key }) => key))
  for (const { key, bytes } of objectsOf(manifest)) {
    if (!known.has(key)) await store.put(key, Buffer.alloc(bytes, 'x'))
  }
  await store.put(keys.views, Buffer.from(`-- ${manifest.snapshot_id}\n`))
  await store.put(keys.manifest, Buffer.from(formatJson(manifest)))
}

/** The bytes of the pointer to a snapshot. */
export function pointerBytes(manifest: Manifest): Uint8Array {
  return Buffer.from(formatJson(pointerTo(manifest.snapshot_id, formatJson(manifest))))
}

/** Publishes a snapshot in place of `after`. */
export async function publishManifest(
  store: ObjectStore,
  manifest: Manifest,
  after: Manifest | null = null,
): Promise<void> {
  await putSnapshot(store, manifest, after)
  const version = (await store.get(POINTER_KEY))?.version ?? null
  if (!(await store.replace(POINTER_KEY, pointerBytes(manifest), version))) throw new Error('lost')
}

/** Missing objects of snapshots: of every snapshot of `ids` with a manifest, and of the current one. */
export function missingObjects(store: MemoryStore, ids: ReadonlySet<string>): string[] {
  const json = (key: string): unknown => {
    const stored = store.objects.get(key)
    return stored === undefined ? null : JSON.parse(Buffer.from(stored.bytes).toString())
  }
  const current = (json(POINTER_KEY) as { snapshot_id: string } | null)?.snapshot_id
  return [...new Set([...ids, ...(current === undefined ? [] : [current])])].flatMap((id) => {
    const key = snapshotKeys(id).manifest
    const manifest = json(key) as Manifest | null
    if (manifest === null) return id === current ? [key] : []
    return objectsOf(manifest)
      .map((object) => object.key)
      .filter((needed) => !store.objects.has(needed))
  })
}
