/**
 * What a verification starts from: pointer and manifests as they are stored, each held against whoever vouches for it. The
 * pointer vouches for the manifest it names, every manifest for the one before.
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
import type { ObjectStore, ObjectVersion } from '../store/object-store.ts'
import { snapshotIds } from '../read-snapshot.ts'
import type { Report } from './verify-findings.ts'

/** A manifest that can be read. */
export interface RetainedManifest {
  readonly manifest: Manifest
  readonly sha256: string
}

/** The snapshot to verify, and what is there beside it. */
export interface VerifySubject {
  /** As its manifest is stored; what the manifest says of itself may be wrong. */
  readonly snapshotId: string
  readonly manifest: Manifest
  /** Whether the pointer names it. */
  readonly isCurrent: boolean
  /** As it was read; null without a pointer. */
  readonly pointerVersion: ObjectVersion | null
  /** Every manifest in the store, by snapshot id. */
  readonly retained: ReadonlyMap<string, RetainedManifest>
  /** Whether each of them could be read: only then it is known what nothing refers to. */
  readonly areAllReadable: boolean
}

/**
 * Reads pointer and manifests and reports what is wrong with them.
 * @param snapshotId null for the one that the pointer names
 * @returns null when there is nothing to go on with; that is reported
 * @throws PublishError when there is no such snapshot
 */
export async function readSubject(
  store: ObjectStore,
  snapshotId: string | null,
  report: Report,
): Promise<VerifySubject | null> {
  // The pointer first: what it names was there before it did.
  const stored = await store.get(POINTER_KEY)
  const ids = await snapshotIds(store)
  const pointer = readPointer(stored?.bytes ?? null, store, ids.length > 0, report)
  const id = snapshotId ?? pointer?.snapshot_id
  if (id === undefined) return null
  if (!ids.includes(id) && id !== pointer?.snapshot_id) {
    throw new PublishError(`there is no snapshot ${id} in ${store.destination}`, {
      hint: 'List what is there with `jobtide snapshots`.',
    })
  }
  const { retained, unreadable } = await readManifests(store, ids, report)
  checkPointer(pointer, ids, retained, report)
  for (const one of retained.values()) checkPrevious(one.manifest, retained, report)
  const subject = retained.get(id)
  return subject === undefined
    ? null
    : {
        snapshotId: id,
        manifest: subject.manifest,
        isCurrent: id === pointer?.snapshot_id,
        pointerVersion: stored?.version ?? null,
        retained,
        areAllReadable: unreadable === 0,
      }
}

function readPointer(
  bytes: Uint8Array | null,
  store: ObjectStore,
  isNeeded: boolean,
  report: Report,
): Pointer | null {
  const wrong = (message: string) => {
    report({ kind: 'pointer', table: null, object: POINTER_KEY, message })
    return null
  }
  if (bytes === null) {
    if (isNeeded) return wrong('it is not there, so readers find none of the snapshots')
    throw new PublishError(`nothing was published to ${store.destination}`, {
      hint: `There is no ${POINTER_KEY} there. Check the address.`,
    })
  }
  try {
    return parsePointer(bytes, POINTER_KEY)
  } catch (error) {
    return wrong(messageOf(error))
  }
}

async function readManifests(
  store: ObjectStore,
  ids: readonly string[],
  report: Report,
): Promise<{ retained: Map<string, RetainedManifest>; unreadable: number }> {
  const retained = new Map<string, RetainedManifest>()
  let unreadable = 0
  for (const id of ids) {
    const { manifest: key } = snapshotKeys(id)
    const stored = await store.get(key)
    if (stored === null) continue
    const wrong = (message: string) =>
      report({ kind: 'manifest', table: null, object: key, message })
    try {
      const manifest = parseManifest(stored.bytes, null, key)
      retained.set(id, { manifest, sha256: sha256Hex(stored.bytes) })
      if (manifest.snapshot_id !== id) wrong(`it is that of snapshot ${manifest.snapshot_id}`)
    } catch (error) {
      unreadable += 1
      wrong(messageOf(error))
    }
  }
  return { retained, unreadable }
}

function checkPointer(
  pointer: Pointer | null,
  ids: readonly string[],
  retained: ReadonlyMap<string, RetainedManifest>,
  report: Report,
): void {
  if (pointer === null) return
  const { snapshot_id: id, manifest_key: key, manifest_sha256: sha256 } = pointer
  if (key !== snapshotKeys(id).manifest) {
    const message = `it names the manifest ${key} for snapshot ${id}`
    report({ kind: 'pointer', table: null, object: POINTER_KEY, message })
  }
  if (!ids.includes(id)) {
    const message = `${POINTER_KEY} names it and it is not there`
    report({ kind: 'missing', table: null, object: snapshotKeys(id).manifest, message })
    return
  }
  const found = retained.get(id)
  if (found === undefined || found.sha256 === sha256) return
  const message = `its SHA-256 is ${found.sha256}, and ${POINTER_KEY} says ${sha256}: it was changed after it was published`
  report({ kind: 'manifest', table: null, object: snapshotKeys(id).manifest, message })
}

function checkPrevious(
  { snapshot_id: id, sequence, previous }: Manifest,
  retained: ReadonlyMap<string, RetainedManifest>,
  report: Report,
): void {
  const before = previous === null ? undefined : retained.get(previous.snapshot_id)
  if (previous === null || before === undefined) return
  if (before.sha256 !== previous.manifest_sha256) {
    const message = `its SHA-256 is ${before.sha256}, and the snapshot after it, ${id}, says ${previous.manifest_sha256}: it was changed after it was published`
    const object = snapshotKeys(previous.snapshot_id).manifest
    report({ kind: 'manifest', table: null, object, message })
  }
  if (sequence === before.manifest.sequence + 1) return
  const message = `it has number ${sequence}, and the snapshot before it ${before.manifest.sequence}`
  report({ kind: 'manifest', table: null, object: snapshotKeys(id).manifest, message })
}
