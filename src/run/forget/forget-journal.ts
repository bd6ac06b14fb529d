/** The journal's part of forgetting: which pages hold events that are not kept, and taking them out. */

import {
  eraseFromJournal,
  findInSegment,
  type CutPage,
  type ErasedSegment,
  type Findings,
} from '../../journal/erase.ts'
import type { Journal } from '../../journal/journal.ts'
import { cutEvents } from '../../load/cut-events.ts'
import { load } from '../../load/load.ts'
import type { Suppression } from '../../load/suppression.ts'
import { jsonOrNull } from '../../support/json.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import type { DataDirectory } from '../data-directory.ts'

/** Whether an event as sent goes. */
export type IsErased = (event: unknown) => boolean

/**
 * Looks through the whole journal.
 * @param onEvent called with each event found, as sent
 * @throws JournalLossError when segments of it are lost
 */
export function findInJournal(
  journal: Journal,
  isErased: IsErased,
  onEvent: (event: unknown) => void,
  onSegment?: (done: number, total: number) => void,
): Findings[] {
  const cut: CutPage = (body) =>
    cutEvents(body, (event) => {
      const found = isErased(event)
      if (found) onEvent(event)
      return found
    })
  journal.check()
  const segments = journal.segments()
  return segments.flatMap((segment, index) => {
    const found = findInSegment(journal, segment, cut)
    onSegment?.(index + 1, segments.length)
    return found ?? []
  })
}

/** What taking events out of the journal needs. */
export interface JournalErasure {
  readonly directory: DataDirectory
  readonly journal: Journal
  readonly suppression: Suppression
  /** Default: all. */
  readonly segments?: readonly string[]
  readonly onSegment?: (done: number, total: number) => void
}

/**
 * Brings the warehouse up to date, takes out of the journal what is not kept, and keeps the warehouse's positions in it
 * true. The caller is the only one at work in the data directory, and the journal is recovered.
 */
export async function eraseJournal(options: JournalErasure): Promise<ErasedSegment[]> {
  const { directory, journal, suppression, onSegment } = options
  return withWarehouse({ path: directory.warehouse, mode: 'write' }, async (warehouse) => {
    // So that every position is at the end of its segment, and need not be found again in the middle of a new one.
    await load({ warehouse, journal })
    const present = new Set(journal.segments())
    const segments = options.segments?.filter((segment) => present.has(segment)) ?? [...present]
    const erased = await eraseFromJournal(journal, segments, {
      cut: (body) => cutEvents(body, suppression.coversEvent),
      // Not below either size: stopped between this and the rename, a load must not begin within a record.
      beforeReplacing: (segment, before, after) =>
        movePosition(warehouse, segment, Math.max(before, after)),
      ...(onSegment === undefined ? {} : { onProgress: onSegment }),
    })
    await warehouse.transaction(async () => {
      for (const { segment, bytesAfter } of erased) {
        await movePosition(warehouse, segment, bytesAfter)
      }
      for (const segment of segments) {
        await warehouse.run('delete from ops.segments_to_erase where segment = $1', [segment])
      }
    })
    return erased
  })
}

async function movePosition(warehouse: Warehouse, segment: string, bytes: number): Promise<void> {
  await warehouse.run(
    'update ops.journal_positions set bytes = $2, organization_bytes = $2 where segment = $1',
    [segment, BigInt(bytes)],
  )
}

/** The event of a reject; one that was nested too deeply to be kept has a fixed text, which is no JSON and names nobody. */
export function eventOfReject(text: string): unknown {
  return jsonOrNull(text)
}
