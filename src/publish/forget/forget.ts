/**
 * Takes people out of everything that was published to one store: out of every snapshot that is kept, the Delta logs, and
 * what a store keeps of objects that were removed.
 *
 * No object is changed. Snapshots that name somebody are written anew under new ids, each at its place in the chain; a
 * further snapshot with the same rows follows the last one, so that the pointer moves forward and the Delta logs with it;
 * then the old snapshots, their files and the old log files go. First a publisher's work under an intent, then a sweeper's
 * under the lease. Stopped at any point, it can be called again.
 */

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { forgetLogHistory } from '../delta/sync.ts'
import { PublishError } from '../errors.ts'
import {
  Rewriting,
  findingsIn,
  search,
  type ForgetOptions,
  type Replaced,
  type SearchOptions,
  type StoreFindings,
} from './forget-snapshots.ts'
import { INTENT_PREFIX, intentKey, withIntent } from '../sweep/intent.ts'
import { snapshotKeys, type Manifest } from '../manifest.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { listSnapshots, readCurrent } from '../read-snapshot.ts'
import { LEASE_KEY, withSweepLease } from '../sweep/sweep-lease.ts'
import { isOldIntent } from '../sweep/sweep-plan.ts'
import { sweepStore } from '../sweep/sweep.ts'

/** What was done in a store. */
export interface StoreForgetReport extends StoreFindings {
  /** Ids of snapshots that were written anew. */
  readonly replaced: readonly Replaced[]
  /** Keys of files that named somebody, and are gone. */
  readonly removedFiles: readonly string[]
  /** Keys of files that were written. */
  readonly writtenFiles: readonly string[]
  /** The snapshot that readers see now; null where nothing is published. */
  readonly current: string | null
  /** Objects that were removed, those files among them. */
  readonly removedObjects: number
  /** Old versions of objects, and uploads, that were removed for good. */
  readonly purged: number
}

/** Looks for people in a store; changes nothing. @throws PublishError when the store refuses, or a file is missing */
export async function findInStore(options: SearchOptions): Promise<StoreFindings> {
  return withScratch(options.scratchFolder, async () => {
    const manifests = await listSnapshots(options.store)
    return findingsIn(manifests, await search(options, manifests))
  })
}

/**
 * Forgets people in a store.
 * @throws PublishError when the store refuses, a file is missing, or somebody else is at work there: what was done until
 *   then stays done, and the next call goes on
 */
export async function forgetInStore(options: ForgetOptions): Promise<StoreForgetReport> {
  return withScratch(options.scratchFolder, async () => {
    await endEarlier(options)
    const rewriting = await withIntent(options, (intent) => new Rewriting(options).run(intent))
    const removed = await removeOld(options, rewriting.old)
    const { store, clock } = options
    const current = await readCurrent(store)
    if (current !== null) {
      const manifest = current.manifest
      removed.push(...(await forgetLogHistory({ ...options, manifest })))
    }
    const purged = await store.purge('', clock.now())
    return {
      ...rewriting.findings,
      replaced: rewriting.replaced,
      removedFiles: rewriting.holders,
      writtenFiles: rewriting.written,
      current: current?.pointer.snapshot_id ?? null,
      removedObjects: removed.length,
      purged,
    }
  })
}

/** Takes back what calls hold that were stopped: their intents, and the lease. */
async function endEarlier({ store, earlier = [] }: ForgetOptions): Promise<void> {
  if (earlier.length === 0) return
  await store.remove(earlier.map(intentKey))
  const lease = await store.get(LEASE_KEY)
  if (lease === null) return
  const text = Buffer.from(lease.bytes).toString()
  const owner = earlier.find((id) => text.includes(JSON.stringify(id)))
  if (owner === undefined) return
  const over = { owner, expires_at: null, token: randomUUID() }
  await store.replace(LEASE_KEY, Buffer.from(`${JSON.stringify(over)}\n`), lease.version)
}

async function withScratch<T>(folder: string, work: () => Promise<T>): Promise<T> {
  rmSync(folder, { recursive: true, force: true })
  try {
    return await work()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Removes snapshots whose place was taken, then every object that no snapshot refers to: their files, and what killed
 * publishers left, which may name anybody.
 */
async function removeOld(options: ForgetOptions, old: readonly Manifest[]): Promise<string[]> {
  const { store, clock } = options
  const removed: string[] = []
  const lease = { ...options, owner: options.snapshotId }
  const leased = await withSweepLease(lease, async (held) => {
    const now = clock.now()
    const busy = (await store.list(INTENT_PREFIX)).find((intent) => !isOldIntent(intent, now))
    if (busy !== undefined) return `a publisher is at work: ${busy.key}`
    const keys = new Set(
      old.map(({ snapshot_id: id }) => snapshotKeys(id)).flatMap((of) => [of.manifest, of.views]),
    )
    const objects = (await store.list('snapshots/')).filter(({ key }) => keys.has(key))
    await held.remove(objects, (gone: readonly StoredObject[]) => {
      for (const { key } of gone) removed.push(key)
    })
    return null
  })
  const refused = 'refused' in leased ? leased.refused : leased.result
  if (refused !== null) throw stillThere(store, refused)
  const before = await dataKeys(store)
  const { reason } = await sweepStore({ ...lease, keep: null })
  if (reason !== null && reason !== 'nothing is published there') throw stillThere(store, reason)
  const after = new Set(await dataKeys(store))
  return [...removed, ...before.filter((key) => !after.has(key))]
}

async function dataKeys(store: ObjectStore): Promise<string[]> {
  const objects = [...(await store.list('snapshots/')), ...(await store.list('tables/'))]
  return objects.map(({ key }) => key)
}

function stillThere(store: ObjectStore, reason: string): PublishError {
  return new PublishError(`old files are still in ${store.destination}: ${reason}`, {
    hint: 'Readers no longer see them. Run `jobtide forget --yes` again: it goes on where it stopped.',
  })
}
