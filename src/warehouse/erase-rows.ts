/**
 * Erases people, and events from before a day, from a warehouse. A `delete` only marks rows and leaves their bytes in
 * the file. So the rest is then copied to a new file, including tables and views of the user's own.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlFolder } from '../support/assets.ts'
import { ConfigError } from '../support/errors.ts'
import { loadedTables, WATCH_ENTRIES } from './catalog.ts'
import { forgetChanges } from './changed-tables.ts'
import { removeDatabase, replaceDatabase } from './database-file.ts'
import { SqlError } from './errors.ts'
import { quoteIdentifier, quoteText } from './sql-text.ts'
import { withWarehouse, type Warehouse } from './warehouse.ts'

export interface ErasableRows {
  readonly profileIds: readonly string[]
  /** Events that changed and were detected before this, milliseconds since 1970 UTC; null for none. */
  readonly eventsBefore: number | null
  /** Whether a reject is erased, by the event as sent. */
  readonly isErasedReject: (eventText: string) => boolean
}

/** Rows by table, such as `main.people`; tables without any are left out. */
export type RowsByTable = Readonly<Record<string, number>>

// Answers of other endpoints are not events, and are kept whatever their age.
const OF_EVENTS = new Set(
  loadedTables.map(({ name }) => `main.${name}`).filter((name) => name !== 'main.answers'),
)
const VERSIONS = 'main.job_change_event_versions'

/** Counts the rows that are not kept, in every table that names people. */
export async function countErasable(warehouse: Warehouse, rows: ErasableRows) {
  const erased: string[] = []
  const rejects = await warehouse.stream(`select ${REJECT_ID}, event from ops.rejects`)
  for await (const batch of rejects.batches) {
    const found = batch.filter(([, event]) => rows.isErasedReject(String(event)))
    erased.push(...found.map(([id]) => String(id)))
  }
  await warehouse.run(
    `set variable erased_people = ${listSql(rows.profileIds)};
     set variable erased_rejects = ${listSql(erased)}`,
  )
  const counts: Record<string, number> = {}
  const tables = await tablesOf(warehouse)
  if (tables.some(({ name }) => name === WATCH_ENTRIES)) await findErasedEntries(warehouse)
  for (const table of tables) {
    const found = await warehouse.number(`select count(*) from ${erasable(table, rows)}`)
    if (found > 0) counts[table.name] = found
  }
  return counts
}

/** Deletes them, and calls {@link buildAfterErasure} if there are any. @returns how many rows, by table */
export function deleteErasable(warehouse: Warehouse, rows: ErasableRows): Promise<RowsByTable> {
  return warehouse.transaction(async () => {
    const counts = await countErasable(warehouse, rows)
    if (Object.keys(counts).length === 0) return counts
    if (rows.eventsBefore !== null) await dateFirstSightings(warehouse, rows.eventsBefore)
    for (const table of await tablesOf(warehouse)) {
      if (counts[table.name] === undefined) continue
      await warehouse.run(`delete from ${erasable(table, rows)}`)
    }
    await buildAfterErasure(warehouse)
    return counts
  })
}

/**
 * Makes the next build a full refresh. Until then a check counts as failed, so that half-erased tables are not published.
 */
export async function buildAfterErasure(warehouse: Warehouse): Promise<void> {
  await forgetChanges(warehouse)
  // Samples of check findings may name any person.
  await warehouse.run(
    `delete from ops.checks; delete from ops.build_state where key <> 'own';
     insert into ops.checks values ('tables_are_built_after_an_erasure', '', to_timestamp(0), 1, null)`,
  )
}

/**
 * Copies a database to a new file, so that nothing is left of deleted rows. @throws LockedError if another program
 * has it open; ConfigError if a table of the user's own cannot be copied: then the old file is still there
 */
export async function compactDatabase(path: string): Promise<void> {
  const fresh = `${path}.erased`
  removeDatabase(fresh)
  try {
    await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
      const [open] = await warehouse.all<{ name: string }>('select current_database() as name')
      await warehouse.run(
        `attach ${quoteText(fresh)} as compacted;
         copy from database ${quoteIdentifier(open?.name ?? '')} to compacted;
         checkpoint compacted;
         detach compacted`,
      )
    })
    await replaceDatabase(path, fresh)
  } catch (error) {
    // All objects of Jobtide can be copied.
    if (!(error instanceof SqlError)) throw error
    throw new ConfigError(`${path} holds a table that cannot be copied: ${error.message}`, {
      hint: 'Drop it, or its foreign keys, and run the same command again. Keep your own tables in another DuckDB file that attaches the warehouse.',
      cause: error,
    })
  } finally {
    removeDatabase(fresh)
  }
}

/** If the oldest versions of an event are erased, the remaining ones date it, as in a replay. */
async function dateFirstSightings(warehouse: Warehouse, eventsBefore: number): Promise<void> {
  const isOld = isOldSql(eventsBefore)
  await warehouse.run(
    `update main.job_change_events as event
     set first_seen_at = kept.first_seen_at, first_run_id = kept.first_run_id
     from (
       select event_key, min(first_seen_at) as first_seen_at,
         arg_min(first_run_id, row(first_seen_at, first_run_id)) as first_run_id
       from ${VERSIONS}
       where not ${isOld} and event_key in (select event_key from ${VERSIONS} where ${isOld})
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

/** Defines the macros of the models, as temporary ones: a warehouse opened for reading may be of an earlier version. */
export async function defineMacros(warehouse: Warehouse): Promise<void> {
  const macros = readFileSync(join(sqlFolder, 'macros.sql'), 'utf8')
  await warehouse.run(macros.replaceAll('create or replace macro', 'create or replace temp macro'))
}

/** Runs while the events are still there: they show the names, pages and handles of erased people. */
async function findErasedEntries(warehouse: Warehouse): Promise<void> {
  await defineMacros(warehouse)
  await warehouse.run(
    `set variable erased_entries = (
       with people as materialized (select unnest(getvariable('erased_people')) as profile_id),
       known as (
         select profile_id, person_network_url, person_handle, person_full_name
         from main.job_change_events semi join people using (profile_id)
         union
         select profile_id, person_network_url, person_handle, person_full_name
         from ${VERSIONS} semi join people using (profile_id))
       select list(distinct ${ENTRY_ID})
       from ${WATCH_ENTRIES} as entries
       where (kind = 'profile_id' and listed_as in (select profile_id from people))
         or (kind = 'url' and page_name(listed_as) in (select page_name(person_network_url) from known))
         or (kind = 'handle' and page_name(listed_as) in (select page_name(person_handle) from known))
         or (kind = 'name' and plain_name(listed_as) in (select plain_name(person_full_name) from known)))`,
  )
}

// The name of a list is one word, as is that of a pipeline.
const ENTRY_ID = `pipeline || ' ' || watch_list || ' ' || entry`
const REJECT_ID = `request_id || ' ' || position`

/** SQL: a list of texts. As JSON, because the engine prepares no statement that sets a variable. */
function listSql(texts: readonly string[]): string {
  return `from_json(${quoteText(JSON.stringify(texts))}, '["varchar"]')`
}

/** SQL after `from`: the rows of a table that are not kept. */
function erasable({ name, relation, columns }: StoredTable, { eventsBefore }: ErasableRows) {
  const parts = ['false']
  const isIn = (id: string, variable: string) =>
    parts.push(`coalesce(${id} in (select unnest(getvariable('${variable}'))), false)`)
  // As text, because a table of the user's own may have another type.
  if (columns.includes('profile_id')) isIn('cast(profile_id as varchar)', 'erased_people')
  if (name === 'ops.rejects') isIn(REJECT_ID, 'erased_rejects')
  if (name === WATCH_ENTRIES) isIn(ENTRY_ID, 'erased_entries')
  if (eventsBefore !== null && OF_EVENTS.has(name)) {
    const isOld = isOldSql(eventsBefore)
    parts.push(isOld)
    // An event with one remaining version has no earlier one.
    const alone = `select event_key from ${VERSIONS} where not ${isOld} group by 1 having count(*) = 1`
    if (name === VERSIONS) parts.push(`event_key in (${alone})`)
  }
  return `${relation} where ${parts.join(' or ')}`
}

interface StoredTable {
  /** Such as `main.people`. */
  readonly name: string
  readonly relation: string
  readonly columns: readonly string[]
}

/** The tables of the open file, also those that are not Jobtide's. */
export function tablesOf(warehouse: Warehouse): Promise<StoredTable[]> {
  const tables = `select (schema_name, table_name) from duckdb_tables()
    where database_name = current_database()`
  return relationsOf(warehouse, `and (schema_name, table_name) in (${tables})`)
}

/** As {@link tablesOf}, and the views. @param only SQL that narrows them down */
export async function relationsOf(warehouse: Warehouse, only = ''): Promise<StoredTable[]> {
  const rows = await warehouse.all<{ schema: string; name: string; columns: string[] }>(
    `select schema_name as "schema", table_name as name, list(column_name) as columns
     from duckdb_columns() where database_name = current_database() and not internal ${only}
     group by all order by all`,
  )
  return rows.map(({ schema, name, columns }) => ({
    name: `${schema}.${name}`,
    relation: `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`,
    columns,
  }))
}
