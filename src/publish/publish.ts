/**
 * One snapshot from a warehouse to a store: data files, then views and manifest, then the pointer. Readers follow the
 * pointer, so they see the whole new snapshot or the whole previous one, whatever fails in between; what a failed
 * publish left in the store is used by the next one or is never looked at.
 */

import { mkdirSync, rmSync } from 'node:fs'
import type { Clock } from '../support/clock.ts'
import { asStorageError } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { PublishError } from './errors.ts'
import { readLedger } from './ledger.ts'
import {
  POINTER_KEY,
  buildManifest,
  fieldIdsOf,
  formatJson,
  parseManifest,
  parsePointer,
  pointerTo,
  sameContent,
  snapshotKeys,
  sum,
  type Manifest,
  type Pointer,
} from './manifest.ts'
import type { ObjectStore, ObjectVersion } from './object-store.ts'
import { exportTable, type ExportedFile, type ExportedTable } from './parquet.ts'
import { viewsSql } from './views.ts'

/** What a publish needs. */
export interface PublishOptions {
  readonly warehouse: Warehouse
  /** What goes into the snapshot, in this order. */
  readonly tables: readonly TableDefinition[]
  readonly store: ObjectStore
  /** A folder of the publisher's own inside the data folder: emptied before, removed after. */
  readonly scratchFolder: string
  readonly clock: Clock
  /** ULID of the new snapshot; never used before. */
  readonly snapshotId: string
  /** The run that publishes; null for a publish by itself. */
  readonly runId: string | null
  /** Version of Jobtide. */
  readonly version: string
  readonly logger: Logger
  readonly onProgress?: (step: PublishStep) => void
  /** Stops between two tables or files; readers keep the previous snapshot. */
  readonly signal?: AbortSignal
}

/** A finished step: a table written to scratch, or a file that is now in the store. */
export interface PublishStep {
  readonly phase: 'export' | 'upload'
  readonly done: number
  readonly total: number
  /** Name of the table, or key of the file. */
  readonly name: string
}

/** What a publish did. */
export interface PublishReport {
  /** The snapshot that readers now see: the one before where nothing changed. */
  readonly snapshotId: string
  /** True when the store already showed exactly this: then there is no new snapshot. */
  readonly unchanged: boolean
  readonly tables: number
  readonly files: number
  /** Files that were not in the store. */
  readonly newFiles: number
  readonly rows: number
  readonly bytes: number
  readonly newBytes: number
  readonly destination: string
}

/**
 * Publishes the tables as one snapshot. The warehouse may be open for reading only; it must not be in a transaction.
 * @throws PublishError when the store refuses, a table cannot be published, or another publisher was first
 * @throws StorageError when the scratch folder refuses
 */
export async function publishSnapshot(options: PublishOptions): Promise<PublishReport> {
  const { store, scratchFolder } = options
  try {
    prepare(scratchFolder)
    const current = await readCurrent(store)
    const snapshot = await exportSnapshot(options, current?.manifest)
    const { files, manifest } = snapshot
    const added = await putFiles(options, files)
    const unchanged = current !== null && sameContent(current.manifest, manifest)
    if (!unchanged) await putSnapshot(options, manifest, current)
    return {
      snapshotId: unchanged ? current.pointer.snapshot_id : manifest.snapshot_id,
      unchanged,
      tables: manifest.tables.length,
      files: files.length,
      newFiles: added.length,
      rows: sum(files.map((file) => file.rows)),
      bytes: sum(files.map((file) => file.bytes)),
      newBytes: sum(added.map((file) => file.bytes)),
      destination: store.destination,
    }
  } finally {
    rmSync(scratchFolder, { recursive: true, force: true })
  }
}

function prepare(scratchFolder: string): void {
  try {
    rmSync(scratchFolder, { recursive: true, force: true })
    mkdirSync(scratchFolder, { recursive: true })
  } catch (error) {
    throw asStorageError(error, scratchFolder)
  }
}

/** The snapshot that readers see now. */
export interface CurrentSnapshot {
  readonly pointer: Pointer
  readonly version: ObjectVersion
  readonly manifest: Manifest
}

/**
 * Reads the snapshot that `latest.json` points to; null when nothing was published yet.
 * @throws PublishError when pointer or manifest is missing, changed or not Jobtide's
 */
export async function readCurrent(store: ObjectStore): Promise<CurrentSnapshot | null> {
  const stored = await store.get(POINTER_KEY)
  if (stored === null) return null
  const pointer = parsePointer(stored.bytes, store.urlOf(POINTER_KEY))
  const manifest = await store.get(pointer.manifest_key)
  const where = store.urlOf(pointer.manifest_key)
  if (manifest === null) {
    throw new PublishError(`${POINTER_KEY} points to ${where}, which is not there`, {
      hint: `Restore it, or remove ${POINTER_KEY} there to begin anew with a whole snapshot.`,
    })
  }
  return {
    pointer,
    version: stored.version,
    manifest: parseManifest(manifest.bytes, pointer.manifest_sha256, where),
  }
}

// One transaction: all tables, the coverage and the credits are those of one moment.
async function exportSnapshot(
  options: PublishOptions,
  previous: Manifest | undefined,
): Promise<{ files: ExportedFile[]; manifest: Manifest }> {
  const { warehouse, tables, scratchFolder, snapshotId, runId, version, clock } = options
  return warehouse.transaction(async () => {
    const exported: ExportedTable[] = []
    for (const table of tables) {
      options.signal?.throwIfAborted()
      const fieldIds = fieldIdsOf(previous, table.name)
      exported.push(await exportTable(warehouse, table, scratchFolder, fieldIds))
      const done = exported.length
      options.onProgress?.({ phase: 'export', done, total: tables.length, name: table.name })
    }
    const { coverage, credits, duckdb } = await readLedger(warehouse, runId)
    return {
      files: exported.flatMap((table) => table.files),
      manifest: buildManifest({
        snapshotId,
        createdAt: clock.now(),
        runId,
        versions: { jobtide: version, duckdb },
        tables: exported,
        coverage,
        credits,
      }),
    }
  })
}

/** Brings the files into the store; returns those that were not there. */
async function putFiles(
  { store, signal, logger, onProgress }: PublishOptions,
  files: readonly ExportedFile[],
): Promise<ExportedFile[]> {
  const added: ExportedFile[] = []
  for (const [index, file] of files.entries()) {
    signal?.throwIfAborted()
    const outcome = await store.putFile(file.key, file.path, signal)
    if (outcome === 'written') {
      added.push(file)
      logger.debug({ key: file.key, rows: file.rows, bytes: file.bytes }, 'publish.file_written')
    }
    rmSync(file.path, { force: true })
    onProgress?.({ phase: 'upload', done: index + 1, total: files.length, name: file.key })
  }
  return added
}

async function putSnapshot(
  { store, signal, logger }: PublishOptions,
  manifest: Manifest,
  current: CurrentSnapshot | null,
): Promise<void> {
  const keys = snapshotKeys(manifest.snapshot_id)
  const manifestText = formatJson(manifest)
  const pointer = pointerTo(manifest.snapshot_id, manifestText)
  await store.put(keys.views, Buffer.from(viewsSql(manifest, (key) => store.urlOf(key))))
  await store.put(keys.manifest, Buffer.from(manifestText))
  signal?.throwIfAborted()
  const won = await store.replace(
    POINTER_KEY,
    Buffer.from(formatJson(pointer)),
    current?.version ?? null,
  )
  if (!won) throw await lostTo(store, current)
  logger.info({ snapshot: manifest.snapshot_id, at: store.destination }, 'publish.pointer_moved')
}

async function lostTo(store: ObjectStore, current: CurrentSnapshot | null): Promise<PublishError> {
  const stored = await store.get(POINTER_KEY)
  const from = current?.pointer.snapshot_id ?? 'no snapshot'
  const to =
    stored === null
      ? 'no snapshot'
      : parsePointer(stored.bytes, store.urlOf(POINTER_KEY)).snapshot_id
  return new PublishError(
    `another publisher moved ${store.urlOf(POINTER_KEY)} from ${from} to ${to}`,
    { hint: 'Run publish again.', context: { from, to } },
  )
}
