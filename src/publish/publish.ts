/**
 * One snapshot from a warehouse to a store: data files, then views and manifest, then the pointer, then the Delta logs of
 * the same files. Readers follow the pointer, so they see the whole new snapshot or the whole previous one, whatever fails
 * in between. What a failed publish left in the store is never looked at, and is garbage a day later.
 */

import { isoInstant, type Clock } from '../support/clock.ts'
import type { Logger } from '../support/logger.ts'
import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import { changesSince } from '../warehouse/changed-rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { incompatibilities, refuseIncompatible } from './columns.ts'
import { schemaString } from './delta/schema.ts'
import { syncDeltaLogs } from './delta/sync.ts'
import { PublishError } from './errors.ts'
import { UnusableFilesError, exportTable, type PreviousTable } from './export.ts'
import { FileCache } from './file-cache.ts'
import { keysOfSnapshot } from './keys.ts'
import { readChecks, readLedger } from './ledger.ts'
import {
  POINTER_KEY,
  buildManifest,
  formatJson,
  objectsOf,
  parsePointer,
  pointerTo,
  sameContent,
  snapshotKeys,
  totalsOf,
  type Manifest,
  type ManifestTable,
  type NotKept,
  type SnapshotTotals,
} from './manifest.ts'
import { WrongChangesError } from './known-rows.ts'
import type { ScratchFile } from './parquet.ts'
import { SPLIT_ABOVE_ROWS } from './partitions.ts'
import { readCurrent, type CurrentSnapshot } from './read-snapshot.ts'
import { isEmpty, isOfAnotherJournal, refuseLoss, type LossChoices } from './refuse-loss.ts'
import { withScratch, type Step } from './scratch.ts'
import type { ObjectStore } from './store/object-store.ts'
import { viewsSql } from './live-rows.ts'

export interface PublishChoices extends LossChoices {
  /** Writes every partition as one whole file, whatever changed. Default: false. */
  readonly compact?: boolean
  /** Lets tables and columns go, and types change. Default: false, then such a snapshot is refused. */
  readonly acceptSchemaChange?: boolean
}

export interface PublishOptions extends PublishChoices {
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
  /** The MACs of the suppression list and of those before it. */
  readonly lists: readonly string[]
  readonly version: string
  readonly logger: Logger
  readonly onProgress?: (step: PublishStep) => void
  /** Called once readers see a new snapshot, before anything else can fail. */
  readonly onPublished?: (report: PublishReport & { readonly snapshotId: string }) => Promise<void>
  /** Tables with more rows are split by year. Default: {@link SPLIT_ABOVE_ROWS}. */
  readonly splitAboveRows?: number
  /** Stops between two tables or files; readers keep the previous snapshot. */
  readonly signal?: AbortSignal
}

/** A finished step: a table written to scratch, or a file that is now in the store. */
export interface PublishStep extends Step {
  readonly phase: 'export' | 'upload'
}

export interface PublishReport extends SnapshotTotals {
  /** The snapshot that readers now see: the one before where nothing changed; null where they see none. */
  readonly snapshotId: string | null
  /** True when nothing was published, because nothing was read yet: there is no row, and no organisation is covered. */
  readonly nothingRead: boolean
  /** True when the store already showed exactly this: then there is no new snapshot. */
  readonly unchanged: boolean
  /** Files that the snapshot before did not have. */
  readonly newFiles: number
  readonly newBytes: number
  readonly destination: string
}

/**
 * Publishes the tables as one snapshot. The warehouse may be open for reading only; it must not be in a transaction.
 * @throws PublishError when the store refuses, a table cannot be published, readers could be hurt by a change of columns, or
 *   another publisher was first
 * @throws RefusedLossError when the destination shows the rows of another journal, or more than this warehouse holds
 * @throws JobtideError with exit code 6 when the last build failed a check
 */
export async function publishSnapshot(options: PublishOptions): Promise<PublishReport> {
  return withScratch(options.scratchFolder, () => publishFromScratch(options))
}

async function publishFromScratch(options: PublishOptions): Promise<PublishReport> {
  const { store, cacheFolder, signal } = options
  const { destination } = store
  const cache = new FileCache(store, cacheFolder, signal)
  const current = await readCurrent(store)
  const exported = await exportSnapshot(options, current, cache)
  const { manifest } = exported
  const before = current?.manifest ?? null
  if (isEmpty(manifest) && (before === null || isOfAnotherJournal(before, manifest))) {
    // An empty snapshot would tell readers that nothing ever happened.
    const nothing = { ...totalsOf({ tables: [] }), newFiles: 0, newBytes: 0, destination }
    return {
      snapshotId: before?.snapshot_id ?? null,
      unchanged: true,
      nothingRead: true,
      ...nothing,
    }
  }
  if (before !== null) {
    refuseLoss(before, manifest, destination, options)
    if (options.acceptSchemaChange !== true) {
      refuseIncompatible(incompatibilities(before.tables, manifest.tables), destination)
    }
  }
  const unchanged = before !== null && sameContent(before, manifest)
  // Also where nothing changed: a file that was lost was written again.
  await putFiles(options, exported, cache)
  const shown = unchanged ? before : manifest
  const report = {
    snapshotId: shown.snapshot_id,
    nothingRead: false,
    unchanged,
    ...totalsOf(shown),
    newFiles: unchanged ? 0 : exported.newFiles,
    newBytes: unchanged ? 0 : manifest.new_bytes,
    destination,
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

interface ExportedSnapshot {
  readonly manifest: Manifest
  readonly files: readonly ScratchFile[]
  /** Keys of those of them that are not in the store as part of the snapshot before. */
  readonly missing: ReadonlySet<string>
  readonly newFiles: number
}

/** Says what the snapshot before has of a table, where its files can be used. */
type Previous = (table: ManifestTable, isSameEngine: boolean) => PreviousTable

async function exportSnapshot(
  options: PublishOptions,
  current: CurrentSnapshot | null,
  cache: FileCache,
): Promise<ExportedSnapshot> {
  const { warehouse, store, logger } = options
  const sizes = new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
  const unusable = new Set<string>()
  const misjudged = new Set<string>()
  const previous: Previous = (table, isSameEngine) => ({
    table: unusable.has(table.name) ? { ...table, files: [] } : table,
    isSameEngine,
    isThere: ({ key, bytes }) => sizes.get(key) === bytes,
    localPath: (key) => cache.pathOf(key),
  })
  for (;;) {
    try {
      // One transaction: all tables, the coverage and the credits are those of one moment.
      return await warehouse.transaction(() =>
        exportTables(options, current, sizes, previous, misjudged),
      )
    } catch (error) {
      const isKnown = error instanceof UnusableFilesError || error instanceof WrongChangesError
      const seen = error instanceof WrongChangesError ? misjudged : unusable
      if (!isKnown || seen.has(error.table)) throw error
      seen.add(error.table)
      const what = seen === misjudged ? 'publish.table_compared' : 'publish.table_rewritten'
      logger.warn({ table: error.table, why: error.message }, what)
    }
  }
}

async function exportTables(
  options: PublishOptions,
  current: CurrentSnapshot | null,
  sizes: ReadonlyMap<string, number>,
  previous: Previous,
  misjudged: ReadonlySet<string>,
): Promise<ExportedSnapshot> {
  const { warehouse, scratchFolder: folder, runId, clock, snapshotId } = options
  const { compact = false, splitAboveRows = SPLIT_ABOVE_ROWS } = options
  const before = current?.manifest
  const checks = await readChecks(warehouse, current !== null)
  const { coverage, credits, duckdb } = await readLedger(warehouse, runId)
  const builtFrom = before?.checks?.build_id
  const changes = builtFrom === undefined ? null : await changesSince(warehouse, builtFrom)
  const tables: ManifestTable[] = []
  const files: ScratchFile[] = []
  for (const definition of options.tables) {
    options.signal?.throwIfAborted()
    const { name } = definition
    const known = before?.tables.find((table) => table.name === name)
    const exported = await exportTable(definition, {
      warehouse,
      folder,
      compact,
      splitAboveRows,
      changes: misjudged.has(name) ? null : changes,
      previous: known && previous(known, before?.versions.duckdb === duckdb),
      ownKey: keysOfSnapshot(known, snapshotId),
    })
    tables.push(exported.table)
    files.push(...exported.files)
    const { isRead, table } = exported
    options.logger.debug(
      { table: name, rows: table.rows, is_read: isRead },
      'publish.table_exported',
    )
    const total = options.tables.length
    options.onProgress?.({ phase: 'export', done: tables.length, total, name })
  }
  // A column that a Delta table cannot hold is refused now, and not when readers have the snapshot already.
  for (const table of tables) schemaString(table)
  const known = new Set(before === undefined ? [] : objectsOf(before).map(({ key }) => key))
  const newFiles = files.filter(({ key }) => !known.has(key))
  // What the snapshot before does not name is never taken over: garbage collection may be about to delete it.
  const missing = files.filter(({ key, bytes }) => !known.has(key) || sizes.get(key) !== bytes)
  const manifest = buildManifest({
    snapshot_id: snapshotId,
    sequence: (before?.sequence ?? 0) + 1,
    previous: current && {
      snapshot_id: current.pointer.snapshot_id,
      manifest_sha256: current.pointer.manifest_sha256,
    },
    created_at: isoInstant(clock.now()),
    destination: options.store.destination,
    run_id: runId,
    journal_id: options.journalId,
    not_kept: options.notKept,
    versions: { jobtide: options.version, duckdb },
    tables,
    new_bytes: sum(newFiles.map(({ bytes }) => bytes)),
    coverage,
    checks,
    credits,
  })
  const missingKeys = new Set(missing.map(({ key }) => key))
  return { files, newFiles: newFiles.length, missing: missingKeys, manifest }
}

/** Uploads the missing files, and moves all of them out of the scratch folder. */
async function putFiles(
  { store, signal, logger, onProgress }: PublishOptions,
  { files, missing }: ExportedSnapshot,
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

/** Stores views and manifest, and moves the pointer: readers see nothing of the snapshot before that. */
async function putSnapshot(
  { store, signal, logger }: PublishOptions,
  manifest: Manifest,
  current: CurrentSnapshot | null,
): Promise<void> {
  const { snapshot_id: id } = manifest
  const keys = snapshotKeys(id)
  const text = formatJson(manifest)
  await store.put(keys.views, Buffer.from(viewsSql(manifest)))
  await store.put(keys.manifest, Buffer.from(text))
  await proveStored(store, manifest, text, current)
  signal?.throwIfAborted()
  const pointer = Buffer.from(formatJson(pointerTo(id, text)))
  if (!(await store.replace(POINTER_KEY, pointer, current?.version ?? null))) {
    throw await lostTo(store, current)
  }
  logger.info({ snapshot: id, at: store.destination }, 'publish.pointer_moved')
}

/** An answer of a store is no proof, and something else may delete there. */
async function proveStored(
  store: ObjectStore,
  manifest: Manifest,
  text: string,
  current: CurrentSnapshot | null,
): Promise<void> {
  const sizes = new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
  const lost = objectsOf(manifest).find(({ key, bytes }) => sizes.get(key) !== bytes)
  const { manifest: manifestKey } = snapshotKeys(manifest.snapshot_id)
  const stored = lost === undefined ? await store.get(manifestKey) : null
  if (stored !== null && Buffer.from(stored.bytes).equals(Buffer.from(text))) return
  throw new PublishError(`${store.urlOf(lost?.key ?? manifestKey)} was written and is not there`, {
    hint: `Does something else delete there? Run publish again${current === null ? '' : '; readers keep the snapshot before'}.`,
  })
}

async function lostTo(store: ObjectStore, current: CurrentSnapshot | null): Promise<PublishError> {
  const url = store.urlOf(POINTER_KEY)
  const stored = await store.get(POINTER_KEY)
  const from = current?.pointer.snapshot_id ?? 'no snapshot'
  const to = stored === null ? 'no snapshot' : parsePointer(stored.bytes, url).snapshot_id
  const hint = 'Run publish again.'
  return new PublishError(`another publisher moved ${url} from ${from} to ${to}`, {
    hint,
    context: { from, to },
  })
}
