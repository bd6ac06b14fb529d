/**
 * The results of checks. Imports no database, so that the command line can tell a failed check from other errors
 * without loading one.
 */

import { EXIT, JobtideError } from '../support/errors.ts'

export interface CheckOutcome {
  readonly name: string
  /** Rows that break the rule; 0 is a pass. */
  readonly offenders: number
  readonly sample: readonly Readonly<Record<string, unknown>>[]
}

/** A check found offenders, so nothing of the build became visible. */
export class CheckFailedError extends JobtideError {
  readonly outcomes: readonly CheckOutcome[]
  readonly failed: readonly CheckOutcome[]

  constructor(outcomes: readonly CheckOutcome[]) {
    const failed = outcomes.filter((outcome) => outcome.offenders > 0)
    const names = failed.map((outcome) => outcome.name).join(', ')
    super(
      EXIT.checkFailed,
      `${failed.length === 1 ? '1 check' : `${failed.length} checks`} failed: ${names}`,
      {
        hint: 'The tables of the last good build stay live. ops.checks has the offending rows: `jobtide query "select * from ops.checks where offenders > 0"`.',
        context: { failed },
      },
    )
    this.outcomes = outcomes
    this.failed = failed
  }
}
