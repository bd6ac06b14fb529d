/**
 * Reads the pointer and all manifests of a store, and holds each against the one that names its hash: the pointer names the
 * newest manifest, each manifest the one before.
 */

import { messageOf } from '../../support/errors.ts'
import { sha256Hex } from '../../support/hash.ts'
import { PublishError } from '../errors.ts'
import {
  POINTER_KEY,
  parseManifest,
  parsePointer,
  snapshotKeys,
  type Manifest,
  type Pointer,
} from '../manifest.ts'
import { snapshotIds } from '../read-snapshot.ts'
import type { ObjectStore, ObjectVersion } from '../store/object-store.ts'
import type { Report } from './verify-findings.ts'

/** The snapshot to verify, and the manifests beside it. */
export interface SnapshotChain {
  /** By which its manifest is stored; what the manifest says of itself may be wrong. */
  readonly snapshotId: string
  readonly manifest: Manifest
  /** Whether the pointer names it. */
  readonly isCurrent: boolean
  /** As the pointer was read; null without one. */
  readonly pointerVersion: ObjectVersion | null
  /** Every manifest of the store; null when one cannot be read, so that what it names is not known. */
  readonly all: readonly Manifest[] | null
}

/**
 * Reads and reports.
 * @param snapshotId null for the one that the pointer names
 * @returns null when there is no manifest to go on with; that is reported
 * @throws PublishError when there is no such snapshot
 */
export async function verifyChain(
  store: ObjectStore,
  snapshotId: string | null,
  report: Report,
): Promise<SnapshotChain | null> {
  const wrong = (kind: 'pointer' | 'manifest' | 'missing', object: string, message: string) =>
    report({ kind, table: null, object, message })
  // The pointer first: what it names was there before it did.
  const stored = await store.get(POINTER_KEY)
  const ids = await snapshotIds(store)
  if (stored === null && ids.length === 0) {
    throw new PublishError(`nothing was published to ${store.destination}`, {
      hint: `There is no ${POINTER_KEY} there. Check the address.`,
    })
  }
  let pointer: Pointer | null = null
  if (stored === null) {
    wrong('pointer', POINTER_KEY, 'it is not there, so readers find none of the snapshots')
  } else {
    try {
      pointer = parsePointer(stored.bytes, POINTER_KEY)
    } catch (error) {
      wrong('pointer', POINTER_KEY, messageOf(error))
    }
  }
  const id = snapshotId ?? pointer?.snapshot_id
  if (id === undefined) return null
  if (!ids.includes(id) && id !== pointer?.snapshot_id) {
    throw new PublishError(`there is no snapshot ${id} in ${store.destination}`, {
      hint: 'List what is there with `jobtide snapshots`.',
    })
  }
  const { manifests, areAllReadable } = await readManifests(store, ids, wrong)
  const expectHash = (of: string, sha256: string, who: string) => {
    const found = manifests.get(of)?.sha256
    if (found === undefined || found === sha256) return
    const message = `its SHA-256 is ${found}, and ${who} says ${sha256}: it was changed after it was published`
    wrong('manifest', snapshotKeys(of).manifest, message)
  }
  if (pointer !== null) {
    const { snapshot_id: current, manifest_key: key, manifest_sha256: sha256 } = pointer
    const { manifest: own } = snapshotKeys(current)
    if (key !== own) {
      wrong('pointer', POINTER_KEY, `it names the manifest ${key} for snapshot ${current}`)
    }
    if (!ids.includes(current)) {
      wrong('missing', own, `${POINTER_KEY} names it and it is not there`)
    }
    expectHash(current, sha256, POINTER_KEY)
  }
  for (const { manifest } of manifests.values()) {
    const { snapshot_id: own, sequence, previous } = manifest
    const before = previous === null ? undefined : manifests.get(previous.snapshot_id)?.manifest
    if (previous === null || before === undefined) continue
    expectHash(previous.snapshot_id, previous.manifest_sha256, `the snapshot after it, ${own},`)
    if (sequence === before.sequence + 1) continue
    const message = `it has number ${sequence}, and the snapshot before it ${before.sequence}`
    wrong('manifest', snapshotKeys(own).manifest, message)
  }
  const subject = manifests.get(id)?.manifest
  if (subject === undefined) return null
  return {
    snapshotId: id,
    manifest: subject,
    isCurrent: id === pointer?.snapshot_id,
    pointerVersion: stored?.version ?? null,
    all: areAllReadable ? [...manifests.values()].map(({ manifest }) => manifest) : null,
  }
}

async function readManifests(
  store: ObjectStore,
  ids: readonly string[],
  wrong: (kind: 'manifest', object: string, message: string) => void,
) {
  const manifests = new Map<string, { readonly manifest: Manifest; readonly sha256: string }>()
  let areAllReadable = true
  for (const id of ids) {
    const { manifest: key } = snapshotKeys(id)
    const object = await store.get(key)
    if (object === null) continue
    try {
      const manifest = parseManifest(object.bytes, null, key)
      manifests.set(id, { manifest, sha256: sha256Hex(object.bytes) })
      const { snapshot_id: said } = manifest
      if (said !== id) wrong('manifest', key, `it is that of snapshot ${said}`)
    } catch (error) {
      areAllReadable = false
      wrong('manifest', key, messageOf(error))
    }
  }
  return { manifests, areAllReadable }
}
