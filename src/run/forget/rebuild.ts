/** Removes erased data from the data directory: from segments of the journal, and from a warehouse. */

import {
  eraseFromSegment,
  findInSegment,
  type CutPage,
  type ErasedSegment,
} from '../../journal/erase-events.ts'
import { openJournal } from '../../journal/journal.ts'
import { cutAnswer, cutEvents, leaveOut, type IsNamed } from '../../load/remove-suppressed.ts'
import { ANY_END } from '../../load/load.ts'
import { readSuppression } from '../../load/suppression.ts'
import { EXIT, JobtideError, messageOf } from '../../support/errors.ts'
import { compactDatabase, type RowsByTable } from '../../warehouse/erase-rows.ts'
import { withWarehouse, type Warehouse } from '../../warehouse/warehouse.ts'
import type { RebuildWorld } from '../rebuild.ts'
import { buildStage } from '../stages.ts'
import type { Marker } from './pending.ts'
import { namingOf, tell, type ErasureWorld } from './search.ts'

/**
 * Searches segments of the journal for events.
 * @throws JournalLossError if segments are lost, because the rest would look complete
 */
export function findInJournal(world: ErasureWorld, cut: CutPage, only?: readonly string[]) {
  const journal = openJournal(world.directory.journal, world.clock)
  journal.check()
  const segments = journal.segments().filter((segment) => only?.includes(segment) ?? true)
  return segments.flatMap((segment, index) => {
    const found = findInSegment(journal, segment, cut)
    tell(world, 'searching the journal', index + 1, segments.length)
    return found ?? []
  })
}

/** Removes erased events from pages, and text that names their people from answers. */
export function cutting(isErased: (event: unknown) => boolean, isNamed: IsNamed): CutPage {
  return (body, record) => {
    if (record.kind === 'page_received') return cutEvents(body, isErased)
    return cutAnswer(body, isNamed, record.kind === 'answer_received' ? record.subject : '')
  }
}

/**
 * Rewrites the segments that hold events which are not kept. All of them are loaded.
 * @param which all segments, or those in which a load left such events out
 */
export async function eraseFromJournal(
  world: ErasureWorld,
  which: 'all' | 'noted',
  markers: readonly Marker[] = [],
): Promise<ErasedSegment[]> {
  const { directory, clock } = world
  const journal = openJournal(directory.journal, clock)
  const suppression = readSuppression(journal)
  const isNamed = namingOf(markers)
  const cut = cutting(
    (event) => suppression.coversEvent(event),
    (text, member) => suppression.coversText(text, member) || isNamed(text),
  )
  return writing(directory.warehouse, async (warehouse) => {
    const noted = await warehouse.all<{ segment: string }>('from ops.segments_to_erase order by 1')
    const only = which === 'all' ? undefined : noted.map(({ segment }) => segment)
    const found = findInJournal(world, cut, only)
    for (const { segment } of found) {
      // Before they are rewritten, so that no load begins within a record of the new segment.
      await warehouse.run('update ops.journal_positions set bytes = $2 where segment = $1', [
        segment,
        ANY_END,
      ])
    }
    const erased = found.map((one, index) => {
      tell(world, 'rewriting the journal', index, found.length)
      return eraseFromSegment(journal, one, cut)
    })
    await warehouse.run('delete from ops.segments_to_erase')
    return erased
  })
}

/**
 * Takes people, and events that are too old by the suppression list, out of a warehouse that no process has open, builds the
 * models again, and writes the file again, so that no byte of them is left. Stopped at any point, it can be called again.
 * @param onDeleted called with the deleted rows by table, as soon as they are deleted
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function rebuildWithout(
  world: RebuildWorld,
  path: string,
  { profileIds, markers }: { profileIds: readonly string[]; markers: readonly Marker[] },
  onDeleted: (rows: RowsByTable) => void,
): Promise<void> {
  await writing(path, async (warehouse) => {
    const also = { profileIds, isNamed: namingOf(markers) }
    const { rows } = await leaveOut(warehouse, suppressionOf(world), also)
    onDeleted(rows)
  })
  await buildAgain(world, path)
}

/**
 * Builds, and rewrites the file. If one of the user's own models or checks is wrong or fails, all are left out, so that
 * none keeps a person in.
 */
async function buildAgain(world: RebuildWorld, path: string): Promise<void> {
  const build = (how?: Parameters<typeof buildStage>[2]) =>
    writing(path, (warehouse) => buildStage(warehouse, world, how))
  try {
    await build()
  } catch (error) {
    const { exitCode } = error instanceof JobtideError ? error : { exitCode: EXIT.defect }
    if (exitCode !== EXIT.usage && exitCode !== EXIT.checkFailed) throw error
    await build({ ownFolder: undefined })
    world.logger.warn({ reason: messageOf(error) }, 'own_models_left_out')
  }
  await rewrite(path)
}

/**
 * Keeps a restored warehouse from bringing back who was erased meanwhile: leaves out people on the suppression list of the
 * data directory, and events that are too old by it. A warehouse without any of it stays as it is.
 * @param path a warehouse that no process has open
 * @returns how many people that were
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function leaveOutErased(world: RebuildWorld, path: string): Promise<number> {
  const { people, rows } = await writing(path, (warehouse) =>
    leaveOut(warehouse, suppressionOf(world)),
  )
  if (Object.keys(rows).length > 0) await buildAgain(world, path)
  return people
}

/** Rewrites the file if a load deleted erased rows. @returns whether it did */
export async function rewriteIfDue(path: string): Promise<boolean> {
  const due = await withWarehouse({ path, mode: 'read' }, (warehouse) =>
    warehouse.number('select count(*) from ops.suppression where not is_rewritten'),
  )
  if (due > 0) await rewrite(path)
  return due > 0
}

async function rewrite(path: string): Promise<void> {
  await compactDatabase(path)
  await writing(path, (open) => open.run('update ops.suppression set is_rewritten = true'))
}

function writing<T>(path: string, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  return withWarehouse({ path, mode: 'write' }, work)
}

function suppressionOf({ directory, clock }: Pick<RebuildWorld, 'directory' | 'clock'>) {
  return readSuppression(openJournal(directory.journal, clock))
}
