/** Takes deliveries out of the inbox into the journal, from where they are loaded like all else. */

import { existsSync } from 'node:fs'
import { deliveriesIn, filesOfInbox, leftInInbox } from '../inbox/inbox.ts'
import type { Journal } from '../journal/journal.ts'
import { removeFile } from '../support/atomic-file.ts'
import type { RunWorld } from './stages.ts'

/**
 * Takes all that are there. The caller has the lock. Killed at any point, what is taken again is one delivery all the same.
 * @throws StorageError when the disk refuses; then each delivery is in the inbox, in the journal, or in both
 */
export async function takeInbox(
  journal: Journal,
  { directory, clock, logger }: Pick<RunWorld, 'directory' | 'clock' | 'logger'>,
): Promise<void> {
  const { inbox, warehouse } = directory
  for (const file of leftInInbox(inbox, clock.now())) removeFile(file)
  const files = filesOfInbox(inbox)
  // A lost journal would look like one that has just begun.
  if (files.length === 0 || (journal.segments().length === 0 && existsSync(warehouse))) return
  const writer = journal.writer()
  const taken: string[] = []
  let deliveries = 0
  try {
    for (const file of files) {
      try {
        for (const { id, at, body } of deliveriesIn(file)) {
          writer.write({ kind: 'delivery_received', at, delivery_id: id }, body)
          deliveries += 1
        }
        taken.push(file)
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        logger.warn({ file, reason: 'it was changed: it holds no deliveries' }, 'inbox.left')
      }
    }
  } finally {
    // Sealing it puts it on the disk.
    await writer.close()
  }
  for (const file of taken) removeFile(file)
  logger.info({ deliveries, files: taken.length }, 'inbox.taken')
}
