/** What every process that buys holds while it does: the lock of its pipeline, and a journal segment of its own. */

import { openJournal, type Journal, type JournalWriter } from '../journal/journal.ts'
import { readHistory, saveCheckpoint } from '../journal/read-history.ts'
import type { History } from '../journal/history.ts'
import { messageOf } from '../support/errors.ts'
import type { Job } from './job.ts'
import { acquireRunLock, recoverJournal } from './lock.ts'
import type { RunWorld } from './stages.ts'

/** A process that may buy for one pipeline. */
export interface Session {
  readonly journal: Journal
  readonly writer: JournalWriter
  /** What the journal said when the session began. */
  readonly history: History
}

/**
 * Works with the pipeline's lock, a recovered journal and a writer, and gives everything back afterwards.
 * @throws LockedError when the pipeline runs in another process
 * @throws JournalLossError when sealed segments of the journal are lost, unless the job accepts that
 */
export async function withSession<T>(
  job: Job,
  command: string,
  world: RunWorld,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { directory, clock } = world
  const lock = acquireRunLock(directory.root, job.pipeline, command, clock)
  try {
    const journal = openJournal(directory.journal, clock)
    const losses = job.acceptLoss ? 'accept' : 'refuse'
    for (const reason of await recoverJournal(directory.root, journal, lock, clock, losses)) {
      world.logger.warn({ reason }, 'journal.loss_accepted')
    }
    const writer = journal.writer()
    try {
      return await work({ journal, writer, history: readHistory(journal) })
    } finally {
      // Closing seals the segment, which a full disk refuses; the lock is given back all the same.
      await writer.close()
      keepCheckpoint(journal, world)
    }
  } finally {
    lock.release()
  }
}

// Without it the next start reads more of the journal, and nothing is lost.
function keepCheckpoint(journal: Journal, { logger }: RunWorld): void {
  try {
    saveCheckpoint(journal)
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, 'no_checkpoint')
  }
}
