/** A run, according to the records of the journal. */

import { EXIT, JobtideError } from '../support/errors.ts'
import { ulidTime } from '../support/ulid.ts'
import { newLookupHistory, type LookupHistory } from './lookup-history.ts'
import type { LookupRecord, RunFinished, RunStarted, BatchRecord } from './records.ts'
import { newBatchHistory, type BatchHistory } from './batch-history.ts'
import { noCounts, type Counts } from './spending.ts'

export interface RunHistory extends Counts {
  readonly started: RunStarted
  /** Hash of the last question for which its batches were planned, which a resume may have changed. */
  questionSha256: string
  /** By batch_id. Empty once the run cannot be resumed: years of nights must fit into memory. */
  readonly batches: Map<string, BatchHistory>
  readonly lookups: Map<string, LookupHistory>
  /** True once its batches were dropped: later records, from a process that lost its lock, only count. */
  isForgotten: boolean
  /** Its records may be incomplete: it is not resumed, and may mention unknown batches. */
  isIncomplete: boolean
  finished: RunFinished | null
  resumed: number
  /** Batches that are not split, or lookups. */
  batchesPlanned: number
  batchesDone: number
  /** Credits charged, and 10 for each request that is unanswered or in doubt. */
  creditsCommitted: number
  /** Credits committed when the run last stopped cleanly: a budget starts again there, but not after a kill. */
  creditsAtLastStop: number
}

export function newRunHistory(
  started: RunStarted,
  batches: readonly BatchRecord[],
  isIncomplete = false,
): RunHistory {
  const run: RunHistory = {
    started,
    questionSha256: started.question_sha256,
    batches: new Map(),
    lookups: new Map(),
    isForgotten: false,
    isIncomplete,
    finished: null,
    resumed: 0,
    batchesPlanned: 0,
    batchesDone: 0,
    ...noCounts(),
    creditsCommitted: 0,
    creditsAtLastStop: 0,
  }
  addBatches(run, batches)
  return run
}

export function lostRun(runId: string): RunHistory {
  const at = ulidTime(runId)
  const started: RunStarted = {
    kind: 'run_started',
    run_id: runId,
    at: Number.isNaN(at) ? 0 : at,
    pipeline: 'unknown',
    command: 'run',
    organizations: 0,
    batches: 0,
    credits_limit: null,
    question_sha256: '',
  }
  return newRunHistory(started, [], true)
}

export function addBatches(run: RunHistory, batches: readonly BatchRecord[]): void {
  for (const batch of batches) run.batches.set(batch.batch_id, newBatchHistory(batch))
  run.batchesPlanned += batches.length
}

export function addLookups(run: RunHistory, lookups: readonly LookupRecord[]): void {
  for (const lookup of lookups) run.lookups.set(lookup.batch_id, newLookupHistory(lookup))
  run.batchesPlanned += lookups.length
}

/** Whether records of some run may be lost. */
export function hasLostRecords(runs: ReadonlyMap<string, RunHistory>): boolean {
  return [...runs.values()].some(({ isIncomplete }) => isIncomplete)
}

export function forgetBatches(run: RunHistory): void {
  run.batches.clear()
  run.lookups.clear()
  run.isForgotten = true
}

/**
 * A batch of a run; null when its batches were dropped, or their plan is lost. @throws JobtideError when the journal
 * lacks its plan
 */
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
