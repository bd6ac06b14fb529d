/**
 * A warehouse without people, and without events from before a day. A `delete` only marks rows: their bytes stay in the
 * file. So the fixed tables are copied to a new file without the rows, and a build makes the models there; unlike a replay
 * this keeps what a restore brought, and takes a fraction of its time.
 */

import { loadedTables } from './catalog.ts'
import { removeDatabase } from './database-file.ts'
import { quoteIdentifier, quoteText } from './sql-text.ts'
import { withWarehouse, type Warehouse } from './warehouse.ts'

/** What is not kept. */
export interface ErasableRows {
  readonly profileIds: readonly string[]
  /** Events that changed and were detected before this, milliseconds since 1970 UTC; null for none. */
  readonly eventsBefore: number | null
  /** Whether a reject is not kept, by the event as sent. */
  readonly isErasedReject: (eventText: string) => boolean
}

/** Rows by table, such as `main.people`; tables without any are left out. */
export type RowsByTable = Readonly<Record<string, number>>

/** Counts the rows that are not kept, in every table that names people. */
export async function countErasable(
  warehouse: Warehouse,
  rows: ErasableRows,
): Promise<RowsByTable> {
  await stage(warehouse, 'ops.rejects', rows)
  const counts: Record<string, number> = {}
  for (const [table, columns] of await tablesOf(warehouse)) {
    const [found] = await warehouse.all<{ rows: number }>(
      `select count(*)::int as rows from ${quoted(table)} where ${conditionFor(table, columns, rows)}`,
    )
    if (found !== undefined && found.rows > 0) counts[table] = found.rows
  }
  return counts
}

const LOADED = new Set(loadedTables.map(({ name }) => `main.${name}`))
const VERSIONS = 'main.job_change_event_versions'
// The build fills the first two, with samples of any table; a new file has the third already.
const NOT_COPIED = new Set(['ops.checks', 'ops.build_state', 'ops.schema_files'])

/**
 * Copies the fixed tables of the warehouse `path` to a new one at `target`, without what is not kept. It has no models:
 * the next build there is a full refresh.
 * @throws LockedError when another program writes the warehouse
 * @throws StorageError when the disk refuses
 */
export async function copyWithout(path: string, target: string, rows: ErasableRows): Promise<void> {
  removeDatabase(target)
  await withWarehouse({ path: target, mode: 'write' }, async (warehouse) => {
    await warehouse.run(`attach ${quoteText(path)} as source (read_only)`)
    await stage(warehouse, 'source.ops.rejects', rows)
    for (const [table, columns] of await tablesOf(warehouse)) {
      if (NOT_COPIED.has(table) || (!table.startsWith('ops.') && !LOADED.has(table))) continue
      const condition = conditionFor(table, columns, rows, 'source.')
      await warehouse.run(
        `insert into ${quoted(table)} by name select * from source.${quoted(table)} where not ${condition}`,
      )
    }
    if (rows.eventsBefore !== null) await dateFirstSightings(warehouse, rows.eventsBefore)
    await warehouse.run('detach source; drop table erased_people; drop table erased_rejects')
    await warehouse.run('checkpoint')
  })
}

/** Dates events whose oldest versions are not kept by the first sighting of those that are, as a replay does. */
async function dateFirstSightings(warehouse: Warehouse, eventsBefore: number): Promise<void> {
  const versions = `source.${quoted(VERSIONS)}`
  const isOld = isOldSql(eventsBefore)
  await warehouse.run(
    `update main.job_change_events as event
     set first_seen_at = kept.first_seen_at, first_run_id = kept.first_run_id
     from (
       select event_key, min(first_seen_at) as first_seen_at,
         arg_min(first_run_id, row(first_seen_at, first_run_id)) as first_run_id
       from ${versions}
       where not ${isOld} and event_key in (select event_key from ${versions} where ${isOld})
       group by event_key
     ) as kept
     where event.event_key = kept.event_key`,
  )
}

/** SQL: whether an event, or a version of one, is too old to be kept. */
function isOldSql(eventsBefore: number): string {
  const before = `cast(${quoteText(new Date(eventsBefore).toISOString())} as timestamptz)`
  return `(changed_at < ${before} and detected_at < ${before})`
}

/** Notes people and rejects that are not kept in temporary tables. */
async function stage(warehouse: Warehouse, rejects: string, rows: ErasableRows): Promise<void> {
  await warehouse.run(`
    create or replace temp table erased_people (profile_id varchar);
    create or replace temp table erased_rejects (request_id varchar, position integer)`)
  // As JSON: the engine appends nothing to a file that is open for reading, not even to temporary tables.
  await warehouse.run(`insert into erased_people select unnest(from_json($1, '["varchar"]'))`, [
    JSON.stringify(rows.profileIds),
  ])
  const all = await warehouse.all<{ request_id: string; position: number; event: string }>(
    `select request_id, position, event from ${rejects}`,
  )
  const erased = all
    .filter(({ event }) => rows.isErasedReject(event))
    .map(({ request_id, position }) => ({ request_id, position }))
  await warehouse.run(
    `insert into erased_rejects
     select unnest(from_json($1, '[{"request_id": "varchar", "position": "integer"}]'), recursive := true)`,
    [JSON.stringify(erased)],
  )
}

/** SQL: whether a row of a table is not kept; never null. */
function conditionFor(
  table: string,
  columns: readonly string[],
  { eventsBefore }: ErasableRows,
  database = '',
): string {
  const parts = ['false']
  if (columns.includes('profile_id')) {
    parts.push('profile_id in (select profile_id from erased_people)')
  }
  if (table === 'ops.rejects') parts.push('(request_id, position) in (from erased_rejects)')
  if (eventsBefore !== null && LOADED.has(table)) {
    const isOld = isOldSql(eventsBefore)
    parts.push(isOld)
    if (table === VERSIONS) {
      // An event of which one version is left has none.
      parts.push(
        `event_key in (select event_key from ${database}${quoted(table)} where not ${isOld} group by 1 having count(*) = 1)`,
      )
    }
  }
  return `(${parts.join(' or ')})`
}

/** The columns of each table of the open file, by names such as `main.people`. */
export async function tablesOf(warehouse: Warehouse): Promise<Map<string, string[]>> {
  const rows = await warehouse.all<{ name: string; columns: string }>(
    `select schema_name || '.' || table_name as name, cast(to_json(list(column_name)) as varchar) as columns
     from duckdb_columns()
     where (database_name, schema_name, table_name) in (
       select (database_name, schema_name, table_name) from duckdb_tables()
       where database_name = current_database() and not temporary)
     group by all order by all`,
  )
  return new Map(rows.map(({ name, columns }) => [name, JSON.parse(columns) as string[]]))
}

/** A name such as `main.people` as SQL takes it. */
export function quoted(table: string): string {
  return table.split('.').map(quoteIdentifier).join('.')
}
