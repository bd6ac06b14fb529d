/** The journal's part of an erasure: which pages hold events that are not kept, and taking them out. */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  eraseFromSegment,
  findInSegment,
  type ErasedSegment,
  type SegmentFindings,
} from '../../journal/erase.ts'
import { openJournal, type Journal } from '../../journal/journal.ts'
import { cutEvents } from '../../load/cut-events.ts'
import { load } from '../../load/load.ts'
import { readSuppression } from '../../load/suppression.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
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

/** Past the end of any segment, rewritten or not: a sealed one never grows. */
const ANY_END = 2n ** 53n

/**
 * Brings the warehouse up to date and rewrites the segments that hold events which are not kept.
 * @param which all segments, or those in which a load left such events out
 */
export async function eraseFromJournal(
  world: ErasureWorld,
  which: 'all' | 'noted',
): Promise<ErasedSegment[]> {
  const { directory, clock, onProgress } = world
  const journal = openJournal(directory.journal, clock)
  const suppression = readSuppression(journal)
  const isErased = (event: unknown) => suppression.coversEvent(event)
  return withWarehouse({ path: directory.warehouse, mode: 'write' }, async (warehouse) => {
    await load({
      warehouse,
      journal,
      onProgress: (progress) => onProgress({ stage: 'load', ...progress }),
    })
    const noted = await warehouse.all<{ segment: string }>('from ops.segments_to_erase order by 1')
    const only = which === 'all' ? undefined : noted.map(({ segment }) => segment)
    const found = findInJournal(world, isErased, only)
    // Killed between this and the end, no load begins within a record of a rewritten segment.
    for (const { segment } of found) await movePosition(warehouse, segment, ANY_END)
    const erased = found.map((one, index) => {
      tell(world, 'rewriting the journal', index, found.length)
      return eraseFromSegment(journal, one, (body) => cutEvents(body, isErased))
    })
    await warehouse.transaction(async () => {
      for (const { segment } of erased) {
        await movePosition(warehouse, segment, sizeOf(journal, segment))
      }
      await warehouse.run('delete from ops.segments_to_erase')
    })
    return erased
  })
}

async function movePosition(warehouse: Warehouse, segment: string, bytes: bigint): Promise<void> {
  await warehouse.run('update ops.journal_positions set bytes = $2 where segment = $1', [
    segment,
    bytes,
  ])
}

function sizeOf({ folder }: Journal, segment: string): bigint {
  return BigInt(statSync(join(folder, segment)).size)
}
