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
import { viewsSql } from '../views.ts'
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
 * @throws PublishError when there is no such snapshot or it is swept away meanwhile, or the store refuses
 * @throws StorageError when the scratch folder refuses
 */
export async function verifySnapshot(options: VerifyOptions): Promise<VerifyReport> {
  return withScratch(options.scratchFolder, () => verify(options))
}

async function verify(options: VerifyOptions): Promise<VerifyReport> {
  const { store, snapshotId, clock, signal } = options
  const findings: Finding[] = []
  const report = (finding: Finding) => findings.push(finding)
  const inventory = await takeInventory(store, clock)
  const subject = await readSubject(store, snapshotId, report)
  if (subject === null) {
    return { snapshotId: null, tables: 0, files: 0, rows: 0, bytes: 0, findings }
  }
  const { manifest, retained, areAllReadable } = subject
  verifyManifest(manifest, report)
  findings.push(...(await verifyViews(store, manifest)))
  findings.push(...(await verifyTables(options, subject)))
  // What a manifest that cannot be read refers to is not known.
  if (areAllReadable) {
    const manifests = [...retained.values()].map((one) => one.manifest)
    findings.push(...(await findExtra({ store, clock, inventory, manifests, signal })))
  }
  if (findings.length > 0) await refuseSwept(store, manifest)
  return {
    snapshotId: manifest.snapshot_id,
    tables: manifest.tables.length,
    files: objectsOf(manifest).length,
    rows: sum(manifest.tables.map(({ rows }) => rows)),
    bytes: sum(manifest.tables.map(({ bytes }) => bytes)),
    findings,
  }
}

// A snapshot that is no longer kept goes manifest first; what is missing of it then is no damage.
async function refuseSwept(store: ObjectStore, { snapshot_id: id }: Manifest): Promise<void> {
  if ((await store.head(snapshotKeys(id).manifest)) !== null) return
  throw new PublishError(`snapshot ${id} was swept away while it was verified`, {
    hint: 'Verify the one that readers see now.',
  })
}

async function verifyViews(store: ObjectStore, manifest: Manifest): Promise<Finding[]> {
  const { views: object } = snapshotKeys(manifest.snapshot_id)
  const stored = await store.get(object)
  const wrong = (kind: 'missing' | 'views', message: string): Finding[] => [
    { kind, table: null, object, message },
  ]
  if (stored === null) return wrong('missing', 'it is not there')
  if (!manifest.tables.every(hasPlainKeys)) return []
  const text = Buffer.from(stored.bytes).toString()
  if (isOfFirstFormat(manifest)) {
    const unnamed = objectsOf(manifest).find(({ key }) => !text.includes(store.urlOf(key)))
    return unnamed === undefined ? [] : wrong('views', `it does not name ${unnamed.key}`)
  }
  if (text === viewsSql(manifest, (key) => store.urlOf(key))) return []
  const message = `it is not the one that belongs to the manifest at ${store.destination}: it was changed, or the snapshot was copied here from elsewhere`
  return wrong('views', message)
}

// Jobtide 0.3 wrote other views over the same files, and no Delta logs.
function isOfFirstFormat({ tables }: Manifest): boolean {
  return tables.every(({ files }) => files.every(({ nulls }) => nulls === null))
}

async function verifyTables(
  { store, scratchFolder, signal, onProgress }: VerifyOptions,
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
      if (!isCurrent || isOfFirstFormat(manifest)) continue
      const source = {
        store,
        warehouse,
        scratchFolder,
        ...(signal === undefined ? {} : { signal }),
      }
      await verifyDeltaLog(source, table, manifest.sequence, isListKnown, (finding) =>
        ofLogs.push(finding),
      )
    }
  })
  // A publisher that has moved the pointer since has moved the logs, too.
  const version = (await store.get(POINTER_KEY))?.version ?? null
  return version === pointerVersion ? [...findings, ...ofLogs] : findings
}
