/** The columns of a published table: which they are, and the ids they keep for ever. */

import { IN_TIERS, type TableDefinition } from '../warehouse/catalog.ts'
import { quoteIdentifier } from '../warehouse/sql-text.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { PublishError } from './errors.ts'
import { PLAIN_NAME, type ManifestTable } from './manifest.ts'

export type PublishedColumn = ManifestTable['schema'][number]

export interface PublishedColumns {
  readonly columns: readonly PublishedColumn[]
  readonly lastFieldId: number
}

type Column = Pick<PublishedColumn, 'name' | 'type' | 'comment'>

/** The columns of every table and view for analysts, in order, by its name. */
export type TableColumns = ReadonlyMap<string, readonly Column[]>

export async function readColumns(warehouse: Warehouse): Promise<TableColumns> {
  const all = await warehouse.all<Column & { table_name: string }>(
    `select table_name, column_name as name, data_type as type, comment from duckdb_columns()
     where database_name = current_database() and schema_name in ${IN_TIERS} and not internal
     order by table_name, column_index`,
  )
  const columns = new Map<string, Column[]>()
  for (const { table_name: table, ...column } of all) {
    const known = columns.get(table)
    if (known === undefined) columns.set(table, [column])
    else known.push(column)
  }
  return columns
}

/**
 * The columns of a table that go into snapshots. Known names keep their field ids; new ones get the next.
 * @throws PublishError when the table is not there, lacks a column it is sorted by, or has a column that Parquet
 *   cannot hold exactly, or whose name is not plain
 */
export function publishedColumns(
  of: TableColumns,
  { name: table, key, partitionByYearOf, leftOut }: TableDefinition,
  previous: ManifestTable | undefined,
): PublishedColumns {
  const all = of.get(table)
  if (all === undefined) {
    throw new PublishError(`there is no table ${table} in the warehouse`, {
      hint: 'Run `jobtide build` first.',
    })
  }
  const kept = all.filter((column) => !leftOut.includes(column.name))
  const needed = partitionByYearOf === null ? key : [...key, partitionByYearOf]
  const missing = needed.filter((name) => !kept.some((column) => column.name === name))
  if (missing.length > 0) {
    const what = `table ${table} has no column ${missing.join(', ')} to sort or split by`
    throw new PublishError(what)
  }
  for (const { name, type } of kept) {
    if (/\bU?HUGEINT\b/.test(type)) {
      throw new PublishError(`${table}.${name} is a ${type}, which Parquet would round to DOUBLE`, {
        hint: 'In the model, cast it: cast(… as decimal(38,0)), or to bigint where it fits.',
      })
    }
    if (!PLAIN_NAME.test(name)) {
      throw new PublishError(
        `${table}.${JSON.stringify(name)} is not a name for a published column`,
        {
          hint: 'In the model, name it with letters, digits and underscores.',
        },
      )
    }
  }
  // Of another type it is another column.
  const idOf = (column: Column) => `${column.name} ${column.type}`
  const known = new Map(previous?.schema.map((column) => [idOf(column), column.field_id]))
  let lastFieldId = previous?.last_field_id ?? 0
  const columns = kept.map((column) => ({
    ...column,
    field_id: known.get(idOf(column)) ?? (lastFieldId += 1),
  }))
  return { columns, lastFieldId }
}

/** Columns as a select lists them; SQL. */
export function listOfColumns(columns: readonly PublishedColumn[]): string {
  return columns.map(({ name }) => quoteIdentifier(name)).join(', ')
}

/** Whether files with the columns of `previous` can stand beside files with these. */
export function hasSameColumns(
  previous: Pick<ManifestTable, 'schema'>,
  columns: readonly PublishedColumn[],
): boolean {
  const told = (of: readonly PublishedColumn[]) =>
    of.map(({ name, type, field_id }) => `${name} ${type} ${field_id}`).join()
  return told(previous.schema) === told(columns)
}
