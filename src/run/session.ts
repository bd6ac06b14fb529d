/** What a process that buys holds while it does: the lock of the data directory, and the journal's writer. */

import { openJournal, type Journal, type JournalWriter } from '../journal/journal.ts'
import { readHistory, saveCheckpoint } from '../journal/read-history.ts'
import type { History } from '../journal/history.ts'
import { messageOf } from '../support/errors.ts'
import type { Job } from './job.ts'
import { acquireLock } from './lock.ts'
import type { RunWorld } from './stages.ts'

/** A process that may buy. */
export interface Session {
  readonly journal: Journal
  readonly writer: JournalWriter
  /** What the journal said when the session began. */
  readonly history: History
}

/**
 * Works with the lock of the data directory, a recovered journal and its writer, and gives everything back afterwards.
 * @param maxWaitMs how long to wait for the lock, in milliseconds
 * @throws LockedError when another process works in the data directory for longer than that
 * @throws JournalLossError when sealed segments of the journal are lost, unless the job accepts that
 */
export async function withSession<T>(
  job: Job,
  command: string,
  world: RunWorld,
  work: (session: Session) => Promise<T>,
  maxWaitMs = job.maxWaitMs,
): Promise<T> {
  const { directory, clock, stop, logger } = world
  const lock = await acquireLock(directory.root, {
    command,
    pipeline: job.pipeline,
    clock,
    maxWaitMs,
    stop,
    onWait: ({ message }) => logger.warn({ reason: message }, 'waiting_for_lock'),
    givesWay: command === 'backfill',
  })
  try {
    const journal = openJournal(directory.journal, clock)
    for (const reason of journal.recover(job.acceptLoss ? 'accept' : 'refuse')) {
      logger.warn({ reason }, 'journal.loss_accepted')
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
