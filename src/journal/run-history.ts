/** A run and the progress of its lookups, according to the records of the journal. Plain data, kept in checkpoints. */

import { EXIT, JobtideError } from '../support/errors.ts'
import { sha256Hex } from '../support/hash.ts'
import { stableJson } from '../support/json.ts'
import { ulidTime } from '../support/ulid.ts'
import type {
  AnswerReceived,
  BatchRecord,
  LookupRecord,
  RequestFailed,
  RunFinished,
  RunStarted,
} from './records.ts'
import { newBatchHistory, type BatchHistory } from './batch-history.ts'
import { noCounts } from './spending.ts'

export type RunHistory = ReturnType<typeof newRunHistory>

export function newRunHistory(
  started: RunStarted,
  batches: readonly BatchRecord[],
  isIncomplete = false,
) {
  const run = {
    started,
    /** Hash of the last question for which its batches were planned, which a resume may have changed. */
    questionSha256: started.question_sha256,
    /** By batch_id. Empty once the run cannot be resumed: years of nights must fit into memory. */
    batches: new Map<string, BatchHistory>(),
    lookups: new Map<string, LookupHistory>(),
    /** True once its batches were dropped: later records, from a process that lost its lock, only count. */
    isForgotten: false,
    /** Its records may be incomplete: it is not resumed, and may mention unknown batches. */
    isIncomplete,
    finished: null as RunFinished | null,
    resumed: 0,
    /** Batches that are not split, or lookups. */
    batchesPlanned: 0,
    batchesDone: 0,
    ...noCounts(),
    /** Credits charged, and the price, or the charge named, of each request that is unanswered or in doubt. */
    creditsCommitted: 0,
    /** Credits committed when the run last stopped cleanly: a budget starts again there, but not after a kill. */
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

export type LookupHistory = ReturnType<typeof newLookupHistory>

export function newLookupHistory(lookup: LookupRecord) {
  return {
    lookup,
    /** Pages 1 … n were read. */
    pages: 0,
    items: 0,
    /** Requests the next page; null before the first page, and after the last. */
    next: null as string | number | null,
    /** How many items the list had at the last answer; null if it does not say. */
    total: null as number | null,
    /** Whether it became shorter meanwhile: others may have moved to a page that was already read. */
    isShrunk: false,
    /** SHA-256 of the last answer: it detects a service that sends one page forever. */
    lastSha256: null as string | null,
    /** Whether there is nothing more to ask for in this run. */
    isDone: false,
    /** Why the service refuses it, as sent; undefined if it does not. */
    refusal: undefined as string | undefined,
  }
}

export interface Answered {
  /** When, milliseconds since 1970 UTC. */
  readonly at: number
  readonly outcome: 'found' | 'absent' | 'refused'
}

const KEY_LENGTH = 32

/** Names a request: the same request to the same endpoint always has the same key. */
export function lookupKey(endpoint: string, request: LookupRecord['request']): string {
  return sha256Hex(stableJson([endpoint, request])).slice(0, KEY_LENGTH)
}

/** Whether its first pages were paid for, and more are to be requested. */
export function isLookupBegun({ pages, isDone }: LookupHistory): boolean {
  return pages > 0 && !isDone
}

/** Records an answer, unless it follows a page that the journal lacks. */
export function takeAnswer(history: LookupHistory, record: AnswerReceived): void {
  const { page, total = history.total } = record
  if (record.outcome === 'later' || page > history.pages + 1) return
  // Versions up to 0.20 requested some pages again.
  history.pages = Math.max(history.pages, page)
  history.items += record.items
  history.next = record.next
  history.isShrunk ||= total !== null && total < (history.total ?? 0)
  history.total = total
  history.lastSha256 = record.body_sha256
  history.isDone = record.next === null
  if (record.reason !== undefined) history.refusal = record.reason
}

/**
 * Records the outcome of a request.
 * @param answered by lookup_key
 * @param run of a page of job changes, and where the journal lacks the plan, it has no such lookup
 */
export function foldLookup(
  answered: Map<string, Answered>,
  run: { readonly lookups: ReadonlyMap<string, LookupHistory>; batchesDone: number },
  record: AnswerReceived | RequestFailed,
): void {
  const lookup = run.lookups.get(record.batch_id)
  if (lookup === undefined || lookup.isDone) return
  if (record.kind === 'answer_received') takeAnswer(lookup, record)
  else if (record.status === 400) {
    // The service would refuse an unacceptable request again.
    lookup.isDone = true
    lookup.refusal = record.error
  }
  if (!lookup.isDone) return
  run.batchesDone += 1
  const { lookup_key: key } = lookup.lookup
  const outcome = record.kind === 'request_failed' ? 'refused' : record.outcome
  // Free answers are requested again: the data may exist by then.
  const isFree = outcome === 'absent' && 'credits_used' in record && record.credits_used === 0
  const isNewest = (answered.get(key)?.at ?? 0) <= record.at
  if (isNewest && !isFree && outcome !== 'later') answered.set(key, { at: record.at, outcome })
}
