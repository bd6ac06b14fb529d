/**
 * Rebuilds the warehouse from the journal for 0 credits, and replaces the old one when it is complete. Used by a replay, and
 * by the first writing command of a new version with a newer schema.
 */

import { existsSync } from 'node:fs'
import type { Journal } from '../journal/journal.ts'
import type { LoadReport } from '../load/merger.ts'
import { readSuppression } from '../load/suppression.ts'
import type { BuildReport } from '../model/build.ts'
import { readState } from '../model/build-state.ts'
import { MADE_FROM_MODEL } from '../model/tables.ts'
import { EXIT, ConfigError, JobtideError, LockedError, messageOf } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import { countText } from '../support/numbers.ts'
import { nameInTier } from '../warehouse/catalog.ts'
import { removeDatabase, replaceDatabase } from '../warehouse/database-file.ts'
import { quoteIdentifier, quoteText } from '../warehouse/sql-text.ts'
import { openBareFile, withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { spentWithoutJournal, type LoadedSegment } from './lost-journal.ts'
import { buildStage, loadStage, type RunWorld } from './stages.ts'
import { keepWatchLists, watchListsIn } from './watch-lists.ts'

export type RebuildWorld = Pick<
  RunWorld,
  'directory' | 'ownFolder' | 'clock' | 'logger' | 'stop' | 'onProgress'
>

export interface Rebuilt {
  readonly load: LoadReport
  readonly build: BuildReport
}

/**
 * Rebuilds the warehouse, with what a user made in the old one. The caller holds the lock of the data directory.
 * @throws ConfigError where some of that cannot be copied; the old one stays then
 */
export async function rebuildWarehouse(
  journal: Journal,
  world: RebuildWorld,
  own: 'keep' | 'drop' = 'keep',
): Promise<Rebuilt & { readonly kept: readonly string[] }> {
  const { warehouse: path } = world.directory
  let kept: readonly string[] = []
  const rebuilt = await rebuild(journal, world, async (made) => {
    if (own === 'keep') kept = await copyOwn(path, made, world.logger)
    await replaceDatabase(path, made)
  })
  return { ...rebuilt, kept }
}

/** @param place gives the new warehouse its name, or leaves it: then it goes */
async function rebuild(
  journal: Journal,
  world: RebuildWorld,
  place: (rebuilt: string) => Promise<void>,
): Promise<Rebuilt> {
  const { logger, directory } = world
  const path = `${directory.warehouse}.replay`
  removeDatabase(path)
  try {
    const load = await withDatabase(path, (warehouse) => loadStage(warehouse, journal, world))
    const old = await readOld(directory.warehouse, logger, 'no_watch_lists', async (open) => ({
      // Of the last build.
      ownFolder: (await readState(open))?.folder ?? null,
      watchLists: await watchListsIn(open),
    }))
    const ownFolder = world.ownFolder ?? old?.ownFolder ?? null
    const build = await withDatabase(path, async (warehouse) => {
      await keepWatchLists(warehouse, old?.watchLists ?? null, readSuppression(journal))
      return buildStage(warehouse, { ...world, ownFolder })
    })
    await place(path)
    return { load, build }
  } finally {
    removeDatabase(path)
  }
}

/** Reads the warehouse that is replaced; null if it is missing or unreadable, which may be the reason for replacing it. */
async function readOld<T>(
  path: string,
  logger: Logger,
  unreadable: string,
  work: (old: Warehouse) => Promise<T>,
): Promise<T | null> {
  if (!existsSync(path)) return null
  try {
    return await withWarehouse({ path, mode: 'read' }, work)
  } catch (error) {
    if (!(error instanceof JobtideError) || error instanceof LockedError) throw error
    logger.warn({ reason: error.message }, unreadable)
    return null
  }
}

/** Works on a database file, which holds all of it when this resolves: nothing is left in its log. */
function withDatabase<T>(path: string, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouse({ path, mode: 'write' }, async (warehouse) => {
    const result = await work(warehouse)
    // Closing would also write the log into the file, but does not report a disk error.
    await warehouse.run('checkpoint')
    return result
  })
}

/**
 * Rebuilds a warehouse of an older schema. One that holds what the journal does not have (tables of the user's own, rows of a
 * restored snapshot) stays, and is brought to this version where it is opened to be written.
 * @param loaded the segments that it was loaded from
 */
export async function rebuildOlder(
  journal: Journal,
  world: RebuildWorld,
  loaded: readonly LoadedSegment[],
): Promise<void> {
  const { directory, logger } = world
  const present = new Set(journal.segments())
  if (present.size === 0 || loaded.some(({ segment }) => !present.has(segment))) return
  if ((await spentWithoutJournal(journal, directory, loaded)) !== null) return
  await rebuild(journal, world, async (path) => {
    if (!(await holdsAllOf(directory.warehouse, path, logger))) return
    // A reader would keep using the old file without noticing.
    const close = await openBareFile(directory.warehouse, 'write')
    close()
    await replaceDatabase(directory.warehouse, path)
    const reason = 'it was of an earlier version; 0 credits were spent'
    logger.warn({ reason }, 'warehouse_rebuilt_from_the_journal')
  })
}

/** Whether a rebuilt warehouse has every event of the old one, and whatever a user made in it. */
async function holdsAllOf(old: string, rebuilt: string, logger: Logger): Promise<boolean> {
  if ((await ownIn(old, rebuilt, logger)).length > 0) return false
  return withWarehouse({ path: rebuilt, mode: 'read' }, async (warehouse) => {
    await warehouse.run(`attach ${quoteText(old)} as old_warehouse (read_only)`)
    const missing = await warehouse.number(
      `select count(*) from old_warehouse.main.job_change_events
       where event_key not in (select event_key from job_change_events)`,
    )
    return missing === 0
  })
}

/** Something in a warehouse that no build makes. */
interface OwnThing {
  /** Such as `main.people_of_mine`. */
  readonly name: string
  readonly kind: 'table' | 'view' | 'macro' | 'sequence' | 'type'
  readonly schema: string
  /** The statement that makes it; null if the engine does not report it. */
  readonly sql: string | null
}

/** Everything a user may have made: all objects except those of builds and our macros. Tables come before the views over them. */
function thingsIn(warehouse: Warehouse): Promise<OwnThing[]> {
  return warehouse.all<OwnThing>(
    `select schema_name || '.' || table_name as name, 'table' as kind, schema_name as schema, sql
       from duckdb_tables()
       where database_name = current_database() and schema_name not in ('core', 'ops')
         and not coalesce(regexp_matches(comment, $1), false)
       union all
       select schema_name || '.' || view_name, 'view', schema_name, sql from duckdb_views()
       where database_name = current_database() and schema_name not in ('core', 'ops') and not internal
         and not coalesce(regexp_matches(comment, $1), false)
       union all
       select schema_name || '.' || sequence_name, 'sequence', schema_name, null from duckdb_sequences()
       where database_name = current_database() and schema_name not in ('core', 'ops')
       union all
       select schema_name || '.' || type_name, 'type', schema_name, null from duckdb_types()
       where database_name = current_database() and not internal
       union all
       select distinct schema_name || '.' || function_name, 'macro', schema_name, null from duckdb_functions()
       where database_name = current_database() and not internal
         and not (ends_with(function_name, '_as_known_on') and parameters[1:2] = ['day', 'seen_by'])
         and function_name not in ('end_of_day', 'known_at_end_of')`,
    [MADE_FROM_MODEL],
  )
}

/**
 * Copies what a user made in the warehouse at `old` into the one at `rebuilt`: tables with their rows, keys and indexes, and
 * views.
 * @returns the names, in the order in which they were made
 * @throws ConfigError naming what cannot be copied
 */
async function copyOwn(old: string, rebuilt: string, logger: Logger): Promise<string[]> {
  const own = await ownIn(old, rebuilt, logger)
  if (own.length === 0) return []
  return withWarehouse({ path: rebuilt, mode: 'write' }, async (warehouse) => {
    await warehouse.run(`attach ${quoteText(old)} as old_warehouse (read_only)`)
    for (const schema of new Set(own.map((thing) => thing.schema))) {
      await warehouse.run(`create schema if not exists ${quoteIdentifier(schema)}`)
    }
    const copied: string[] = []
    let refused = new Map<OwnThing, string>()
    // A view may read another one, and a table refer to another one, so refused objects are tried again after the
    // others.
    for (let left: readonly OwnThing[] = own; left.length > 0; left = [...refused.keys()]) {
      refused = new Map()
      for (const thing of left) {
        const why = await copyThing(warehouse, thing)
        if (why === null) copied.push(thing.name)
        else refused.set(thing, why)
      }
      if (refused.size === left.length) throw notCopied(old, refused)
    }
    await warehouse.run('detach old_warehouse')
    await warehouse.run('checkpoint')
    return copied
  })
}

/** The user's objects in the old warehouse that are not in the new one. */
async function ownIn(old: string, rebuilt: string, logger: Logger): Promise<OwnThing[]> {
  const made = await withWarehouse({ path: rebuilt, mode: 'read' }, thingsIn)
  const there = (await readOld(old, logger, 'no_tables_of_your_own', thingsIn)) ?? []
  // Computed tables have no mark, and may have been in another tier.
  const ours = new Set(made.map(({ name }) => nameInTier(name) ?? name))
  return there.filter(({ name }) => !ours.has(nameInTier(name) ?? name))
}

/** Statements that make the comments of $1, which is a $2 and is spelt $3. */
const COMMENTS = `
  with things as (
    select schema_name, table_name, comment from duckdb_tables() where database_name = 'old_warehouse'
    union all
    select schema_name, view_name, comment from duckdb_views() where database_name = 'old_warehouse'
  ), comments as (
    select schema_name, table_name, $2 || ' ' || $3 as subject, comment from things
    union all
    select schema_name, table_name, 'column ' || $3 || '."' || replace(column_name, '"', '""') || '"', comment
    from duckdb_columns() where database_name = 'old_warehouse'
  )
  select 'comment on ' || subject || ' is ''' || replace(comment, '''', '''''') || '''' as statement
  from comments where schema_name || '.' || table_name = $1 and comment is not null`

/** @returns why it cannot be copied; null where it was */
async function copyThing(warehouse: Warehouse, thing: OwnThing): Promise<string | null> {
  const { name, kind, schema, sql } = thing
  if (sql === null) return `the statement that made the ${kind} is not known`
  try {
    await warehouse.transaction(async () => {
      await warehouse.run(sql)
      const table = [schema, name.slice(schema.length + 1)].map(quoteIdentifier).join('.')
      const comments = await warehouse.all<{ statement: string }>(COMMENTS, [name, kind, table])
      for (const { statement } of comments) await warehouse.run(statement)
      if (kind !== 'table') return
      await warehouse.run(`insert into ${table} from old_warehouse.${table}`)
      const indexes = await warehouse.all<{ sql: string }>(
        `select sql from duckdb_indexes() where database_name = 'old_warehouse' and schema_name || '.' || table_name = $1 and sql is not null`,
        [name],
      )
      for (const index of indexes) await warehouse.run(index.sql)
    })
    return null
  } catch (error) {
    if (!(error instanceof JobtideError) || error.exitCode !== EXIT.defect) throw error
    return messageOf(error).split('\n', 1)[0] ?? ''
  }
}

function notCopied(path: string, refused: ReadonlyMap<OwnThing, string>): ConfigError {
  const all = [...refused].map(([{ name, kind }, why]) => `${kind} ${name} (${why})`)
  const more = all.length > 5 ? ` and ${all.length - 5} more` : ''
  return new ConfigError(
    `${path} holds ${countText(all.length, 'thing')} of your own that cannot be copied to a new warehouse: ${all.slice(0, 5).join(', ')}${more}`,
    {
      hint: 'Drop the ones named here and make them again afterwards, or drop all of your own: `jobtide replay --drop-own`. Nothing was changed.',
      context: { names: [...refused.keys()].map(({ name }) => name) },
    },
  )
}
