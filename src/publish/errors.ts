/** What stops a publish. The warehouse is never touched by it, so the answer is always: mend and publish again. */

import { EXIT, JobtideError, type ErrorDetails } from '../support/errors.ts'

const NEXT_RUN =
  'The warehouse is whole and the next run publishes; or mend this and run `jobtide publish`.'

/** Publishing failed. Readers still see the snapshot they saw before. */
export class PublishError extends JobtideError {
  override readonly name = 'PublishError'
  constructor(message: string, details: ErrorDetails = {}) {
    super(EXIT.publishFailed, message, {
      ...details,
      hint: details.hint === undefined ? NEXT_RUN : `${details.hint} ${NEXT_RUN}`,
    })
  }
}
