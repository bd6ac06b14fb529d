/**
 * What changed between two snapshots, of one destination or of two: for each table the rows that were added, removed and
 * changed, and the bytes. Only files that can hold a difference are read.
 */

import { join } from 'node:path'
import { ConfigError } from '../../support/errors.ts'
import { sum } from '../../support/numbers.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { FileCache } from '../file-cache.ts'
import type { Manifest, ManifestTable } from '../manifest.ts'
import { withScratch, withScratchEngine } from '../scratch.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { bytesOnlyIn, filesToRead, type FileToRead } from './diff-plan.ts'
import {
  changedRows,
  compareTable,
  type ChangedRow,
  type ComparedColumns,
  type RowCounts,
  type StagedSide,
} from './diff-table.ts'

/** A snapshot and where it is. */
export interface DiffSide {
  readonly store: ObjectStore
  readonly manifest: Manifest
}

/** What a comparison needs. */
export interface DiffOptions {
  readonly before: DiffSide
  readonly after: DiffSide
  /** A folder of its own: emptied before, removed after. */
  readonly scratchFolder: string
  /** Compare only this table, and show so many of its rows. */
  readonly rows?: { readonly table: string; readonly limit: number }
  readonly onProgress?: (step: DiffStep) => void
  /** Stops between two files. */
  readonly signal?: AbortSignal
}

/** `done` of `total` files that can hold a difference are read; the last one was `name`. */
export interface DiffStep {
  readonly done: number
  readonly total: number
  readonly name: string
}

/** What changed in one table. */
export interface TableDiff {
  readonly name: string
  /** Null: the table is not there. */
  readonly rowsBefore: number | null
  readonly rowsAfter: number | null
  /** Null: rows cannot be told apart, because the key is another one. */
  readonly counts: RowCounts | null
  readonly columnsAdded: readonly string[]
  readonly columnsRemoved: readonly string[]
  /** `column: type before → type after`. */
  readonly columnsRetyped: readonly string[]
  /** Bytes of files that the snapshot before does not have. */
  readonly bytesAdded: number
  /** Bytes of files that the snapshot after does not have. */
  readonly bytesRemoved: number
}

/** What changed between two snapshots. */
export interface SnapshotDiff {
  readonly tables: readonly TableDiff[]
  /** Where rows were asked for: the first of them by key. */
  readonly rows: readonly ChangedRow[] | null
}

/**
 * Compares two snapshots.
 * @throws ConfigError when neither has the table whose rows are asked for
 * @throws DamagedSnapshotError when a file is missing or cannot be read
 * @throws PublishError when a store refuses
 */
export async function diffSnapshots(options: DiffOptions): Promise<SnapshotDiff> {
  const { scratchFolder } = options
  const pairs = pairsOf(options)
  return withScratch(scratchFolder, () =>
    withScratchEngine(scratchFolder, (warehouse) => new Diff(options, warehouse, pairs).run()),
  )
}

/** One table on both sides, and what of it has to be read. */
interface TablePair {
  readonly name: string
  readonly before: ManifestTable | undefined
  readonly after: ManifestTable | undefined
  readonly readBefore: readonly FileToRead[]
  readonly readAfter: readonly FileToRead[]
  /** Null where rows cannot be compared, or need not. */
  readonly columns: ComparedColumns | null
}

function pairsOf({ before, after, rows }: DiffOptions): TablePair[] {
  const of = (side: DiffSide, name: string) =>
    side.manifest.tables.find((table) => table.name === name)
  const names = [...after.manifest.tables, ...before.manifest.tables].map(({ name }) => name)
  const wanted = [...new Set(names)].filter((name) => rows === undefined || name === rows.table)
  if (wanted.length === 0 && rows !== undefined) {
    throw new ConfigError(`neither snapshot has a table ${rows.table}`, {
      hint: `Tables: ${[...new Set(names)].toSorted().join(', ')}.`,
    })
  }
  return wanted.map((name) => {
    const [a, b] = [of(before, name), of(after, name)]
    const columns = comparedColumns(a, b)
    const nothing = { name, before: a, after: b, readBefore: [], readAfter: [], columns }
    if (columns === null) return nothing
    if (a === undefined || b === undefined) {
      // All rows are new, or gone: they are read only to be shown.
      if (rows === undefined) return nothing
      const all = (table: ManifestTable | undefined) =>
        (table?.files ?? []).map((file) => ({ file, isInBoth: false }))
      return { ...nothing, readBefore: all(a), readAfter: all(b) }
    }
    const sideA = { table: a, versions: before.manifest.versions }
    const sideB = { table: b, versions: after.manifest.versions }
    return {
      ...nothing,
      readBefore: filesToRead(sideA, sideB),
      readAfter: filesToRead(sideB, sideA),
    }
  })
}

function comparedColumns(
  before: ManifestTable | undefined,
  after: ManifestTable | undefined,
): ComparedColumns | null {
  const one = after ?? before
  if (one === undefined) return null
  const types = new Map((before ?? one).schema.map(({ name, type }) => [name, type]))
  const common = (after ?? one).schema.filter(({ name }) => types.has(name))
  const names = common.map(({ name }) => name)
  const isSameKey = before === undefined || after === undefined || sameKey(before, after)
  if (!isSameKey || !one.key.every((name) => names.includes(name))) return null
  return {
    key: one.key,
    others: names.filter((name) => !one.key.includes(name)),
    retyped: new Set(
      common.filter(({ name, type }) => types.get(name) !== type).map(({ name }) => name),
    ),
  }
}

function sameKey(a: ManifestTable, b: ManifestTable): boolean {
  return a.key.toSorted().join() === b.key.toSorted().join()
}

class Diff {
  readonly #options: DiffOptions
  readonly #warehouse: Warehouse
  readonly #pairs: readonly TablePair[]
  readonly #caches: { readonly before: FileCache; readonly after: FileCache }
  #done = 0

  constructor(options: DiffOptions, warehouse: Warehouse, pairs: readonly TablePair[]) {
    this.#options = options
    this.#warehouse = warehouse
    this.#pairs = pairs
    const { before, after, scratchFolder, signal } = options
    this.#caches = {
      before: new FileCache(before.store, join(scratchFolder, 'before'), signal),
      after: new FileCache(after.store, join(scratchFolder, 'after'), signal),
    }
  }

  async run(): Promise<SnapshotDiff> {
    const tables: TableDiff[] = []
    for (const pair of this.#pairs) {
      tables.push({ ...describePair(pair), counts: await this.#counts(pair) })
    }
    const { rows } = this.#options
    const columns = this.#pairs[0]?.columns
    if (rows === undefined || !columns) return { tables, rows: rows === undefined ? null : [] }
    const isRead = this.#pairs.some((pair) => pair.readBefore.length + pair.readAfter.length > 0)
    const shown = isRead ? await changedRows(this.#warehouse, columns, rows.limit) : []
    return { tables, rows: shown }
  }

  async #counts(pair: TablePair): Promise<RowCounts | null> {
    const { before, after, columns } = pair
    const withRows = this.#options.rows !== undefined
    if (!withRows && (before === undefined || after === undefined)) {
      return { added: after?.rows ?? 0, removed: before?.rows ?? 0, changed: 0 }
    }
    const [tableBefore, tableAfter] = [before ?? after, after ?? before]
    if (columns === null || tableBefore === undefined || tableAfter === undefined) return null
    const total = sum(this.#pairs.map((one) => one.readBefore.length + one.readAfter.length))
    const side = (name: StagedSide['name'], table: ManifestTable): StagedSide => ({
      name,
      table,
      files: this.#caches[name],
      toRead: name === 'before' ? pair.readBefore : pair.readAfter,
    })
    return compareTable({
      warehouse: this.#warehouse,
      columns,
      before: side('before', tableBefore),
      after: side('after', tableAfter),
      withRows,
      onFile: (name) => {
        this.#options.signal?.throwIfAborted()
        this.#done += 1
        this.#options.onProgress?.({ done: this.#done, total, name })
      },
    })
  }
}

function describePair({ name, before, after }: TablePair): Omit<TableDiff, 'counts'> {
  const typesBefore = new Map(before?.schema.map((column) => [column.name, column.type]))
  const typesAfter = new Map(after?.schema.map((column) => [column.name, column.type]))
  const isInBoth = before !== undefined && after !== undefined
  const only = (of: ReadonlyMap<string, string>, not: ReadonlyMap<string, string>) =>
    isInBoth ? [...of.keys()].filter((column) => !not.has(column)) : []
  return {
    name,
    rowsBefore: before?.rows ?? null,
    rowsAfter: after?.rows ?? null,
    columnsAdded: only(typesAfter, typesBefore),
    columnsRemoved: only(typesBefore, typesAfter),
    columnsRetyped: [...typesAfter].flatMap(([column, type]) => {
      const was = typesBefore.get(column)
      return was === undefined || was === type ? [] : [`${column}: ${was} → ${type}`]
    }),
    bytesAdded: bytesOnlyIn(after, before),
    bytesRemoved: bytesOnlyIn(before, after),
  }
}
