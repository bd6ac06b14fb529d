/** How the rows of a table are found for an export: by what builds noted, or by reading it. */

import { sum } from '../support/numbers.ts'
import type { TableDefinition } from '../warehouse/catalog.ts'
import type { ChangesSince } from '../warehouse/changed-rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { PublishedColumn } from './columns.ts'
import type { FilesBefore } from './files-before.ts'
import { KnownRows } from './known-rows.ts'
import type { ManifestTable } from './manifest.ts'
import { isOfFiles, splitColumn, type Partition } from './partitions.ts'
import { TableRows, type RowsToExport } from './table-rows.ts'
import { ViewRows } from './view-rows.ts'

export interface SearchContext {
  readonly warehouse: Warehouse
  /** What changed since the snapshot before; null where that is not known. */
  readonly changes: ChangesSince | null
  /** Rewrites every partition that is not one whole file. */
  readonly compact: boolean
  /** Tables with more rows are split by year, where their definition says of which column. */
  readonly splitAboveRows: number
}

export interface FoundRows {
  /** Of the table as it is split. */
  readonly definition: TableDefinition
  readonly rows: RowsToExport
  readonly partitions: readonly Partition[]
}

/** `isRead`: whether the table was read to find out what changed. */
type Found = FoundRows & { readonly isRead: boolean }

/** Finds them. @throws UnusableFilesError, WrongChangesError as exportTable does */
export async function findRows(
  definition: TableDefinition,
  context: SearchContext,
  columns: readonly PublishedColumn[],
  before: FilesBefore | null,
): Promise<Found> {
  if (before !== null && !context.compact && before.areThere()) {
    const found =
      (await findKnown(definition, context, columns, before)) ??
      (await findInView(definition, context, columns, before))
    if (found !== null) return found
  }
  return findByReading(definition, context, columns, before)
}

/** By what builds noted; null where that is not known. */
async function findKnown(
  definition: TableDefinition,
  { warehouse, splitAboveRows, changes }: SearchContext,
  columns: readonly PublishedColumn[],
  { table, isSameEngine }: FilesBefore,
): Promise<Found | null> {
  if (changes === null || changes.inAll.has(definition.name) || !isSameEngine) return null
  // Nor does a fingerprint of files follow from what rows came and went.
  if (table.partitions.some(({ fingerprint }) => isOfFiles(fingerprint))) return null
  const before = splitBefore(table)
  const isCounted = definition.kind !== 'view' && before === null
  // The rows of a table are counted without reading it.
  const split = isCounted ? await splitColumn(warehouse, definition, splitAboveRows) : before
  if (split !== before) return null
  const own = { ...definition, partitionByYearOf: split }
  const rows = new KnownRows(warehouse, own, columns, table)
  return { definition: own, rows, partitions: await rows.read(changes), isRead: false }
}

/** Of a view, by comparing it with all files; null for a table, and where the view is split otherwise than its files. */
async function findInView(
  definition: TableDefinition,
  { warehouse, splitAboveRows }: SearchContext,
  columns: readonly PublishedColumn[],
  before: FilesBefore,
): Promise<Found | null> {
  const { kind, partitionByYearOf } = definition
  const split = splitBefore(before.table)
  if (kind !== 'view' || (split !== null && split !== partitionByYearOf)) return null
  const own = { ...definition, partitionByYearOf: split }
  const stored = await before.rows(before.table.files)
  const rows = new ViewRows(warehouse, columns, before, stored)
  const partitions = await rows.read(own)
  const isSplitNow = split === null && partitionByYearOf !== null
  if (!isSplitNow || sum(partitions.map((one) => one.rows)) <= splitAboveRows) {
    return { definition: own, rows, partitions, isRead: true }
  }
  await rows.drop()
  return null
}

async function findByReading(
  definition: TableDefinition,
  { warehouse, splitAboveRows, compact }: SearchContext,
  columns: readonly PublishedColumn[],
  before: FilesBefore | null,
): Promise<Found> {
  const rows = await TableRows.open(warehouse, definition, columns)
  const isSplit = before !== null && splitBefore(before.table) !== null && !compact
  const threshold = isSplit ? 0 : splitAboveRows
  const split = await splitColumn(warehouse, definition, threshold, rows.source)
  const own = { ...definition, partitionByYearOf: split }
  const isCompared = before !== null && !compact
  return { definition: own, rows, partitions: await rows.read(own, isCompared), isRead: true }
}

function splitBefore(table: ManifestTable): string | null {
  return table.partition_by?.column ?? null
}
