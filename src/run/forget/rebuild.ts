/** Takes what is not kept out of the data directory: out of segments of the journal, and out of a warehouse. */

import {
  eraseFromSegment,
  findInSegment,
  type ErasedSegment,
  type SegmentFindings,
} from '../../journal/erase-events.ts'
import { openJournal } from '../../journal/journal.ts'
import { cutEvents } from '../../load/cut-events.ts'
import { readSuppression, type Suppression } from '../../load/suppression.ts'
import { jsonOrNull } from '../../support/json.ts'
import {
  compactDatabase,
  countErasable,
  deleteErasable,
  type ErasableRows,
  type RowsByTable,
} from '../../warehouse/erase-rows.ts'
import { withWarehouse } from '../../warehouse/warehouse.ts'
import { buildStage, type RunWorld } from '../stages.ts'
import { tell, type ErasureWorld } from './world.ts'

/**
 * Looks for events in segments of the journal.
 * @throws JournalLossError when segments of it are lost: half of what is there would look like all of it
 */
export function findInJournal(
  world: ErasureWorld,
  isErased: (event: unknown) => boolean,
  only?: readonly string[],
): SegmentFindings[] {
  const journal = openJournal(world.directory.journal, world.clock)
  journal.check()
  const segments = journal.segments().filter((segment) => only?.includes(segment) ?? true)
  return segments.flatMap((segment, index) => {
    const found = findInSegment(journal, segment, (body) => cutEvents(body, isErased))
    tell(world, 'searching the journal', index + 1, segments.length)
    return found ?? []
  })
}

// Past the end of any segment: a sealed one never grows.
const ANY_END = 2n ** 53n

/**
 * Rewrites the segments that hold events which are not kept. All of them are loaded.
 * @param which all segments, or those in which a load left such events out
 */
export async function eraseFromJournal(
  world: ErasureWorld,
  which: 'all' | 'noted',
): Promise<ErasedSegment[]> {
  const { directory, clock } = world
  const journal = openJournal(directory.journal, clock)
  const suppression = readSuppression(journal)
  const isErased = (event: unknown) => suppression.coversEvent(event)
  return withWarehouse({ path: directory.warehouse, mode: 'write' }, async (warehouse) => {
    const noted = await warehouse.all<{ segment: string }>('from ops.segments_to_erase order by 1')
    const only = which === 'all' ? undefined : noted.map(({ segment }) => segment)
    const found = findInJournal(world, isErased, only)
    for (const { segment } of found) {
      // Before they are rewritten: no load begins within a record of the new segment.
      await warehouse.run('update ops.journal_positions set bytes = $2 where segment = $1', [
        segment,
        ANY_END,
      ])
    }
    const erased = found.map((one, index) => {
      tell(world, 'rewriting the journal', index, found.length)
      return eraseFromSegment(journal, one, (body) => cutEvents(body, isErased))
    })
    await warehouse.run('delete from ops.segments_to_erase')
    return erased
  })
}

type RebuildWorld = Pick<RunWorld, 'directory' | 'clock' | 'onProgress' | 'stop'>

/**
 * Takes people, and events that are too old by the suppression list, out of a warehouse that no process has open, builds the
 * models again, and writes the file again, so that no byte of them is left. Stopped at any point, it can be called again.
 * @param onDeleted is told the rows that are gone, by table, as soon as they are
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function rebuildWithout(
  world: RebuildWorld,
  path: string,
  profileIds: readonly string[],
  onDeleted?: (rows: RowsByTable) => void,
): Promise<void> {
  const rows = erasableRows(suppressionOf(world), profileIds)
  const counts = await withWarehouse({ path, mode: 'write' }, (warehouse) =>
    deleteErasable(warehouse, rows),
  )
  onDeleted?.(counts)
  await withWarehouse({ path, mode: 'write' }, (warehouse) => buildStage(warehouse, world))
  await compactDatabase(path)
}

/**
 * Keeps a restored warehouse from bringing back who was erased meanwhile: leaves out people on the suppression list of the
 * data directory, and events that are too old by it. A warehouse without any of it stays as it is.
 * @param path a warehouse that no process has open
 * @returns how many people that were
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function leaveOutErased(world: RebuildWorld, path: string): Promise<number> {
  const suppression = suppressionOf(world)
  if (suppression.isEmpty) return 0
  const { ids, isClean } = await withWarehouse({ path, mode: 'read' }, async (warehouse) => {
    const erased: string[] = []
    const known = await warehouse.stream('select distinct profile_id from job_change_events')
    for await (const rows of known.batches) {
      const people = rows.map(([id]) => String(id))
      erased.push(...people.filter((id) => suppression.coversPerson(id)))
    }
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
