/**
 * Reads the pointer and all manifests of a store, and holds each against the one that names its hash: the pointer names the
 * newest manifest, each manifest the one before.
 */

import { messageOf } from '../../support/errors.ts'
import {
  POINTER_KEY,
  parsePointer,
  snapshotKeys,
  type Manifest,
  type Pointer,
} from '../manifest.ts'
import { noSnapshot, nothingPublished, readManifests, snapshotIds } from '../read-snapshot.ts'
import type { ObjectStore, ObjectVersion } from '../store/object-store.ts'
import type { Report } from './verify-findings.ts'

export interface SnapshotChain {
  readonly manifest: Manifest
  readonly isCurrent: boolean
  readonly pointerVersion: ObjectVersion | null
  /** Every manifest of the store; null when one cannot be read, so that what it names is not known. */
  readonly all: readonly Manifest[] | null
}

/**
 * Reads and reports.
 * @returns null when there is no manifest to go on with; that is reported
 * @throws PublishError when there is no such snapshot
 */
export async function verifyChain(
  store: ObjectStore,
  snapshotId: string | null,
  report: Report,
): Promise<SnapshotChain | null> {
  // The pointer first: what it names was there before it did.
  const stored = await store.get(POINTER_KEY)
  const ids = snapshotIds(await store.list('snapshots/'))
  if (stored === null && ids.length === 0) throw nothingPublished(store.destination)
  if (stored === null) {
    report('pointer', POINTER_KEY, 'it is not there, so readers find none of the snapshots')
  }
  const pointer = stored === null ? null : readPointer(stored.bytes, report)
  const id = snapshotId ?? pointer?.snapshot_id
  if (id === undefined) return null
  if (!ids.includes(id) && id !== pointer?.snapshot_id) throw noSnapshot(id, store.destination)
  const found = await readManifests(store, ids, (key, { message }) =>
    report('manifest', key, message),
  )
  if (pointer !== null && !ids.includes(pointer.snapshot_id)) {
    report('missing', pointer.manifest_key, `${POINTER_KEY} names it and it is not there`)
  }
  const hashes = [...found.values()].map(({ manifest }) => ({
    of: manifest.previous?.snapshot_id,
    sha256: manifest.previous?.manifest_sha256,
    who: `the snapshot after it, ${manifest.snapshot_id},`,
  }))
  hashes.push({ of: pointer?.snapshot_id, sha256: pointer?.manifest_sha256, who: POINTER_KEY })
  for (const { of = '', sha256, who } of hashes) {
    const own = found.get(of)?.sha256
    if (own === undefined || own === sha256) continue
    const message = `its SHA-256 is ${own}, and ${who} says ${sha256}: it was changed after it was published`
    report('manifest', snapshotKeys(of).manifest, message)
  }
  for (const { manifest } of found.values()) {
    const before = found.get(manifest.previous?.snapshot_id ?? '')?.manifest.sequence
    if (before === undefined || manifest.sequence === before + 1) continue
    const message = `it has number ${manifest.sequence}, and the snapshot before it ${before}`
    report('manifest', snapshotKeys(manifest.snapshot_id).manifest, message)
  }
  const subject = found.get(id)?.manifest
  if (subject === undefined) return null
  return {
    manifest: subject,
    isCurrent: id === pointer?.snapshot_id,
    pointerVersion: stored?.version ?? null,
    all: found.size < ids.length ? null : [...found.values()].map(({ manifest }) => manifest),
  }
}

function readPointer(bytes: Uint8Array, report: Report): Pointer | null {
  try {
    return parsePointer(bytes, POINTER_KEY)
  } catch (error) {
    report('pointer', POINTER_KEY, messageOf(error))
    return null
  }
}
