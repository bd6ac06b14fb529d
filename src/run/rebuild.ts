/**
 * Rebuilds the warehouse from the journal for 0 credits, and replaces the old one when it is complete. Used by a replay, and
 * by the first writing command of a new version with a newer schema.
 */

import { existsSync } from 'node:fs'
import type { Journal } from '../journal/journal.ts'
import { readSuppression } from '../load/suppression.ts'
import { readState } from '../model/build-state.ts'
import { MADE_FROM_MODEL } from '../model/tables.ts'
import { ConfigError, JobtideError, LockedError } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import { countText } from '../support/numbers.ts'
import { nameInTier } from '../warehouse/catalog.ts'
import { removeDatabase, replaceDatabase } from '../warehouse/database-file.ts'
import { quoteText } from '../warehouse/sql-text.ts'
import { openBareFile, withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { spentWithoutJournal, type LoadedSegment } from './lost-journal.ts'
import { buildStage, loadStage, type RunWorld } from './stages.ts'
import { keepWatchLists, watchListsIn } from './watch-lists.ts'

/**
 * Rebuilds the warehouse. The caller holds the lock of the data directory.
 * @param own what a user made in the old one
 * @throws ConfigError where there is some of that, unless it is dropped; the old one stays then
 */
export function rebuildWarehouse(
  journal: Journal,
  world: RunWorld,
  own: 'refuse' | 'drop' = 'refuse',
) {
  const { warehouse: path } = world.directory
  return rebuild(journal, world, async (made) => {
    if (own === 'refuse') refuseOwn(path, await ownIn(path, made, world.logger))
    await replaceDatabase(path, made)
  })
}

function refuseOwn(path: string, own: readonly OwnThing[]): void {
  if (own.length === 0) return
  const names = own.map(({ name }) => name)
  const shown = own.slice(0, 5).map(({ kind, name }) => `${kind} ${name}`)
  const more = own.length > 5 ? ` and ${own.length - 5} more` : ''
  throw new ConfigError(
    `${path} holds ${countText(own.length, 'thing')} of your own: ${shown.join(', ')}${more}`,
    {
      hint: 'Copy what you need to another DuckDB file, or make it with files of models/. Then run `jobtide replay --drop-own`: it drops all of them. Nothing was changed.',
      context: { names },
    },
  )
}

/** @param place gives the new warehouse its name, or leaves it: then it goes */
async function rebuild(
  journal: Journal,
  world: RunWorld,
  place: (rebuilt: string) => Promise<void>,
) {
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
      await keepWatchLists(warehouse, old?.watchLists ?? [], readSuppression(journal))
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
  world: RunWorld,
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
    await close()
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
}

/** Everything a user may have made: all objects except those of builds and our macros. */
function thingsIn(warehouse: Warehouse): Promise<OwnThing[]> {
  return warehouse.all<OwnThing>(
    `select schema_name || '.' || table_name as name, 'table' as kind
       from duckdb_tables()
       where database_name = current_database() and schema_name not in ('core', 'ops')
         and not coalesce(regexp_matches(comment, $1), false)
       union all
       select schema_name || '.' || view_name, 'view' from duckdb_views()
       where database_name = current_database() and schema_name not in ('core', 'ops') and not internal
         and not coalesce(regexp_matches(comment, $1), false)
       union all
       select schema_name || '.' || sequence_name, 'sequence' from duckdb_sequences()
       where database_name = current_database() and schema_name not in ('core', 'ops')
       union all
       select schema_name || '.' || type_name, 'type' from duckdb_types()
       where database_name = current_database() and not internal
       union all
       select distinct schema_name || '.' || function_name, 'macro' from duckdb_functions()
       where database_name = current_database() and not internal
         and not (ends_with(function_name, '_as_known_on') and parameters[1:2] = ['day', 'seen_by'])
         and function_name not in ('end_of_day', 'known_at_end_of', 'is_seat_of_staff', 'is_held_beside')`,
    [MADE_FROM_MODEL],
  )
}

/** The user's objects in the old warehouse that are not in the new one. */
async function ownIn(old: string, rebuilt: string, logger: Logger): Promise<OwnThing[]> {
  const made = await withWarehouse({ path: rebuilt, mode: 'read' }, thingsIn)
  const there = (await readOld(old, logger, 'no_tables_of_your_own', thingsIn)) ?? []
  // Computed tables have no mark, and may have been in another tier.
  const ours = new Set(made.map(({ name }) => nameInTier(name) ?? name))
  return there.filter(({ name }) => !ours.has(nameInTier(name) ?? name))
}
