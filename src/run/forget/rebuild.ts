/** A warehouse file made again from its own rows, without those that are not kept. */

import { openJournal } from '../../journal/journal.ts'
import { readSuppression, type Suppression } from '../../load/suppression.ts'
import { jsonOrNull } from '../../support/json.ts'
import { removeDatabase, replaceDatabase } from '../../warehouse/database-file.ts'
import {
  copyWithout,
  countErasable,
  type ErasableRows,
  type RowsByTable,
} from '../../warehouse/erase.ts'
import { withWarehouse } from '../../warehouse/warehouse.ts'
import { buildStage, type RunWorld } from '../stages.ts'

type RebuildWorld = Pick<RunWorld, 'directory' | 'clock' | 'onProgress' | 'stop'>

/**
 * Makes a warehouse again without people, and without events that are too old by the suppression list. No process may have it
 * open.
 * @returns the rows that are gone, by table
 * @throws CheckFailedError when the tables without them do not pass every check: then the file is as it was
 */
export async function rebuildWithout(
  world: RebuildWorld,
  path: string,
  profileIds: readonly string[],
): Promise<RowsByTable> {
  const rows = erasableRows(suppressionOf(world), profileIds)
  const counts = await withWarehouse({ path, mode: 'read' }, (warehouse) =>
    countErasable(warehouse, rows),
  )
  const fresh = `${path}.erased`
  try {
    await copyWithout(path, fresh, rows)
    await withWarehouse({ path: fresh, mode: 'write' }, async (warehouse) => {
      await buildStage(warehouse, world)
      await warehouse.run('checkpoint')
    })
    await replaceDatabase(path, fresh)
    return counts
  } finally {
    removeDatabase(fresh)
  }
}

/**
 * Keeps a restored warehouse from bringing back who was erased meanwhile: makes it again without people on the suppression
 * list of the data directory, and without events that are too old by it. A warehouse without any of it stays as it is.
 * @param path a warehouse that no process has open
 * @returns how many people that were
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function leaveOutErased(world: RebuildWorld, path: string): Promise<number> {
  const suppression = suppressionOf(world)
  if (suppression.isEmpty) return 0
  const { ids, isClean } = await withWarehouse({ path, mode: 'read' }, async (warehouse) => {
    const known = await warehouse.all<{ id: string }>(
      'select distinct profile_id as id from job_change_events',
    )
    const erased = known.map(({ id }) => id).filter((id) => suppression.coversPerson(id))
    const counts = await countErasable(warehouse, erasableRows(suppression, erased))
    return { ids: erased, isClean: Object.keys(counts).length === 0 }
  })
  if (!isClean) await rebuildWithout(world, path, ids)
  return ids.length
}

function suppressionOf({ directory, clock }: RebuildWorld): Suppression {
  return readSuppression(openJournal(directory.journal, clock))
}

function erasableRows(suppression: Suppression, profileIds: readonly string[]): ErasableRows {
  return {
    profileIds,
    eventsBefore: suppression.eventsBefore,
    // One that was nested too deeply to be kept has a fixed text, which is no JSON and names nobody.
    isErasedReject: (text) => suppression.coversEvent(jsonOrNull(text)),
  }
}
