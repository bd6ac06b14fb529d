/**
 * Proves a published snapshot again, from nothing but what is in the store: pointer → manifest (hash) → every file (bytes,
 * SHA-256, rows) → the Delta logs, which must name the same files; and that nothing else lies about. Changes nothing.
 */

import { join } from 'node:path'
import { DAY } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { FileCache } from '../file-cache.ts'
import { knownKey } from '../keys.ts'
import {
  POINTER_KEY,
  objectsOf,
  snapshotKeys,
  totalsOf,
  type Manifest,
  type SnapshotTotals,
} from '../manifest.ts'
import { engineVersion } from '../partitions.ts'
import { withScratchEngine, type Step } from '../scratch.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { viewsSql } from '../live-rows.ts'
import { verifyChain, type SnapshotChain } from './verify-chain.ts'
import { verifyDeltaLog } from './verify-delta.ts'
import type { Finding, Report } from './verify-findings.ts'
import { contradictions } from './verify-manifest.ts'
import { verifyTable } from './verify-table.ts'

export interface VerifyOptions {
  readonly store: ObjectStore
  /** Null for the snapshot that the pointer names. */
  readonly snapshotId: string | null
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  /** How many keys of a table are compared at once, 1 or more. Default: 5,000,000. */
  readonly keysAtOnce?: number
  readonly onProgress?: (step: Step) => void
  readonly signal?: AbortSignal
}

export interface VerifyReport extends SnapshotTotals {
  /** Null when no manifest could be read. */
  readonly snapshotId: string | null
  readonly destination: string
  readonly manifest: Manifest | null
  /** Where `views.sql` reads the files, when the snapshot was copied here from there; else null. */
  readonly copiedFrom: string | null
  readonly findings: readonly Finding[]
}

/**
 * Verifies one snapshot.
 * @throws PublishError when there is no such snapshot or it is swept away meanwhile, or the store refuses
 */
export async function verifySnapshot(options: VerifyOptions): Promise<VerifyReport> {
  const { store } = options
  const { destination } = store
  const findings: Finding[] = []
  const report: Report = (kind, object, message) => {
    const table = /^tables\/([^/]+)\//.exec(object)?.[1] ?? null
    findings.push({ kind, table, object, message })
  }
  // Before the manifests are read: then what it lists is in one of them, or is not published.
  const [pointer] = await store.list(POINTER_KEY)
  const objects = [...(await store.list('tables/')), ...(await store.list('snapshots/'))]
  const chain = await verifyChain(store, options.snapshotId, report)
  if (chain === null) {
    const nothing = totalsOf({ tables: [] })
    return { snapshotId: null, destination, manifest: null, copiedFrom: null, ...nothing, findings }
  }
  const { manifest, all } = chain
  const { snapshot_id: snapshotId, tables } = manifest
  const { manifest: object } = snapshotKeys(snapshotId)
  for (const message of contradictions(tables)) report('manifest', object, message)
  await verifyViews(store, manifest, report)
  await verifyTables(options, chain, report)
  // What a manifest that cannot be read names is not known.
  if (all !== null) {
    // Publishers at work may have written what is not older than this.
    const oldBefore = (pointer?.modifiedAt ?? Number.NEGATIVE_INFINITY) - DAY
    await findExtra(store, objects, all, oldBefore, report)
  }
  // A snapshot that is no longer kept goes manifest first; what is missing of it then is no damage.
  if (findings.length > 0 && (await store.head(object)) === null) {
    throw new PublishError(
      `snapshot ${snapshotId} was deleted by garbage collection while it was verified`,
      { hint: 'Verify the one that readers see now.' },
    )
  }
  return {
    snapshotId,
    destination,
    manifest,
    copiedFrom: manifest.destination === destination ? null : manifest.destination,
    ...totalsOf(manifest),
    findings,
  }
}

async function verifyViews(store: ObjectStore, manifest: Manifest, report: Report): Promise<void> {
  const { views: object } = snapshotKeys(manifest.snapshot_id)
  const stored = await store.get(object)
  if (stored === null) report('missing', object, 'it is not there')
  else if (Buffer.from(stored.bytes).toString() !== viewsSql(manifest)) {
    report('views', object, 'it is not the one that belongs to the manifest: it was changed')
  }
}

// 30 million ran out of the memory that an engine gets that reads files alone, 1.5 GiB.
const KEYS_AT_ONCE = 5_000_000

async function verifyTables(
  { store, scratchFolder, keysAtOnce = KEYS_AT_ONCE, signal, onProgress }: VerifyOptions,
  { manifest, isCurrent, pointerVersion }: SnapshotChain,
  report: Report,
): Promise<void> {
  const ofLogs: Parameters<Report>[] = []
  const total = objectsOf(manifest).length
  let done = 0
  const onObject = ({ key: name }: { readonly key: string }) => {
    done += 1
    onProgress?.({ done, total, name })
  }
  await withScratchEngine(scratchFolder, async (warehouse) => {
    const files = new FileCache(store, join(scratchFolder, 'files'), signal)
    const work = { warehouse, files, report, onObject, keysAtOnce, signal }
    const source = { store, warehouse, scratchFolder, ...(signal === undefined ? {} : { signal }) }
    const isSameEngine = (await engineVersion(warehouse)) === manifest.versions.duckdb
    for (const table of manifest.tables) {
      const isWhole = await verifyTable(work, table, isSameEngine)
      files.keepOnly([])
      if (!isCurrent || !isWhole) continue
      await verifyDeltaLog(source, manifest, table, (...finding) => ofLogs.push(finding))
    }
  })
  // A publisher that has moved the pointer since has moved the logs, too.
  const version = (await store.get(POINTER_KEY))?.version ?? null
  if (version !== pointerVersion) return
  for (const finding of ofLogs) report(...finding)
}

/** Finds the objects that no manifest names, but for those that a publisher at work may have written. */
async function findExtra(
  store: ObjectStore,
  objects: readonly StoredObject[],
  manifests: readonly Manifest[],
  oldBefore: number,
  report: Report,
): Promise<void> {
  const named = new Set(
    manifests.flatMap((manifest) => {
      const keys = snapshotKeys(manifest.snapshot_id)
      return [keys.manifest, keys.views, ...objectsOf(manifest).map(({ key }) => key)]
    }),
  )
  for (const { key, modifiedAt } of objects) {
    const known = knownKey(key)
    if (named.has(key) || known?.kind === 'log') continue
    if (known !== null && modifiedAt >= oldBefore) continue
    if ((await store.head(key)) === null) continue
    const message =
      known === null
        ? 'nothing refers to it, and it is not named as Jobtide names files: remove it'
        : 'nothing refers to it; garbage collection after a publish deletes it'
    report('extra', key, message)
  }
}
