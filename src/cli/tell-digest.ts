/** Sends destinations the job changes that are new to them, each change once. */

import type { Notice } from '../observe/notice.ts'
import { openTold, type PendingDigest, type ToldChanges } from '../observe/outbox.ts'
import { readChanges, readUntold, untoldLines, type Untold } from '../report/digest.ts'
import type { Job } from '../run/job.ts'
import { sha256Hex } from '../support/hash.ts'
import { countText } from '../support/numbers.ts'
import type { Context } from './context.ts'
import type { Destination } from './destinations.ts'
import { whileReading } from './reading.ts'

/**
 * Sends the pending digest, then the newer changes of the pipeline's organisations that were never sent to this destination.
 * Only one process at a time may do this for a destination. @throws Error when it was not accepted; the next call continues
 * there
 */
export async function tellDigest(
  context: Pick<Context, 'directory' | 'clock' | 'output'>,
  destination: Pick<Destination, 'folder' | 'deliver'>,
  job: Pick<Job, 'pipeline' | 'question'>,
  ledger: ToldChanges = openTold(destination.folder),
): Promise<void> {
  const { organizations } = job.question
  for (let isLast = false; !isLast;) {
    isLast = ledger.pending() === null
    // Closed before anything is sent: a warehouse that is open stops a run that wants to write.
    const next = await whileReading(context, async (warehouse) => {
      if (isLast) {
        const names = await readUntold(warehouse, ledger.told(), organizations)
        if (names === '') return null
        const key = `${job.pipeline}:digest:${sha256Hex(names).slice(0, 32)}`
        ledger.begin({ key, pipeline: job.pipeline, at: context.clock.now(), names })
      }
      const digest = ledger.pending()
      return digest && { digest, untold: await readChanges(warehouse, digest.names) }
    })
    if (next === null) return
    // The digest has no one left after an erasure of all its people.
    if (next.untold.total > 0) await destination.deliver(noticeOf(next.digest, next.untold))
    ledger.sent()
  }
}

function noticeOf({ key, pipeline, at }: PendingDigest, untold: Untold): Notice {
  const { counts, total, changes, command } = untold
  const text = countText(total, 'job change')
  return {
    key,
    subject: `Jobtide ${pipeline}: ${text}`,
    paragraphs: untoldLines(untold),
    document: {
      key,
      kind: 'digest',
      pipeline,
      text,
      hint: command,
      run_id: null,
      at: new Date(at).toISOString(),
      counts,
      changes,
      more: total - changes.length,
    },
    at,
  }
}
