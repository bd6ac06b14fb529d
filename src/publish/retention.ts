/**
 * Deletes unneeded objects from a store: expired snapshots, objects older than a day that no kept manifest names, and
 * files of Delta logs that no version of the last 30 days needs. It needs no lock:
 * - A publisher reuses only files of the snapshot that the pointer named when it began, and writes others under new keys.
 * - Age is measured by the store's own clock, back from when the pointer last moved. A publisher that wrote an object
 *   before that and has not published it can no longer win the compare-and-swap of the pointer.
 */

import { isoInstant } from '../support/clock.ts'
import { ConfigError } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import { sum } from '../support/numbers.ts'
import { DAY } from '../support/units.ts'
import { CURRENT_FOLDER, updateCurrent, type CurrentOptions } from './current.ts'
import { expiredLogFiles, forgetLogHistory } from './delta.ts'
import { PublishError } from './errors.ts'
import {
  POINTER_KEY,
  knownKey,
  objectsOf,
  parseOutline,
  snapshotKeys,
  changedManifests,
  ofThisFormat,
  readCurrent,
  readManifests,
  snapshotIds,
  type StoredManifest,
} from './manifest.ts'
import { removeFolder, type ObjectStore, type StoredObject } from './store/object-store.ts'

export interface GcOptions {
  readonly store: ObjectStore
  /** Null: no snapshot expires. */
  readonly keep: Keep | null
  /** Unreferenced objects go when they are older than the pointer by more than this, in milliseconds. Default: a day. */
  readonly olderThanMs?: number
  readonly logger: Logger
  /** Stops between two requests; the next collection continues. */
  readonly signal?: AbortSignal
}

// As many as S3 deletes with one request.
const OBJECTS_AT_ONCE = 1_000

export type GcReport = Omit<Awaited<ReturnType<typeof collect>>, 'reason'> & {
  readonly reason: string | null
}

/**
 * @returns why nothing was deleted (null: it was), the ids of expired snapshots, oldest first, how many objects went
 * and their bytes, and how many uploads that began long ago and were never completed
 */
export async function collectGarbage(options: GcOptions): Promise<GcReport> {
  const { store, logger, olderThanMs = DAY } = options
  const inventory = await takeInventory(store)
  const report =
    typeof inventory === 'string'
      ? { reason: inventory, snapshots: [], objects: 0, bytes: 0, uploads: 0 }
      : await collect(options, inventory, inventory.pointerMovedAt - olderThanMs)
  const facts = { older_than_ms: olderThanMs, at: store.destination }
  logger.info({ ...report, snapshots: report.snapshots.length, ...facts }, 'gc.done')
  return report
}

type Inventory = Exclude<Awaited<ReturnType<typeof takeInventory>>, string>

/**
 * Deletes in steps, so that a snapshot with a manifest has its files whenever deletion stops. Unpublished snapshots go
 * first, because only the manifest of the snapshot that won shows that the other was not published.
 */
async function collect(
  { store, keep, signal }: GcOptions,
  { manifests, currentId, pointerMovedAt, objects }: Inventory,
  oldBefore: number,
) {
  const isOld = ({ modifiedAt }: StoredObject) => modifiedAt < oldBefore
  const never = neverPublished(manifests, currentId)
  const dated = manifests
    .filter(({ snapshot_id: id }) => !never.has(id))
    .map(({ snapshot_id: id, created_at: at }) => ({ id, createdAt: Date.parse(at) }))
  const expired = keep === null ? [] : expiredSnapshots(dated, keep, currentId)
  const manifestsOf = (ids: Iterable<string>) => {
    const keys = new Set([...ids].map((id) => snapshotKeys(id).manifest))
    return objects.filter(({ key }) => keys.has(key))
  }
  const steps = [manifestsOf(never).filter(isOld), manifestsOf(expired)]
  const gone = new Set(steps.flat().map(({ key }) => key))
  const kept = manifests.filter(({ snapshot_id: id }) => !gone.has(snapshotKeys(id).manifest))
  const named = new Set(kept.flatMap(objectsOf).map(({ key }) => key))
  for (const { snapshot_id: id } of kept) named.add(snapshotKeys(id).views)
  const logs = new Map<string, StoredObject[]>()
  const garbage = objects.filter((object) => {
    const known = knownKey(object.key)
    if (known?.kind === 'log') logs.set(known.table, [...(logs.get(known.table) ?? []), object])
    const isData = known?.kind === 'file' || known?.kind === 'views'
    return isData && !named.has(object.key) && isOld(object)
  })
  const ofLogs = [...logs.values()].flatMap((log) => expiredLogFiles(log, pointerMovedAt))
  steps.push([...garbage, ...ofLogs])
  for (const step of steps) {
    for (let from = 0; from < step.length; from += OBJECTS_AT_ONCE) {
      signal?.throwIfAborted()
      await store.remove(step.slice(from, from + OBJECTS_AT_ONCE).map(({ key }) => key))
    }
  }
  signal?.throwIfAborted()
  return {
    reason: null,
    snapshots: expired,
    objects: steps.flat().length,
    bytes: sum(steps.flat().map(({ bytes }) => bytes)),
    uploads: await store.purge({ uploadsBegunBefore: oldBefore }),
  }
}

/**
 * Lists a store, reads every manifest, and proves each by the hash in its successor. If one is damaged, its files would
 * look unreferenced, so it returns the reason to delete nothing.
 */
async function takeInventory(store: ObjectStore) {
  // The listings come before the pointer is read: anything newer than they are is ignored.
  const [moved] = await store.list(POINTER_KEY)
  const objects = [...(await store.list('snapshots/')), ...(await store.list('tables/'))]
  const current = await readCurrent(store)
  if (moved === undefined || current === null) return 'nothing is published there'
  const { pointer, manifest } = current
  const { snapshot_id: currentId } = manifest
  const wrong: string[] = []
  const ids = snapshotIds(objects).filter((id) => id !== currentId)
  const found = await readManifests<StoredManifest>(store, ids, parseOutline, (_, { message }) =>
    wrong.push(message),
  )
  // Another collection may have deleted one: then that one does the work.
  const lost = ids.filter((id) => !found.has(id)).map((id) => snapshotKeys(id).manifest)
  // The current one was proved when it was read.
  found.set(currentId, { manifest, sha256: pointer.manifest_sha256 })
  for (const [key, message] of changedManifests(found, null))
    wrong.push(`${store.urlOf(key)}: ${message}`)
  if (wrong.length === 0)
    wrong.push(...lost.map((key) => `${store.urlOf(key)} is listed but missing`))
  if (wrong.length > 0) return `${wrong[0]}; nothing is deleted until that is fixed`
  const manifests = [...found.values()].map((one) => one.manifest)
  return { manifests, currentId, pointerMovedAt: moved.modifiedAt, objects }
}

/**
 * Drops snapshots with everything that could reveal their content, however young. The caller publishes one without the
 * data first, and keeps other processes from publishing there. It can be repeated if it is stopped at any point.
 */
export async function dropSnapshots(
  options: Omit<CurrentOptions, 'manifest'>,
  ids: readonly string[],
): Promise<void> {
  const { store } = options
  const current = await readCurrent(store)
  const published = new Set(current?.manifest.tables.map(({ name }) => name))
  const objects = [...(await store.list('snapshots/')), ...(await store.list('tables/'))]
  const dropped = objects.filter(({ key }) => {
    const known = knownKey(key)
    if (known?.kind === 'manifest') {
      const { snapshotId: id } = known
      return ids.includes(id) && id !== current?.pointer.snapshot_id
    }
    // The Delta log of a table that is no longer published is not synchronised any more.
    return known?.kind === 'log' && !published.has(known.table)
  })
  await store.remove(dropped.map(({ key }) => key))
  if (current !== null) {
    const all = { keep: null, olderThanMs: Number.NEGATIVE_INFINITY }
    const { reason } = await collectGarbage({ ...options, ...all })
    if (reason !== null)
      throw new PublishError(`old files are still in ${store.destination}: ${reason}`)
    const manifest = ofThisFormat(current.manifest, store.destination)
    // Copies every file again, because an earlier version of an object may name people.
    const hasCurrent = (await store.list(CURRENT_FOLDER)).length > 0
    if (hasCurrent) await updateCurrent({ ...options, manifest }, true)
    await forgetLogHistory({ ...options, manifest })
  }
  // The inputs of Spark are made again when needed.
  for (const folder of ['inputs', 'core', 'work']) await removeFolder(store, folder)
  await store.purge({ versions: true, uploadsBegunBefore: Number.POSITIVE_INFINITY })
}

/** How many of the newest snapshots, and newest of each day, ISO week and month to keep: 0 to 100,000 by each rule. */
export type Keep = Readonly<Record<'last' | 'daily' | 'weekly' | 'monthly', number>>

const NONE: Keep = { last: 0, daily: 0, weekly: 0, monthly: 0 }
const MOST = 100_000
const RULE = /^\s*(last|daily|weekly|monthly)\s*=\s*(\d+)\s*$/

/** The retention rules, from a pipeline file, whose schema has checked them, or `--keep`: `30` or `last=7,daily=30`. */
export function parseKeep(
  value: number | string | { readonly [Rule in keyof Keep]?: number | undefined },
): Keep {
  if (typeof value === 'number') return { ...NONE, last: value }
  if (typeof value === 'object') {
    const { last = 0, daily = 0, weekly = 0, monthly = 0 } = value
    return { last, daily, weekly, monthly }
  }
  const refuse = (what: string) => {
    throw new ConfigError(`which snapshots to keep: ${what}`, {
      hint: 'Say how many, such as 30, or by rule: last=7,daily=30,weekly=12,monthly=24.',
    })
  }
  const rules = new Map<string, number>()
  for (const part of /^\s*\d+\s*$/.test(value) ? [`last=${value}`] : value.split(',')) {
    const [, name = '', digits] = RULE.exec(part) ?? []
    if (name === '' || rules.has(name) || Number(digits) > MOST) {
      const each = `${Object.keys(NONE).join(', ')}, each once, with a number up to ${MOST}`
      refuse(`expected ${each}, got ${JSON.stringify(part)}`)
    }
    rules.set(name, Number(digits))
  }
  if (sum([...rules.values()]) === 0) refuse('at least 1 snapshot must be kept')
  return { ...NONE, ...Object.fromEntries(rules) }
}

/**
 * The ids that no rule keeps, oldest first; never `currentId`, which counts as the newest whatever the clocks of publishers say.
 * Days without a snapshot do not count, so a publisher that stood still loses nothing.
 */
export function expiredSnapshots(
  snapshots: readonly { readonly id: string; readonly createdAt: number }[],
  keep: Keep,
  currentId: string,
): string[] {
  const newestFirst = snapshots.toSorted(
    (a, b) =>
      Number(b.id === currentId) - Number(a.id === currentId) ||
      b.createdAt - a.createdAt ||
      (a.id < b.id ? 1 : -1),
  )
  const newestOfEach = (periods: number, periodOf: (epochMs: number) => string | number) => {
    const newest = new Map<string | number, string>()
    for (const { id, createdAt } of newestFirst) {
      const period = periodOf(createdAt)
      if (!newest.has(period)) newest.set(period, id)
    }
    return [...newest.values()].slice(0, periods)
  }
  const dayOf = (epochMs: number) => Math.floor(epochMs / DAY)
  const kept = new Set([
    currentId,
    ...newestFirst.slice(0, keep.last).map(({ id }) => id),
    ...newestOfEach(keep.daily, dayOf),
    // 1970-01-01 was a Thursday, three days after a Monday.
    ...newestOfEach(keep.weekly, (epochMs) => Math.floor((dayOf(epochMs) + 3) / 7)),
    ...newestOfEach(keep.monthly, (epochMs) => isoInstant(epochMs).slice(0, 7)),
  ])
  return newestFirst.flatMap(({ id }) => (kept.has(id) ? [] : [id])).toReversed()
}

/**
 * Finds whole snapshots that the pointer never named: their publisher was killed, or another one won. They follow one of the
 * current chain, and no other follows them. Anything less certain counts as published, such as after `latest.json` was set back.
 */
export function neverPublished(
  manifests: readonly Pick<StoredManifest, 'snapshot_id' | 'previous'>[],
  currentId: string,
) {
  const previousOf = new Map(
    manifests.map((one) => [one.snapshot_id, one.previous?.snapshot_id ?? null]),
  )
  const chain = new Set<string>()
  for (let at: string | null = currentId; at !== null && !chain.has(at);) {
    chain.add(at)
    at = previousOf.get(at) ?? null
  }
  const followed = new Set(previousOf.values())
  const never = [...previousOf].flatMap(([id, previous]) =>
    !chain.has(id) && !followed.has(id) && chain.has(previous ?? '') ? id : [],
  )
  return new Set(never)
}
