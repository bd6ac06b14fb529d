/**
 * All tables of a snapshot in the scratch folder, of one moment of the warehouse, and the manifest that names them. Nothing of it
 * is in the store yet.
 */

import { isoInstant } from '../support/clock.ts'
import { sum } from '../support/numbers.ts'
import { changesSince } from '../warehouse/changed-rows.ts'
import { schemaString } from './delta/schema.ts'
import { exportTable } from './export.ts'
import type { FileCache } from './file-cache.ts'
import { UnusableFilesError, type PreviousTable } from './files-before.ts'
import { keysOfSnapshot } from './keys.ts'
import { WrongChangesError } from './known-rows.ts'
import { readChecks, readLedger } from './ledger.ts'
import { buildManifest, objectsOf, type Manifest, type ManifestTable } from './manifest.ts'
import type { ScratchFile } from './parquet.ts'
import { SPLIT_ABOVE_ROWS } from './partitions.ts'
import type { PublishOptions } from './publish-options.ts'
import type { CurrentSnapshot } from './read-snapshot.ts'

export interface ExportedSnapshot {
  readonly manifest: Manifest
  readonly files: readonly ScratchFile[]
  /** Keys of those of them that are not in the store as part of the snapshot before. */
  readonly missing: ReadonlySet<string>
  readonly newFiles: number
}

/** Says what the snapshot before has of a table, where its files can be used. */
type Previous = (table: ManifestTable, isSameEngine: boolean) => PreviousTable

/** Exports every table, and says what the manifest of that is. */
export async function exportSnapshot(
  options: PublishOptions,
  current: CurrentSnapshot | null,
  cache: FileCache,
): Promise<ExportedSnapshot> {
  const { warehouse, store, logger } = options
  const sizes = new Map((await store.list('tables/')).map(({ key, bytes }) => [key, bytes]))
  const unusable = new Set<string>()
  const misjudged = new Set<string>()
  const previous: Previous = (table, isSameEngine) => ({
    table: unusable.has(table.name) ? { ...table, files: [], deletion_vector: null } : table,
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
    const usable = known && previous(known, before?.versions.duckdb === duckdb)
    const elsewhere = options.made?.tables.get(name)
    if (elsewhere !== undefined) {
      tables.push(elsewhere.table)
      continue
    }
    const exported = await exportTable(definition, {
      warehouse,
      folder,
      compact,
      splitAboveRows,
      changes: misjudged.has(name) ? null : changes,
      previous: usable,
      // Also what has the bytes that a damaged file should have gets a key of its own, and is uploaded.
      ownKey: keysOfSnapshot(usable?.table, snapshotId),
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
  const ofSpark = options.tables.flatMap(
    ({ name }) => options.made?.tables.get(name)?.newFiles ?? [],
  )
  const newFiles = [...files.filter(({ key }) => !known.has(key)), ...ofSpark]
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
    ...(options.made?.spark === undefined ? {} : { spark: options.made.spark }),
    tables,
    new_bytes: sum(newFiles.map(({ bytes }) => bytes)),
    coverage,
    checks: checks && { ...checks, passed: checks.passed + (options.made?.checks ?? 0) },
    credits,
  })
  const missingKeys = new Set(missing.map(({ key }) => key))
  return { files, newFiles: newFiles.length, missing: missingKeys, manifest }
}
