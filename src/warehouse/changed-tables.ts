/**
 * Records which tables loads and builds changed, and for those that snapshots split by year, in which years. The
 * publisher copies nothing else. Loads and builds record it in their own transactions; a full refresh starts the list
 * again.
 */

import type { TableDefinition } from './catalog.ts'
import { quoteIdentifier, quoteText } from './sql-text.ts'
import type { Warehouse } from './warehouse.ts'

/** Builds that are kept. For a destination whose snapshot is older, every table counts as changed. */
const BUILDS_KEPT = 100

const THIS_BUILD = '(select max(build) + 1 from ops.builds)'

/** The year that decides the partition of a row, null if it has none; SQL. */
export function yearSql(column: string): string {
  return `cast(year(${quoteIdentifier(column)}) as integer)`
}

/** Whether changes are recorded, which a full refresh begins. */
export async function areChangesNoted(warehouse: Warehouse): Promise<boolean> {
  return (await warehouse.number('select count(*) from ops.builds')) > 0
}

/** Records that rows changed. @param rows SQL for `from`: before and after; null: any row may have changed */
export async function noteChange(
  warehouse: Warehouse,
  { name, partitionByYearOf }: Pick<TableDefinition, 'name' | 'partitionByYearOf'>,
  rows: string | null,
): Promise<void> {
  const years =
    rows === null || partitionByYearOf === null
      ? 'select null'
      : `select list(distinct_year) from (select distinct ${yearSql(partitionByYearOf)} as distinct_year from ${rows}) having count(*) > 0`
  await warehouse.run(
    `insert into ops.changed_tables select ${THIS_BUILD}, ${quoteText(name)}, * from (${years})`,
  )
}

/** @param changes by table the years, null for rows without one; null in place of a list: rows of any year */
export async function noteChangedYears(
  warehouse: Warehouse,
  changes: ReadonlyMap<string, readonly (number | null)[] | null>,
): Promise<void> {
  if (changes.size === 0) return
  const rows = [...changes].map(([name, years]) => {
    const list = years === null ? 'null' : `[${years.map(String).join(', ')}]`
    return `(${THIS_BUILD}, ${quoteText(name)}, ${list}::integer[])`
  })
  await warehouse.run(`insert into ops.changed_tables values ${rows.join(', ')}`)
}

/** Names of the tables that loads changed since the last build. */
export async function changedByLoads(warehouse: Warehouse): Promise<ReadonlySet<string>> {
  const rows = await warehouse.all<{ name: string }>(
    `select distinct table_name as name from ops.changed_tables where build > (select max(build) from ops.builds)`,
  )
  return new Set(rows.map(({ name }) => name))
}

/** Starts the list again after a full refresh, which may have changed any row. */
export async function beginChanges(warehouse: Warehouse, buildId: string): Promise<void> {
  await forgetChanges(warehouse)
  await warehouse.run(`insert into ops.builds values (1, ${quoteText(buildId)})`)
}

/** Assigns the changes since the last build to this one. */
export async function endChanges(warehouse: Warehouse, buildId: string): Promise<void> {
  await warehouse.run(
    `insert into ops.builds values (${THIS_BUILD}, ${quoteText(buildId)});
     delete from ops.builds where build <= (select max(build) from ops.builds) - ${BUILDS_KEPT};
     delete from ops.changed_tables where build < (select min(build) from ops.builds)`,
  )
}

/** Stops recording changes until the next full refresh, because something else changed the tables. */
export async function forgetChanges(warehouse: Warehouse): Promise<void> {
  await warehouse.run('delete from ops.builds; delete from ops.changed_tables')
}

/** By table that changed the years of its rows that did, null for those without one; `all`: rows of any year. */
export type ChangedTables = ReadonlyMap<string, ReadonlySet<number | null> | 'all'>

/** The changes since a build; null if they are unknown, or a load was not built yet. */
export async function changesSince(warehouse: Warehouse, buildId: string) {
  type Row = { name: string | null; years: (number | null)[] | null; is_built: boolean }
  const rows = await warehouse.all<Row>(
    `select table_name as name, case when count(*) = count(years) then flatten(list(years)) end as years,
       coalesce(max(changed.build), 0) <= (select max(build) from ops.builds) as is_built
     from ops.builds as since left join ops.changed_tables as changed on changed.build > since.build
     where since.build_id = $1 group by table_name`,
    [buildId],
  )
  if (rows.length === 0 || rows.some((row) => !row.is_built)) return null
  return new Map(
    rows.flatMap(({ name, years }): [string, ReadonlySet<number | null> | 'all'][] =>
      name === null ? [] : [[name, years === null ? 'all' : new Set(years)]],
    ),
  )
}
