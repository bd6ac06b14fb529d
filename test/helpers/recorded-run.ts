/** A run as the history keeps it. */

import type { History } from '../../src/journal/history.ts'
import type { RunFinished } from '../../src/journal/records.ts'
import { newRunHistory } from '../../src/journal/run-history.ts'

/** Adds a run of `nightly` that began at `at`; with `end` null it did not end. */
export function addRun(
  history: History,
  at: number,
  end: Pick<RunFinished, 'at' | 'outcome' | 'exit_code' | 'message'> | null,
): void {
  const run_id = `run_${history.runs.size}`
  const started = {
    kind: 'run_started',
    run_id,
    at,
    pipeline: 'nightly',
    command: 'run',
    organizations: 1,
    batches: 1,
    credits_limit: null,
    question_sha256: '',
  } as const
  const run = newRunHistory(started, [])
  if (end !== null) run.finished = { kind: 'run_finished', run_id, ...end }
  history.runs.set(run_id, run)
}
