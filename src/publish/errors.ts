/**
 * Errors that stop a publish. They never change the warehouse, so the remedy is always to fix the cause and publish
 * again.
 */

import { EXIT, JobtideError, type ErrorDetails } from '../support/errors.ts'

/** A store refused, or its content is wrong. Readers still see the previous snapshot. */
export class PublishError extends JobtideError {
  constructor(message: string, details: ErrorDetails = {}) {
    super(EXIT.publishFailed, message, details)
  }

  /** This error as the end of a publish: its hint also says how to continue. */
  whilePublishing(): PublishError {
    return this.#withHint(
      'The warehouse is complete, and the next run publishes it. Or fix this and run `jobtide publish`.',
    )
  }

  /** This error as the reason why a run buys nothing. */
  beforeBuying(): PublishError {
    return this.#withHint(
      'Nothing was bought: a run checks its destination first. To buy anyway, run with --no-publish.',
    )
  }

  #withHint(more: string): PublishError {
    const { message, hint, context, cause } = this
    return new PublishError(message, { hint: hint ? `${hint} ${more}` : more, context, cause })
  }
}

/**
 * A publish that later runs cannot fix: the operator has to decide, or to use another version. Nothing was uploaded.
 */
export class RefusedError extends PublishError {
  override whilePublishing(): PublishError {
    return this
  }
}

/** Has a format that this version does not know: nothing was changed, and the version that wrote it still works. */
export class NewerFormatError extends RefusedError {
  override readonly exitCode = EXIT.usage

  override beforeBuying(): PublishError {
    return this
  }
}

/** The Delta log of a table cannot be continued: the next publish begins it again. */
export class DamagedLogError extends PublishError {}

/** A published snapshot has changed. Nothing was made from it. */
export class DamagedSnapshotError extends JobtideError {
  constructor(what: string, details: Omit<ErrorDetails, 'hint'> = {}) {
    super(EXIT.checkFailed, `the snapshot is damaged: ${what}`, {
      hint: '`jobtide verify` lists every fault. Use another snapshot: `jobtide snapshots` lists them.',
      ...details,
    })
  }
}
