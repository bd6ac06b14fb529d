/** What the journal is told about slices: that one was read to its end or replaced, and who was left out of it. */

import type { JournalWriter } from '../journal/journal.ts'
import type { OrganizationRef, SliceRecord } from '../journal/records.ts'
import { coveredTime, type SliceHistory } from '../journal/slice-history.ts'
import type { Clock } from '../support/clock.ts'

/** Writes the records of slices of one run. When a promise resolves, the record is on the disk. */
export interface SliceLedger {
  /** An organisation could not be asked for, or not be read to its end. */
  leftOut(organization: OrganizationRef, reason: string): Promise<void>
  /** A slice is not read any further; these are instead. */
  replaced(slice: SliceRecord, instead: readonly SliceRecord[], reason: string): Promise<void>
  /** A slice was read to its end. */
  finished(history: SliceHistory): Promise<void>
}

/** The ledger of one run. */
export function createSliceLedger(runId: string, writer: JournalWriter, clock: Clock): SliceLedger {
  return {
    leftOut: (organization, reason) =>
      writer.append({
        kind: 'organization_set_aside',
        run_id: runId,
        at: clock.now(),
        organization,
        reason,
      }),
    replaced: (slice, instead, reason) =>
      writer.append(
        {
          kind: 'slice_split',
          run_id: runId,
          slice_id: slice.slice_id,
          at: clock.now(),
          reason,
        },
        JSON.stringify({ slice, instead }),
      ),
    finished(history) {
      const { slice, pages, events } = history
      const covered = coveredTime(history, clock.now())
      return writer.append(
        {
          kind: 'slice_finished',
          run_id: runId,
          slice_id: slice.slice_id,
          at: clock.now(),
          pages,
          events,
          covered_from: covered.from,
          covered_to: covered.to,
        },
        JSON.stringify(slice),
      )
    },
  }
}
