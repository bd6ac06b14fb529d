/** What the journal is told about batches: that one was read to its end or replaced, and who was left out of it. */

import type { JournalWriter } from '../journal/journal.ts'
import type { OrganizationRef, BatchRecord } from '../journal/records.ts'
import { coveredTime, type BatchHistory } from '../journal/batch-history.ts'
import type { Clock } from '../support/clock.ts'

/** Writes the records of batches of one run. When a promise resolves, the record is on the disk. */
export interface BatchLedger {
  /** An organisation could not be asked for, or not be read to its end. */
  leftOut(organization: OrganizationRef, reason: string): Promise<void>
  /** A batch is not read any further; these are instead. */
  replaced(batch: BatchRecord, instead: readonly BatchRecord[], reason: string): Promise<void>
  /** A batch was read to its end. */
  finished(history: BatchHistory): Promise<void>
}

/** The ledger of one run. */
export function createBatchLedger(runId: string, writer: JournalWriter, clock: Clock): BatchLedger {
  return {
    leftOut: (organization, reason) =>
      writer.append({
        kind: 'organization_quarantined',
        run_id: runId,
        at: clock.now(),
        organization,
        reason,
      }),
    replaced: (batch, instead, reason) =>
      writer.append(
        {
          kind: 'batch_split',
          run_id: runId,
          batch_id: batch.batch_id,
          at: clock.now(),
          reason,
        },
        JSON.stringify({ batch, instead }),
      ),
    finished(history) {
      const { batch, pages, events } = history
      const covered = coveredTime(history, clock.now())
      return writer.append(
        {
          kind: 'batch_finished',
          run_id: runId,
          batch_id: batch.batch_id,
          at: clock.now(),
          pages,
          events,
          covered_from: covered.from,
          covered_to: covered.to,
        },
        JSON.stringify(batch),
      )
    },
  }
}
