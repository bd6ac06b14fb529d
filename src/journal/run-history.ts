/** A run, as the records of the journal tell it. */

import { EXIT, JobtideError } from '../support/errors.ts'
import type { PageReceived, RunFinished, RunStarted, BatchRecord } from './records.ts'
import { newBatchHistory, type BatchHistory } from './batch-history.ts'
import { takeRecord } from './page-drift.ts'

/** A run and what it did so far. */
export interface RunHistory {
  readonly started: RunStarted
  /** Hash of the question that its batches were planned for last: of a run that was carried on, not the first one. */
  questionSha256: string
  /** By batch_id. Empty once the run cannot be resumed: years of nights must fit into memory. */
  readonly batches: Map<string, BatchHistory>
  /** True once its batches were let go of: what it still writes then, as a process that lost its lock may, is only counted. */
  isForgotten: boolean
  /** True once records of it were lost: it is not resumed, and may speak of batches that nobody knows. */
  isIncomplete: boolean
  finished: RunFinished | null
  resumed: number
  /** Batches that are not split. */
  batchesPlanned: number
  batchesDone: number
  /** Pages with events: those that cost. */
  pages: number
  events: number
  /** Requests sent. */
  requests: number
  /** Credits charged, and 10 for each request in doubt. */
  creditsCommitted: number
  /** Credits committed when the run last stopped cleanly: a budget starts again there, but not after a kill. */
  creditsAtLastStop: number
  /** Requests sent and neither answered nor failed, with the time they were sent: their process was killed. */
  readonly unanswered: Map<string, number>
}

/** A run that was planned and did nothing yet. */
export function newRunHistory(started: RunStarted, batches: readonly BatchRecord[]): RunHistory {
  const run: RunHistory = {
    started,
    questionSha256: started.question_sha256,
    batches: new Map(),
    isForgotten: false,
    isIncomplete: false,
    finished: null,
    resumed: 0,
    batchesPlanned: 0,
    batchesDone: 0,
    pages: 0,
    events: 0,
    requests: 0,
    creditsCommitted: 0,
    creditsAtLastStop: 0,
    unanswered: new Map(),
  }
  addBatches(run, batches)
  return run
}

/** Adds batches to a run that nothing was read of yet. */
export function addBatches(run: RunHistory, batches: readonly BatchRecord[]): void {
  for (const batch of batches) run.batches.set(batch.batch_id, newBatchHistory(batch))
  run.batchesPlanned += batches.length
}

/** Adds a page that was received. */
export function addPage(run: RunHistory, record: PageReceived): void {
  run.unanswered.delete(record.request_id)
  run.creditsCommitted += record.credits_used
  if (record.free_probe === true) return
  if (record.events > 0) run.pages += 1
  run.events += record.events
  const batch = batchOf(run, record.batch_id)
  if (batch !== null) takeRecord(batch, record)
}

/** Whether records of some run were lost. */
export function hasLostRecords(runs: ReadonlyMap<string, RunHistory>): boolean {
  return [...runs.values()].some(({ isIncomplete }) => isIncomplete)
}

/** Drops the batches of a run that cannot be resumed. */
export function forgetBatches(run: RunHistory): void {
  run.batches.clear()
  run.isForgotten = true
}

/** A batch of a run; null when its batches were let go of, or their plan is lost. @throws JobtideError when the journal lacks its plan */
export function batchOf(run: RunHistory, batchId: string): BatchHistory | null {
  const batch = run.batches.get(batchId)
  if (batch !== undefined) return batch
  if (run.isForgotten || run.isIncomplete) return null
  throw new JobtideError(
    EXIT.storage,
    `the journal has records of batch ${batchId} of run ${run.started.run_id} but not its plan`,
    { hint: 'A journal segment is missing: restore the journal folder from a backup.' },
  )
}
