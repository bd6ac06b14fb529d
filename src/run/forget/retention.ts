/**
 * What is done after each run so that what is not kept does not stay: events of forgotten people that the service sent
 * again, and events that have grown too old. Where another process is at work, it is left to the end of the next run.
 */

import type { ErasedSegment } from '../../journal/erase.ts'
import { openJournal } from '../../journal/journal.ts'
import { readSuppression } from '../../load/suppression.ts'
import { isoInstant } from '../../support/clock.ts'
import { LockedError } from '../../support/errors.ts'
import { DAY } from '../../support/units.ts'
import { withWarehouse } from '../../warehouse/warehouse.ts'
import type { Certificate } from './forget-certificate.ts'
import { eraseJournal } from './forget-journal.ts'
import { acquireAlone } from './forget-lock.ts'
import { forget } from './forget.ts'
import type { ForgetWorld } from './forget-world.ts'

/**
 * Takes out of the journal what load had to leave out. Pages are kept as they come, because they were paid for; so the
 * events of somebody who was forgotten are on the disk until the end of the run that bought them. Call it when the run has
 * closed its journal segment.
 * @returns the segments that were written anew; none when there was nothing to do, or others are at work
 */
export async function eraseArrivals(
  world: Pick<ForgetWorld, 'directory' | 'clock' | 'logger'>,
): Promise<ErasedSegment[]> {
  const { directory, clock } = world
  const journal = openJournal(directory.journal, clock)
  const suppression = readSuppression(journal)
  if (suppression.isEmpty) return []
  return whenAlone(world, [], async () => {
    journal.recover()
    const segments = await withWarehouse(
      { path: directory.warehouse, mode: 'write' },
      (warehouse) =>
        warehouse.all<{ segment: string }>('select segment from ops.segments_to_erase order by 1'),
    )
    if (segments.length === 0) return []
    const names = segments.map(({ segment }) => segment)
    return eraseJournal({ directory, journal, suppression, segments: names })
  })
}

/**
 * Erases events that changed and were detected more than `days` days ago, from journal and warehouse; snapshots go by their
 * own retention. A month at a time, because all of the journal and the warehouse is written anew for it: from the first of
 * a month on, everything goes that would come to be too old in that month. So no event is ever kept for longer than `days`.
 * @param days 1 to 100,000
 * @returns null when this month's is done, or others are at work
 */
export async function applyRetention(
  world: ForgetWorld,
  days: number,
): Promise<Certificate | null> {
  const { directory, clock, logger } = world
  const cutoff = monthAfter(clock.now()) - days * DAY
  const { eventsBefore } = readSuppression(openJournal(directory.journal, clock))
  if (eventsBefore !== null && eventsBefore >= cutoff) return null
  logger.info({ events_before: isoInstant(cutoff) }, 'retention.begins')
  try {
    return await forget(world, { profileIds: [], eventsBefore: cutoff })
  } catch (error) {
    return leaveForLater(world, error, null)
  }
}

/** The first instant of the next month, UTC. */
function monthAfter(nowMs: number): number {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
}

async function whenAlone<T>(
  world: Pick<ForgetWorld, 'directory' | 'clock' | 'logger'>,
  otherwise: T,
  work: () => Promise<T>,
): Promise<T> {
  const { directory, clock } = world
  try {
    const lock = acquireAlone(directory.root, 'erase', clock)
    try {
      return await work()
    } finally {
      lock.release()
    }
  } catch (error) {
    return leaveForLater(world, error, otherwise)
  }
}

function leaveForLater<T>(
  { logger }: Pick<ForgetWorld, 'logger'>,
  error: unknown,
  otherwise: T,
): T {
  if (!(error instanceof LockedError)) throw error
  logger.info({ reason: error.message }, 'retention.later')
  return otherwise
}
