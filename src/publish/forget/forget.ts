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
import { SECOND } from '../../support/units.ts'
import { forgetLogHistory } from '../delta/sync.ts'
import { PublishError } from '../errors.ts'
import { snapshotKeys, type Manifest } from '../manifest.ts'
import { listSnapshots, readCurrent } from '../read-snapshot.ts'
import { withScratch } from '../scratch.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { INTENT_PREFIX, intentKey, publisherAtWork, withIntent } from '../sweep/intent.ts'
import { LEASE_KEY, withSweepLease, type SweepLease } from '../sweep/sweep-lease.ts'
import { sweepStore } from '../sweep/sweep.ts'
import {
  Rewriting,
  findingsIn,
  search,
  type ForgetOptions,
  type Replaced,
  type SearchOptions,
  type StoreFindings,
} from './forget-snapshots.ts'

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
    const old = await removeOld(options, rewriting.old)
    const history = await removeHistory(options)
    // The lease itself, once it is given back; what an old one said decides nothing.
    const purgedLeases = await options.store.purge(LEASE_KEY, 0)
    return {
      ...rewriting.findings,
      replaced: rewriting.replaced,
      removedFiles: rewriting.holders,
      writtenFiles: rewriting.written,
      current: history.current,
      removedObjects: old.length + history.removed.length,
      purged: history.purged + purgedLeases,
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

/**
 * Removes snapshots whose place was taken, then every object that no snapshot refers to: their files, and what killed
 * publishers left, which may name anybody.
 */
async function removeOld(options: ForgetOptions, old: readonly Manifest[]): Promise<string[]> {
  const { store, snapshotId } = options
  const removed: string[] = []
  await whileNobodyPublishes(options, async (lease) => {
    const keys = new Set(
      old.map(({ snapshot_id: id }) => snapshotKeys(id)).flatMap((of) => [of.manifest, of.views]),
    )
    const objects = (await store.list('snapshots/')).filter(({ key }) => keys.has(key))
    await lease.remove(objects, (gone) => {
      for (const { key } of gone) removed.push(key)
    })
  })
  const before = await dataKeys(store)
  const { reason } = await sweepStore({ ...options, owner: snapshotId, keep: null })
  if (reason !== null && reason !== 'nothing is published there') throw stillThere(store, reason)
  const after = new Set(await dataKeys(store))
  return [...removed, ...before.filter((key) => !after.has(key))]
}

/** What is gone of the past of a store. */
interface RemovedHistory {
  readonly current: string | null
  readonly removed: readonly string[]
  readonly purged: number
}

// Some stores tell the time in whole seconds. Nobody who is at work has begun an upload since the lease was taken.
const TIMES_DIFFER_MS = SECOND

/** Removes old versions of the Delta logs, then what the store keeps of objects that were removed, and begun uploads. */
async function removeHistory(options: ForgetOptions): Promise<RemovedHistory> {
  const { store } = options
  return whileNobodyPublishes(options, async (lease) => {
    const current = await readCurrent(store)
    const remove = (keys: readonly string[]) => lease.remove(keys.map((key) => ({ key })))
    const removed =
      current === null
        ? []
        : await forgetLogHistory({ ...options, manifest: current.manifest, remove })
    await lease.hold()
    const purged = await store.purge('', lease.takenAt + TIMES_DIFFER_MS)
    return { current: current?.pointer.snapshot_id ?? null, removed, purged }
  })
}

/** @throws PublishError when a publisher or sweeper is at work */
async function whileNobodyPublishes<T>(
  options: ForgetOptions,
  work: (lease: SweepLease) => Promise<T>,
): Promise<T> {
  const { store, snapshotId: owner } = options
  const leased = await withSweepLease({ ...options, owner }, async (lease) => {
    const busy = await publisherAtWork(store, await store.list(INTENT_PREFIX), lease)
    if (busy !== null) throw stillThere(store, busy)
    return work(lease)
  })
  if ('refused' in leased) throw stillThere(store, leased.refused)
  return leased.result
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
