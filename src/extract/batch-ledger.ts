/** What the journal is told about batches. When a promise resolves, the record is on the disk. */

import { coveredTime, type BatchHistory } from '../journal/batch-history.ts'
import type { JournalWriter } from '../journal/journal.ts'
import type { BatchRecord, OrganizationRef } from '../journal/records.ts'
import type { Clock } from '../support/clock.ts'

/** Writes the records of batches of one run. */
export class BatchLedger {
  readonly #runId: string
  readonly #writer: JournalWriter
  readonly #clock: Clock

  constructor(runId: string, writer: JournalWriter, clock: Clock) {
    this.#runId = runId
    this.#writer = writer
    this.#clock = clock
  }

  /** An organisation could not be asked for, or not be read to its end. */
  quarantined(organization: OrganizationRef, reason: string): Promise<void> {
    const run = this.#stamp()
    return this.#writer.append({ kind: 'organization_quarantined', ...run, organization, reason })
  }

  /** A batch is not read any further; these are instead. */
  replaced(batch: BatchRecord, instead: readonly BatchRecord[], reason: string): Promise<void> {
    const { batch_id } = batch
    return this.#writer.append(
      { kind: 'batch_split', ...this.#stamp(), batch_id, reason },
      JSON.stringify({ batch, instead }),
    )
  }

  /** A batch was read to its end. */
  finished(history: BatchHistory): Promise<void> {
    const { batch, pages, events } = history
    const { batch_id } = batch
    const { from: covered_from, to: covered_to } = coveredTime(history, this.#clock.now())
    return this.#writer.append(
      {
        kind: 'batch_finished',
        ...this.#stamp(),
        batch_id,
        pages,
        events,
        covered_from,
        covered_to,
      },
      JSON.stringify(batch),
    )
  }

  #stamp(): { readonly run_id: string; readonly at: number } {
    return { run_id: this.#runId, at: this.#clock.now() }
  }
}
