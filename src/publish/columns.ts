/** The columns of a published table: which they are, the ids they keep for ever, and what must not change unasked. */

import type { TableDefinition } from '../warehouse/catalog.ts'
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

/** The columns of every table and view of a schema, in order, by its name. */
export type TableColumns = ReadonlyMap<string, readonly Column[]>

export async function readColumns(
  warehouse: Warehouse,
  schema: 'main' | 'core',
): Promise<TableColumns> {
  const all = await warehouse.all<Column & { table_name: string }>(
    `select table_name, column_name as name, data_type as type, comment from duckdb_columns()
     where database_name = current_database() and schema_name = $1 and not internal
     order by table_name, column_index`,
    [schema],
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
  definition: TableDefinition,
  previous: ManifestTable | undefined,
): PublishedColumns {
  const { name: table, leftOut } = definition
  const all = of.get(table)
  if (all === undefined) {
    throw new PublishError(`there is no table ${table} in the warehouse`, {
      hint: 'Run `jobtide build` first.',
    })
  }
  const kept = all.filter((column) => !leftOut.includes(column.name))
  refuseMissing(definition, kept)
  refuseUnfit(table, kept)
  const known = new Map(previous?.schema.map((column) => [columnText(column), column.field_id]))
  let lastFieldId = previous?.last_field_id ?? 0
  const columns = kept.map((column) => ({
    ...column,
    field_id: known.get(columnText(column)) ?? (lastFieldId += 1),
  }))
  return { columns, lastFieldId }
}

/** Columns as a select lists them; SQL. */
export function listOfColumns(columns: readonly PublishedColumn[]): string {
  return columns.map(({ name }) => quoteIdentifier(name)).join(', ')
}

/** What a column is to readers; of another type it is another one. */
export function columnText({ name, type }: Pick<Column, 'name' | 'type'>): string {
  return `${name} ${type}`
}

function refuseMissing(definition: TableDefinition, columns: readonly Column[]): void {
  const { name: table, key, partitionByYearOf } = definition
  const needed = partitionByYearOf === null ? key : [...key, partitionByYearOf]
  const missing = needed.filter((name) => !columns.some((column) => column.name === name))
  if (missing.length === 0) return
  throw new PublishError(`table ${table} has no column ${missing.join(', ')} to sort or split by`)
}

function refuseUnfit(table: string, columns: readonly Column[]): void {
  for (const { name, type } of columns) {
    if (/\bU?HUGEINT\b/.test(type)) {
      throw new PublishError(`${table}.${name} is a ${type}, which Parquet would round to DOUBLE`, {
        hint: 'In the model, cast it: cast(… as decimal(38,0)), or to bigint where it fits.',
      })
    }
    if (PLAIN_NAME.test(name)) continue
    throw new PublishError(`${table}.${JSON.stringify(name)} is no name of a published column`, {
      hint: 'In the model, name it with letters, digits and underscores.',
    })
  }
}

/**
 * What of `previous` readers would no longer find as it was: tables and columns that are gone, columns of another type.
 * New tables and columns are none. One phrase each.
 */
export function incompatibilities(
  previous: readonly ManifestTable[],
  now: readonly Pick<ManifestTable, 'name' | 'schema'>[],
): string[] {
  return previous.flatMap((table) => {
    const current = now.find(({ name }) => name === table.name)
    // Without rows it was one of an endpoint that was never asked.
    if (current === undefined) return table.rows === 0 ? [] : [`table ${table.name} is gone`]
    return table.schema.flatMap((column) => {
      const found = current.schema.find(({ name }) => name === column.name)
      if (found === undefined) return [`${table.name}.${column.name} is gone`]
      if (found.type === column.type) return []
      return [`${table.name}.${column.name} is ${found.type}, and was ${column.type}`]
    })
  })
}

/** Refuses what {@link incompatibilities} found. @throws PublishError naming the first three */
export function refuseIncompatible(problems: readonly string[], destination: string): void {
  if (problems.length === 0) return
  const shown = problems.slice(0, 3).join('; ')
  const more = problems.length > 3 ? `; and ${problems.length - 3} more` : ''
  throw new PublishError(`queries over ${destination} could break: ${shown}${more}`, {
    hint: 'If readers are ready for that, run `jobtide publish --accept-schema-change` once; or publish to a new destination.',
  })
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
