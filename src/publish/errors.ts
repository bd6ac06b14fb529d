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

  hinting(more: string): PublishError {
    const { message, hint, context, cause } = this
    return new PublishError(message, { hint: hint ? `${hint} ${more}` : more, context, cause })
  }
}

/** Later runs cannot fix it: the operator decides, or uses another version. Nothing was uploaded. */
export class RefusedError extends PublishError {}

/** Has a format that this version does not know: nothing was changed, and the version that wrote it still works. */
export class NewerFormatError extends RefusedError {
  override readonly exitCode = EXIT.usage
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
