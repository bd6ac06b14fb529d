/**
 * What builds changed in published tables, row by row, as hashes: so that the publisher of the next snapshot need not read a
 * table to find out. Loads and builds write it in their own transactions, a full refresh begins it again. Kept for some builds:
 * a destination whose snapshot is older is compared by reading.
 */

import type { TableDefinition } from './catalog.ts'
import type { TypedColumn } from './columns.ts'
import { quoteIdentifier, quoteText } from './sql-text.ts'
import type { Warehouse } from './warehouse.ts'

type NotedTable = Pick<TableDefinition, 'name' | 'key' | 'partitionByYearOf' | 'leftOut'>

/** Builds that are kept. A night that was not published for so long is compared as the first one was. */
const BUILDS_KEPT = 8

/**
 * A hash of a row, 64 bits. The engine's own is fast and mixes values of many columns well; it may differ between versions
 * of the engine.
 */
export function rowHashSql(columns: readonly TypedColumn[]): string {
  const hashed = columns.map(({ name, type }) =>
    // The engine gives null, an empty list and a list of one null the same hash. No snapshot has other nested types.
    type.endsWith(']') ? `to_json(${quoteIdentifier(name)})` : quoteIdentifier(name),
  )
  return `hash(${hashed.join(', ')})`
}

/** A hash of the key of a row, 64 bits; SQL. */
export function keyHashSql(key: readonly string[]): string {
  return `hash(${key.map(quoteIdentifier).join(', ')})`
}

/** The year that says in which partition a row is; SQL. */
export function yearSql(partitionByYearOf: string | null): string {
  return `cast(${partitionByYearOf === null ? 'null' : `year(${quoteIdentifier(partitionByYearOf)})`} as integer)`
}

/** Whether changes are noted: there was a full refresh to go on from. */
export async function areChangesNoted(warehouse: Warehouse): Promise<boolean> {
  return (await warehouse.number('select count(*) from ops.builds')) > 0
}

const THIS_BUILD = '(select max(build) + 1 from ops.builds)'

/**
 * Notes rows that came or went.
 * @param columns of the table, in order
 * @param rows SQL for `from`: rows with these columns, and perhaps more
 * @param change SQL: 1 where the row came, -1 where it went
 */
export async function noteRows(
  warehouse: Warehouse,
  { name, key, partitionByYearOf, leftOut }: NotedTable,
  columns: readonly TypedColumn[],
  rows: string,
  change: string,
): Promise<void> {
  const hashed = columns.filter((column) => !leftOut.includes(column.name))
  await warehouse.run(
    `insert into ops.changed_rows
     select ${THIS_BUILD}, ${quoteText(name)}, ${yearSql(partitionByYearOf)}, ${keyHashSql(key)}, ${rowHashSql(hashed)}, ${change}
     from ${rows}`,
  )
}

/** Notes that any row of a table may be another. */
export async function noteAnyRow(warehouse: Warehouse, table: string): Promise<void> {
  await warehouse.run(
    `insert into ops.changed_rows values (${THIS_BUILD}, ${quoteText(table)}, null, null, null, 0)`,
  )
}

/** Forgets what changed before: after a full refresh, any row of any table may be another. */
export async function beginChanges(warehouse: Warehouse, buildId: string): Promise<void> {
  await forgetChanges(warehouse)
  await warehouse.run(`insert into ops.builds values (1, ${quoteText(buildId)}, version())`)
}

/** Gives what was noted since the last build to this one. */
export async function endChanges(warehouse: Warehouse, buildId: string): Promise<void> {
  await warehouse.run(
    `insert into ops.builds values (${THIS_BUILD}, ${quoteText(buildId)}, version());
     delete from ops.builds where build <= (select max(build) from ops.builds) - ${BUILDS_KEPT};
     delete from ops.changed_rows where build < (select min(build) from ops.builds)`,
  )
}

/** Stops noting changes until the next full refresh: what was changed otherwise is not told by them. */
export async function forgetChanges(warehouse: Warehouse): Promise<void> {
  await warehouse.run('delete from ops.builds; delete from ops.changed_rows')
}

/** What changed since a build. */
export interface ChangesSince {
  /** The number of the build. */
  readonly build: number
  /** Tables of which any row may be another. */
  readonly inAll: ReadonlySet<string>
}

/** What changed since a build; null where that is not known, and where a load was not built yet. */
export async function changesSince(
  warehouse: Warehouse,
  buildId: string,
): Promise<ChangesSince | null> {
  const [found] = await warehouse.all<{ build: number; is_known: boolean }>(
    `select build,
       (select bool_and(duckdb = version()) from ops.builds as later where later.build >= since.build)
       and not exists (from ops.changed_rows where build > (select max(build) from ops.builds)) as is_known
     from ops.builds as since where build_id = $1`,
    [buildId],
  )
  if (found?.is_known !== true) return null
  const { build } = found
  const rows = await warehouse.all<{ name: string }>(
    'select distinct table_name as name from ops.changed_rows where build > $1 and key_hash is null',
    [build],
  )
  return { build, inAll: new Set(rows.map(({ name }) => name)) }
}

/** How many rows were added to a table since a build, those counted that went again. */
export function rowsAddedSince(
  warehouse: Warehouse,
  { build }: ChangesSince,
  table: string,
): Promise<number> {
  return warehouse.number(
    'select count(*) from ops.changed_rows where build > $1 and table_name = $2 and change > 0',
    [build, table],
  )
}

/**
 * SQL, a select: the rows of a table that came or went since a build, each once: `year`, `key_hash`, `row_hash`, `change`. One
 * that came and went again is none.
 */
export function changedRowsSql({ build }: ChangesSince, table: string): string {
  return `select year, key_hash, row_hash, sum(change) as change from ops.changed_rows
    where build > ${build} and table_name = ${quoteText(table)}
    group by all having sum(change) <> 0`
}
