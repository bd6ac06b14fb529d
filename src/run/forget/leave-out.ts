/** Keeps a restored warehouse from bringing back who was forgotten meanwhile. */

import { openJournal } from '../../journal/journal.ts'
import { readSuppression } from '../../load/suppression.ts'
import { buildModels } from '../../model/build.ts'
import type { Clock } from '../../support/clock.ts'
import { newUlid } from '../../support/ulid.ts'
import { countRows, eraseRows, rewriteWarehouse, type Erased } from '../../warehouse/erase.ts'
import { withWarehouse } from '../../warehouse/warehouse.ts'
import { dataDirectory } from '../data-directory.ts'

/**
 * Takes whoever is on the suppression list of a data directory, and events that are too old by it, out of a warehouse file
 * for good, and builds every table anew without them: rows of others name them, too. A warehouse without any of it stays
 * as it is.
 * @param path a warehouse that nobody has open
 * @returns how many people that were
 * @throws CheckFailedError when the tables without them do not pass every check
 */
export async function leaveOutForgotten(
  path: string,
  dataDir: string,
  clock: Clock,
): Promise<number> {
  const suppression = readSuppression(openJournal(dataDirectory(dataDir).journal, clock))
  if (suppression.isEmpty) return 0
  const people = await withWarehouse({ path, mode: 'write' }, async (warehouse) => {
    const known = await warehouse.all<{ profile_id: string }>(
      'select distinct profile_id from job_change_events union select profile_id from people',
    )
    const forgotten = known
      .map(({ profile_id: id }) => id)
      .filter((id) => suppression.coversPerson(id))
    const { eventsBefore } = suppression
    const erased: Erased = {
      profileIds: forgotten,
      eventsBefore: eventsBefore === null ? null : new Date(eventsBefore),
      isErasedReject: () => false,
    }
    if (Object.keys(await countRows(warehouse, erased)).length === 0) return null
    await eraseRows(warehouse, erased)
    const now = clock.now()
    await buildModels(warehouse, { buildId: newUlid(now), builtAt: new Date(now), clock })
    return forgotten.length
  })
  if (people === null) return 0
  await rewriteWarehouse(path)
  return people
}
