/**
 * Proves a published snapshot again, from nothing but what is in the store: pointer → manifest (hash) → every file (bytes,
 * SHA-256, rows) → the Delta logs, which must name the same files; and that nothing else lies about. Changes nothing.
 */

import { join } from 'node:path'
import { sum } from '../../support/numbers.ts'
import { PublishError } from '../errors.ts'
import { FileCache } from '../file-cache.ts'
import {
  POINTER_KEY,
  objectsOf,
  snapshotKeys,
  type Manifest,
  type ManifestTable,
} from '../manifest.ts'
import { withScratch, withScratchEngine } from '../scratch.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { placeOfViews, viewsSql } from '../views.ts'
import { verifyDeltaLog } from './verify-delta.ts'
import { findExtra, takeInventory } from './verify-extra.ts'
import { verifyChain, type SnapshotChain } from './verify-chain.ts'
import type { Finding, Report } from './verify-findings.ts'
import { unsafeNames, verifyManifest } from './verify-manifest.ts'
import { verifyTable } from './verify-table.ts'

/** What a verification needs. */
export interface VerifyOptions {
  readonly store: ObjectStore
  /** Null for the snapshot that the pointer names. */
  readonly snapshotId: string | null
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  readonly onProgress?: (step: VerifyStep) => void
  /** Stops between two files. */
  readonly signal?: AbortSignal
}

/** `done` of `total` data files are verified; the last one was `name`. */
export interface VerifyStep {
  readonly done: number
  readonly total: number
  readonly name: string
}

/** What a verification found. */
export interface VerifyReport {
  /** Null when no manifest could be read. */
  readonly snapshotId: string | null
  /** Null when it could not be read. */
  readonly manifest: Manifest | null
  /** Where `views.sql` reads the files, when the snapshot was copied here from there; else null. */
  readonly copiedFrom: string | null
  readonly tables: number
  /** Data files and deletion vectors. */
  readonly files: number
  readonly rows: number
  readonly bytes: number
  /** Everything that is wrong; none when the snapshot is proved. */
  readonly findings: readonly Finding[]
}

/**
 * Verifies one snapshot.
 * @throws PublishError when there is no such snapshot or it is swept away meanwhile, or the store refuses
 * @throws StorageError when the scratch folder refuses
 */
export async function verifySnapshot(options: VerifyOptions): Promise<VerifyReport> {
  return withScratch(options.scratchFolder, () => verify(options))
}

async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const { store, snapshotId } = options
  const findings: Finding[] = []
  const report = (finding: Finding) => findings.push(finding)
  const inventory = await takeInventory(store)
  const chain = await verifyChain(store, snapshotId, report)
  if (chain === null) return { ...NOTHING_READ, findings }
  const { manifest, all } = chain
  const { manifest: object } = snapshotKeys(chain.snapshotId)
  verifyManifest(manifest, object, report)
  const copiedFrom = await verifyViews(store, chain, report)
  await verifyTables(options, chain, report)
  // What a manifest that cannot be read names is not known.
  if (all !== null) {
    findings.push(...(await findExtra(store, inventory, all)))
  }
  // A snapshot that is no longer kept goes manifest first; what is missing of it then is no damage.
  if (findings.length > 0 && (await store.head(object)) === null) {
    throw new PublishError(
      `snapshot ${chain.snapshotId} was deleted by garbage collection while it was verified`,
      {
        hint: 'Verify the one that readers see now.',
      },
    )
  }
  return {
    snapshotId: chain.snapshotId,
    manifest,
    copiedFrom,
    tables: manifest.tables.length,
    files: objectsOf(manifest).length,
    rows: sum(manifest.tables.map(({ rows }) => rows)),
    bytes: sum(manifest.tables.map(({ bytes }) => bytes)),
    findings,
  }
}

const NOTHING_READ = {
  snapshotId: null,
  manifest: null,
  copiedFrom: null,
  tables: 0,
  files: 0,
  rows: 0,
  bytes: 0,
} as const

/** @returns where the views read the files, when the snapshot was copied here from there */
async function verifyViews(
  store: ObjectStore,
  { snapshotId, manifest }: SnapshotChain,
  report: Report,
): Promise<string | null> {
  const { views: object } = snapshotKeys(snapshotId)
  const stored = await store.get(object)
  if (stored === null) {
    report({ kind: 'missing', table: null, object, message: 'it is not there' })
    return null
  }
  if (manifest.tables.some(hasUnsafeNames)) return null
  const text = Buffer.from(stored.bytes).toString()
  if (text === viewsSql(manifest, (key) => store.urlOf(key))) return null
  // The address of each file stands in it, so it goes on naming those of the place where it was published.
  const copiedFrom = placeOfViews(text, manifest)
  if (copiedFrom === null) {
    const message = 'it is not the one that belongs to the manifest: it was changed'
    report({ kind: 'views', table: null, object, message })
  }
  return copiedFrom
}

function hasUnsafeNames(table: ManifestTable): boolean {
  return unsafeNames(table).length > 0
}

async function verifyTables(
  { store, scratchFolder, signal, onProgress }: VerifyOptions,
  { manifest, isCurrent, pointerVersion }: SnapshotChain,
  report: Report,
): Promise<void> {
  const ofLogs: Finding[] = []
  const total = sum(manifest.tables.map((table) => table.files.length))
  let done = 0
  const onFile = ({ key: name }: { readonly key: string }) => {
    done += 1
    onProgress?.({ done, total, name })
  }
  await withScratchEngine(scratchFolder, async (warehouse) => {
    const files = new FileCache(store, join(scratchFolder, 'files'), signal)
    const source = { store, warehouse, scratchFolder, ...(signal === undefined ? {} : { signal }) }
    const work = { warehouse, files, report, onFile, signal }
    for (const table of manifest.tables) {
      if (hasUnsafeNames(table)) continue
      const isVectorKnown = await verifyTable(work, table, manifest.versions)
      if (isCurrent && isVectorKnown)
        ofLogs.push(...(await verifyDeltaLog(source, manifest, table)))
    }
  })
  // A publisher that has moved the pointer since has moved the logs, too.
  const version = (await store.get(POINTER_KEY))?.version ?? null
  if (version === pointerVersion) ofLogs.forEach(report)
}
