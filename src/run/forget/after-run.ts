/** What is erased at the end of a run: events of erased people that it bought, events that grew too old, what was left. */

import { openJournal } from '../../journal/journal.ts'
import { readSuppression } from '../../load/suppression.ts'
import { LockedError } from '../../support/errors.ts'
import { DAY } from '../../support/units.ts'
import { erase, type Certificate } from './erase.ts'
import { readPending } from './pending.ts'
import type { ErasureWorld } from './world.ts'

/**
 * Pages are kept as they come, because they were paid for; so events of an erased person are on the disk until the end of
 * the run that bought them. Call it when the run has closed its journal segment.
 *
 * Events that changed and were detected more than `retentionDays` ago go a month at a time, because all of the journal and
 * the warehouse is written for it: from the first of a month on, everything goes that would come to be too old in that
 * month. So no event is ever kept for longer.
 * @param retentionDays 1 to 100,000; null keeps events of any age
 * @returns null when nothing was left to erase, or it is left to the end of the next run, because others are at work
 */
export async function eraseAfterRun(
  world: ErasureWorld,
  retentionDays: number | null,
): Promise<Certificate | null> {
  const { directory, clock, logger } = world
  const suppression = readSuppression(openJournal(directory.journal, clock))
  const cutoff = retentionDays === null ? null : monthAfter(clock.now()) - retentionDays * DAY
  const isDue = cutoff !== null && (suppression.eventsBefore ?? Number.NEGATIVE_INFINITY) < cutoff
  if (suppression.isEmpty && !isDue && readPending(directory.root) === null) return null
  try {
    const certificate = await erase(world, { profileIds: [], eventsBefore: isDue ? cutoff : null })
    if (certificate?.is_complete === false) {
      logger.warn({ remaining: certificate.remaining }, 'erasure.incomplete')
    }
    return certificate
  } catch (error) {
    if (!(error instanceof LockedError)) throw error
    logger.info({ reason: error.message }, 'erasure.postponed')
    return null
  }
}

/** The first instant of the next month, UTC. */
function monthAfter(nowMs: number): number {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
}
