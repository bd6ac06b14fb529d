/**
 * Proves a published snapshot again, from nothing but what is in the store: pointer and manifests, every byte and every row
 * of its files, what other engines are told in the Delta logs, and that nothing else lies about. Changes nothing.
 */

import { join } from 'node:path'
import type { Clock } from '../../support/clock.ts'
import { sum } from '../../support/numbers.ts'
import { PublishError } from '../errors.ts'
import { FileCache } from '../file-cache.ts'
import { POINTER_KEY, objectsOf, snapshotKeys, type Manifest } from '../manifest.ts'
import { withScratch, withScratchEngine } from '../scratch.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { placeOfViews, viewsSql } from '../views.ts'
import { verifyDeltaLog } from './verify-delta.ts'
import { findExtra, takeInventory } from './verify-extra.ts'
import type { Finding } from './verify-findings.ts'
import { hasPlainKeys, verifyManifest } from './verify-manifest.ts'
import { readSubject, type VerifySubject } from './verify-subject.ts'
import { verifyTable } from './verify-table.ts'

/** What a verification needs. */
export interface VerifyOptions {
  readonly store: ObjectStore
  /** Null for the snapshot that the pointer names. */
  readonly snapshotId: string | null
  /**
   * False asks only for what its rows come from, as a restore does: what is wrong with other snapshots, what lies about, and
   * Delta logs that are behind are left out. Default: true.
   */
  readonly isBesideIncluded?: boolean
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  readonly clock: Clock
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
  /** Objects with rows or deleted rows. */
  readonly files: number
  readonly rows: number
  readonly bytes: number
  /** Everything that is wrong; none when the snapshot is proved. */
  readonly findings: readonly Finding[]
}

/**
 * Verifies one snapshot.
 * @throws PublishError when there is no such snapshot or garbage collection deletes it meanwhile, or the store refuses
 * @throws StorageError when the scratch folder refuses
 */
export async function verifySnapshot(options: VerifyOptions): Promise<VerifyReport> {
  return withScratch(options.scratchFolder, () => verify(options))
}

async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const { store, snapshotId, isBesideIncluded = true } = options
  const findings: Finding[] = []
  const report = (finding: Finding) => findings.push(finding)
  const inventory = isBesideIncluded ? await takeInventory(store) : null
  const subject = await readSubject(store, snapshotId, report)
  if (subject === null) return { ...NOTHING_READ, findings }
  const { manifest, retained, areAllReadable } = subject
  const { manifest: object } = snapshotKeys(subject.snapshotId)
  if (!isBesideIncluded) {
    const own = new Set([object, ...(snapshotId === null ? [POINTER_KEY] : [])])
    findings.splice(0, findings.length, ...findings.filter((one) => own.has(one.object)))
  }
  verifyManifest(manifest, object, report)
  const views = await verifyViews(store, subject)
  findings.push(...views.findings, ...(await verifyTables(options, subject)))
  // What a manifest that cannot be read refers to is not known.
  if (inventory !== null && areAllReadable) {
    const manifests = [...retained.values()].map((one) => one.manifest)
    findings.push(...(await findExtra(store, inventory, manifests)))
  }
  if (findings.length > 0) await refuseCollected(store, subject.snapshotId)
  return {
    snapshotId: subject.snapshotId,
    manifest,
    copiedFrom: views.copiedFrom,
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

// A snapshot that is no longer kept goes manifest first; what is missing of it then is no damage.
async function refuseCollected(store: ObjectStore, id: string): Promise<void> {
  if ((await store.head(snapshotKeys(id).manifest)) !== null) return
  throw new PublishError(`snapshot ${id} was deleted by garbage collection while it was verified`, {
    hint: 'Verify the one that readers see now.',
  })
}

async function verifyViews(
  store: ObjectStore,
  { snapshotId, manifest }: VerifySubject,
): Promise<{ findings: Finding[]; copiedFrom: string | null }> {
  const { views: object } = snapshotKeys(snapshotId)
  const stored = await store.get(object)
  const wrong = (kind: 'missing' | 'views', message: string) => ({
    findings: [{ kind, table: null, object, message }],
    copiedFrom: null,
  })
  if (stored === null) return wrong('missing', 'it is not there')
  const right = { findings: [], copiedFrom: null }
  if (!manifest.tables.every(hasPlainKeys)) return right
  const text = Buffer.from(stored.bytes).toString()
  if (text === viewsSql(manifest, (key) => store.urlOf(key))) return right
  // The address of each file stands in it, so it goes on naming those of the place where it was published.
  const copiedFrom = placeOfViews(text, manifest)
  if (copiedFrom !== null) return { ...right, copiedFrom }
  return wrong('views', 'it is not the one that belongs to the manifest: it was changed')
}

async function verifyTables(
  { store, scratchFolder, signal, onProgress, isBesideIncluded: isNeeded = true }: VerifyOptions,
  { manifest, isCurrent, pointerVersion }: VerifySubject,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const ofLogs: Finding[] = []
  const total = sum(manifest.tables.map((table) => table.files.length))
  let done = 0
  await withScratchEngine(scratchFolder, async (warehouse) => {
    const files = new FileCache(store, join(scratchFolder, 'files'), signal)
    const report = (finding: Finding) => findings.push(finding)
    const onFile = ({ key }: { readonly key: string }) => {
      done += 1
      onProgress?.({ done, total, name: key })
    }
    for (const table of manifest.tables.filter(hasPlainKeys)) {
      const isListKnown = await verifyTable(
        { warehouse, files, report, onFile, signal },
        table,
        manifest.versions,
      )
      if (!isCurrent) continue
      const source = {
        store,
        warehouse,
        scratchFolder,
        ...(signal === undefined ? {} : { signal }),
      }
      const { sequence } = manifest
      await verifyDeltaLog(source, { table, sequence, isListKnown, isNeeded }, (finding) =>
        ofLogs.push(finding),
      )
    }
  })
  // A publisher that has moved the pointer since has moved the logs, too.
  const version = (await store.get(POINTER_KEY))?.version ?? null
  return version === pointerVersion ? [...findings, ...ofLogs] : findings
}
