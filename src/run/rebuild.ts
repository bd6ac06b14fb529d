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
import { JobtideError, LockedError } from '../support/errors.ts'
import type { Logger } from '../support/logger.ts'
import { removeDatabase, replaceDatabase } from '../warehouse/database-file.ts'
import { quoteText } from '../warehouse/sql-text.ts'
import { openBareFile, withWarehouse, type Warehouse } from '../warehouse/warehouse.ts'
import { spentWithoutJournal, type LoadedSegment } from './lost-journal.ts'
import { copyOwn, ownIn } from './own-tables.ts'
import { buildStage, loadStage, type RunWorld } from './stages.ts'
import { copyWatchLists } from './watch-lists.ts'

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
  const { warehouse: path } = world.directory
  const rebuilt = `${path}.replay`
  removeDatabase(rebuilt)
  try {
    const load = await withDatabase(rebuilt, (warehouse) => loadStage(warehouse, journal, world))
    const suppression = readSuppression(journal)
    const ownFolder = world.ownFolder ?? (await recordedOwnFolder(path))
    const build = await withDatabase(rebuilt, async (warehouse) => {
      await copyWatchLists(path, warehouse, suppression, world.logger)
      return buildStage(warehouse, { ...world, ownFolder })
    })
    await place(rebuilt)
    return { load, build }
  } finally {
    removeDatabase(rebuilt)
  }
}

/** The folder that the last build of a warehouse used; null where it used none, or the warehouse cannot be read. */
async function recordedOwnFolder(path: string): Promise<string | null> {
  if (!existsSync(path)) return null
  try {
    const state = await withWarehouse({ path, mode: 'read' }, readState)
    return state?.folder ?? null
  } catch (error) {
    // The problem with the file may be the reason for replacing it.
    if (!(error instanceof JobtideError) || error instanceof LockedError) throw error
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
