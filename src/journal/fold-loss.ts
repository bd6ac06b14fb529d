/** What is known of records that are lost, in a history: their charges, and that what they were part of was not read. */

import type { HeldRun } from './held.ts'
import type { History } from './history.ts'
import { newRunHistory, type RunHistory } from './run-history.ts'
import { restartBatch } from './batch-history.ts'
import { spendingOf } from './spending.ts'

/**
 * Adds what was lost of a segment, after its records that are left. Charges count as if it were there. A batch that
 * pages were lost of was read to where they stood, at most: it is as if it was never begun. The run is not resumed.
 */
export function foldLoss(history: History, lost: readonly HeldRun[]): void {
  for (const part of lost) {
    const run = incompleteRun(history, part)
    if (run === undefined) continue
    for (const { day, ...counts } of part.days) {
      const spending = spendingOf(history.spending, run.started.pipeline, Date.parse(day))
      spending.requests += counts.requests
      spending.pages += counts.pages
      spending.events += counts.events
      spending.charged += counts.charged
      spending.inDoubt += counts.in_doubt
      run.requests += counts.requests
      run.pages += counts.pages
      run.events += counts.events
      run.creditsCommitted += counts.charged + counts.in_doubt
    }
    for (const requestId of part.answered) run.unanswered.delete(requestId)
    for (const [requestId, sentAt] of part.open) run.unanswered.set(requestId, sentAt)
    for (const batchId of Object.keys(part.pages)) {
      const batch = run.batches.get(batchId)
      if (batch?.state === 'planned') restartBatch(batch)
    }
  }
}

function incompleteRun(
  history: History,
  { run_id: runId, started }: HeldRun,
): RunHistory | undefined {
  const known = history.runs.get(runId)
  const run = known ?? (started && newRunHistory(started, []))
  if (run === undefined) return undefined
  run.isIncomplete = true
  history.runs.set(runId, run)
  return run
}
