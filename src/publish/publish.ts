/**
 * One snapshot from a warehouse to a store: data files, then views and manifest, then the pointer, then the Delta logs of
 * the same files. Readers follow the pointer, so they see the whole new snapshot or the whole previous one, whatever fails
 * in between. What a failed publish left in the store is never looked at, and is garbage a day later.
 */

import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { incompatibilities, refuseIncompatible } from './columns.ts'
import { schemaString } from './delta/schema.ts'
import { syncDeltaLogs } from './delta/sync.ts'
import { PublishError } from './errors.ts'
import {
  UnusableFilesError,
  exportTable,
  type ExportedTable,
  type PreviousTable,
} from './export.ts'
import { FileCache } from './file-cache.ts'
import { readChecks, readLedger } from './ledger.ts'
import {
  POINTER_KEY,
  buildManifest,
  objectsOf,
  parsePointer,
  sameContent,
  type Manifest,
  type NotKept,
} from './manifest.ts'
import { withOwnKeys } from './own-keys.ts'
import type { ScratchFile } from './parquet.ts'
import { SPLIT_ABOVE_ROWS } from './partitions.ts'
import { readCurrent, type CurrentSnapshot } from './read-snapshot.ts'
import { isEmpty, isOfAnotherJournal, refuseLoss, type LossChoices } from './refuse-loss.ts'
import { withScratch } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'
import { movePointer, putManifest } from './write-snapshot.ts'

/** What a publish needs. */
export interface PublishOptions extends LossChoices {
  readonly warehouse: Warehouse
  /** What goes into the snapshot, in this order. */
  readonly tables: readonly TableDefinition[]
  readonly store: ObjectStore
  /** A folder of the publisher's own inside the data folder: emptied before, removed after. */
  readonly scratchFolder: string
  /** Where copies of published files are kept when the store is no folder: what the next publish compares with. */
  readonly cacheFolder: string
  readonly clock: Clock
  /** ULID of the new snapshot; never used before. */
  readonly snapshotId: string
  /** The run that publishes; null for a publish by itself. */
  readonly runId: string | null
  /** The journal that the warehouse is made from, a ULID. */
  readonly journalId: string
  /** What was erased on purpose: fewer rows are no loss then. */
  readonly notKept: NotKept
  /** Version of Jobtide. */
  readonly version: string
  readonly logger: Logger
  readonly onProgress?: (step: PublishStep) => void
  /** Called once readers see a new snapshot, before anything else can fail. */
  readonly onPublished?: (report: PublishReport & { readonly snapshotId: string }) => Promise<void>
  /** Writes every partition as one whole file, whatever changed. Default: false. */
  readonly compact?: boolean
  /** Tables with more rows are split by year. Default: {@link SPLIT_ABOVE_ROWS}. */
  readonly splitAboveRows?: number
  /** Lets tables and columns go, and types change. Default: false, then such a snapshot is refused. */
  readonly acceptSchemaChange?: boolean
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
  /** The snapshot that readers now see: the one before where nothing changed; null where they see none. */
  readonly snapshotId: string | null
  /** True when nothing was published, because nothing was read yet: there is no row, and no organisation is covered. */
  readonly nothingRead: boolean
  /** True when the store already showed exactly this: then there is no new snapshot. */
  readonly unchanged: boolean
  readonly tables: number
  readonly files: number
  /** Files that the snapshot before did not have. */
  readonly newFiles: number
  readonly rows: number
  readonly bytes: number
  /** Bytes of the new files. */
  readonly newBytes: number
  readonly destination: string
}

/**
 * Publishes the tables as one snapshot. The warehouse may be open for reading only; it must not be in a transaction.
 * @throws PublishError when the store refuses, a table cannot be published, readers could be hurt by a change of columns, or
 *   another publisher was first
 * @throws RefusedLossError when the destination shows the rows of another journal, or more than this warehouse holds
 * @throws JobtideError with exit code 6 when the last build failed a check
 * @throws StorageError when the scratch folder refuses
 */
export async function publishSnapshot(options: PublishOptions): Promise<PublishReport> {
  return withScratch(options.scratchFolder, () => publishFromScratch(options))
}

async function publishFromScratch(options: PublishOptions): Promise<PublishReport> {
  const { store, cacheFolder, signal } = options
  const cache = new FileCache(store, cacheFolder, signal)
  const current = await readCurrent(store)
  const { files, newFiles, missing, manifest } = await exportSnapshot(options, current, cache)
  const before = current?.manifest ?? null
  if (isEmpty(manifest) && (before === null || isOfAnotherJournal(before, manifest))) {
    return nothingToShow(store, before)
  }
  if (before !== null) refuseToReplace(before, manifest, options)
  const unchanged = current !== null && sameContent(current.manifest, manifest)
  // Also where nothing changed: a file that was lost was written again.
  await putFiles(options, files, missing, cache)
  const shown = unchanged ? current.manifest : manifest
  const report = {
    snapshotId: shown.snapshot_id,
    nothingRead: false,
    unchanged,
    tables: shown.tables.length,
    files: objectsOf(shown).length,
    newFiles: unchanged ? 0 : newFiles.length,
    rows: sum(shown.tables.map(({ rows }) => rows)),
    bytes: sum(shown.tables.map(({ bytes }) => bytes)),
    newBytes: unchanged ? 0 : manifest.new_bytes,
    destination: store.destination,
  }
  if (!unchanged) {
    await putSnapshot(options, manifest, current)
    await options.onPublished?.(report)
  }
  // Also of a snapshot that was there before: its publisher may have been killed before this.
  await syncDeltaLogs({ ...options, manifest: shown })
  cache.keepOnly(objectsOf(shown).map(({ key }) => key))
  return report
}

// An empty snapshot would tell readers that nothing ever happened.
function nothingToShow({ destination }: ObjectStore, before: Manifest | null): PublishReport {
  const nothing = { tables: 0, files: 0, newFiles: 0, rows: 0, bytes: 0, newBytes: 0 }
  const snapshotId = before?.snapshot_id ?? null
  return { snapshotId, unchanged: true, nothingRead: true, ...nothing, destination }
}

function refuseToReplace(before: Manifest, now: Manifest, options: PublishOptions): void {
  const { destination } = options.store
  refuseLoss(before, now, destination, options)
  if (options.acceptSchemaChange === true) return
  refuseIncompatible(incompatibilities(before.tables, now.tables), destination)
}

type StoredSize = Parameters<PreviousTable['isThere']>[0]

interface ExportedSnapshot {
  readonly manifest: Manifest
  /** Files that were written. */
  readonly files: readonly ScratchFile[]
  /** Keys of those of them that are not in the store as part of the snapshot before. */
  readonly missing: ReadonlySet<string>
  /** Those of them that the snapshot before did not have. */
  readonly newFiles: readonly ScratchFile[]
}

async function exportSnapshot(
  options: PublishOptions,
  current: CurrentSnapshot | null,
  cache: FileCache,
): Promise<ExportedSnapshot> {
  const { warehouse, store, logger } = options
  const sizes = new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
  const isThere = ({ key, bytes }: StoredSize) => sizes.get(key) === bytes
  const unusable = new Set<string>()
  for (;;) {
    const previous = (name: string): PreviousTable | undefined => {
      const table = current?.manifest.tables.find((one) => one.name === name)
      if (table === undefined || current === null) return undefined
      return {
        table: unusable.has(name) ? { ...table, files: [] } : table,
        engine: current.manifest.versions.duckdb,
        isThere,
        localPath: (key) => cache.pathOf(key),
      }
    }
    try {
      // One transaction: all tables, the coverage and the credits are those of one moment.
      return await warehouse.transaction(() => exportTables(options, current, previous, isThere))
    } catch (error) {
      if (!(error instanceof UnusableFilesError) || unusable.has(error.table)) throw error
      unusable.add(error.table)
      logger.warn({ table: error.table, why: error.message }, 'publish.table_rewritten')
    }
  }
}

async function exportTables(
  options: PublishOptions,
  current: CurrentSnapshot | null,
  previous: (table: string) => PreviousTable | undefined,
  isThere: (file: StoredSize) => boolean,
): Promise<ExportedSnapshot> {
  const { warehouse, tables, scratchFolder: folder, runId, clock } = options
  const { compact = false, splitAboveRows = SPLIT_ABOVE_ROWS } = options
  const checks = await readChecks(warehouse)
  const { coverage, credits, duckdb } = await readLedger(warehouse, runId)
  const exported: ExportedTable[] = []
  for (const table of tables) {
    options.signal?.throwIfAborted()
    const before = previous(table.name)
    const of = { warehouse, folder, engine: duckdb, compact, splitAboveRows, previous: before }
    exported.push(withOwnKeys(await exportTable(table, of), before?.table, options.snapshotId))
    const done = exported.length
    options.onProgress?.({ phase: 'export', done, total: tables.length, name: table.name })
  }
  // A column that a Delta table cannot hold is refused now, and not when readers have the snapshot already.
  for (const { table } of exported) schemaString(table)
  const before = current?.manifest
  const now = exported.map(({ table }) => table)
  const known = new Set(before === undefined ? [] : objectsOf(before).map(({ key }) => key))
  const files = exported.flatMap((table) => table.files)
  const newFiles = files.filter(({ key }) => !known.has(key))
  // What the snapshot before does not name is never taken over: garbage collection may be about to delete it.
  const missing = files.filter((file) => !known.has(file.key) || !isThere(file))
  const manifest = buildManifest({
    snapshot_id: options.snapshotId,
    sequence: (before?.sequence ?? 0) + 1,
    previous:
      current === null
        ? null
        : {
            snapshot_id: current.pointer.snapshot_id,
            manifest_sha256: current.pointer.manifest_sha256,
          },
    created_at: isoInstant(clock.now()),
    run_id: runId,
    journal_id: options.journalId,
    not_kept: options.notKept,
    versions: { jobtide: options.version, duckdb },
    tables: now,
    new_bytes: sum(newFiles.map(({ bytes }) => bytes)),
    coverage,
    checks,
    credits,
  })
  return { files, newFiles, missing: new Set(missing.map(({ key }) => key)), manifest }
}

/** Uploads the missing files, and moves all of them out of the scratch folder. */
async function putFiles(
  { store, signal, logger, onProgress }: PublishOptions,
  files: readonly ScratchFile[],
  missing: ReadonlySet<string>,
  cache: FileCache,
): Promise<void> {
  for (const [index, { key, path, rows, bytes }] of files.entries()) {
    signal?.throwIfAborted()
    if (missing.has(key)) {
      await store.putFile(key, path, signal)
      logger.debug({ key, rows, bytes }, 'publish.file_written')
    }
    cache.take(key, path)
    onProgress?.({ phase: 'upload', done: index + 1, total: files.length, name: key })
  }
}

async function putSnapshot(
  { store, signal, logger }: PublishOptions,
  manifest: Manifest,
  current: CurrentSnapshot | null,
): Promise<void> {
  const pointer = await putManifest(store, manifest)
  signal?.throwIfAborted()
  if (!(await movePointer(store, pointer, current))) throw await lostTo(store, current)
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
