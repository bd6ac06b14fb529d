/** What stops a publish. The warehouse is never touched by it, so the answer is always: mend and publish again. */

import { EXIT, JobtideError, type ErrorDetails } from '../support/errors.ts'

const NEXT_RUN =
  'The warehouse is whole and the next run publishes; or mend this and run `jobtide publish`.'
const NOTHING_BOUGHT =
  'Nothing was bought: a run looks at its destination first. To buy all the same, run with --no-publish.'

/** A store refused, or what lies there is not as it should be. Readers still see the snapshot they saw before. */
export class PublishError extends JobtideError {
  constructor(message: string, details: ErrorDetails = {}) {
    super(EXIT.publishFailed, message, details)
  }

  /** This error as it ends a publish: its hint also says how things go on. */
  whilePublishing(): PublishError {
    return this.withHint(NEXT_RUN)
  }

  /** This error as it keeps a run from buying. */
  beforeBuying(): PublishError {
    return this.withHint(NOTHING_BOUGHT)
  }

  private withHint(more: string): PublishError {
    const { hint, context, cause } = this
    return new PublishError(this.message, {
      hint: hint === undefined ? more : `${hint} ${more}`,
      context,
      cause,
    })
  }
}

/** What lies there is of the format of a newer version: no next run of this one publishes there. */
export class OtherFormatError extends PublishError {
  override whilePublishing(): PublishError {
    return this
  }
}

/** The Delta log of a table cannot be gone on with; the snapshot itself is published. */
export class DamagedLogError extends PublishError {}

/** A version of a Delta log is not there: no reader gets past it, and the log has to be begun again. */
export class LostVersionError extends DamagedLogError {}

/** A published snapshot is not what it was. Nothing was made of it. */
export class DamagedSnapshotError extends JobtideError {
  constructor(what: string, details: Omit<ErrorDetails, 'hint'> = {}) {
    super(EXIT.checkFailed, `the snapshot is damaged: ${what}`, {
      hint: '`jobtide verify` names everything that is wrong with it; take another one (`jobtide snapshots`).',
      ...details,
    })
  }
}
