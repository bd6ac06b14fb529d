/** Builds the record that ends a run in the journal. */

import type { RunHistory } from '../journal/run-history.ts'
import type { RunFinished, RunOutcome } from '../journal/records.ts'
import type { Clock } from '../support/clock.ts'
import { EXIT, JobtideError, type ExitCode } from '../support/errors.ts'

/**
 * The record that ends a run which ended with `error`; null when it is done.
 * @param more what it says otherwise than the error does
 */
export function closingOf(
  { started }: RunHistory,
  error: unknown,
  clock: Clock,
  more: Partial<Pick<RunFinished, 'outcome' | 'message' | 'stage_seconds' | 'rejected'>> = {},
): RunFinished {
  const known = error instanceof JobtideError ? error : null
  const exitCode = error === null ? EXIT.done : (known?.exitCode ?? EXIT.defect)
  return {
    kind: 'run_finished',
    run_id: started.run_id,
    at: clock.now(),
    outcome: OUTCOMES[exitCode] ?? 'failed',
    exit_code: exitCode,
    message: known?.message ?? null,
    ...more,
  }
}

// A run that a check, the publisher or a reader's lock ended is resumed like any other that failed: it has bought
// everything already, so it only loads, builds and publishes.
const OUTCOMES: Readonly<Partial<Record<ExitCode, RunOutcome>>> = {
  [EXIT.done]: 'done',
  [EXIT.refused]: 'refused',
  [EXIT.budget]: 'budget',
  [EXIT.unavailable]: 'unavailable',
  [EXIT.interrupted]: 'interrupted',
  [EXIT.terminated]: 'interrupted',
}
