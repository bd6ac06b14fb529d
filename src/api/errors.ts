/** Errors of the service, in the operator's terms. No message contains a key. */

import {
  ConfigError,
  EXIT,
  JobtideError,
  type ErrorDetails,
  type ExitCode,
} from '../support/errors.ts'
import { waitEnd } from '../support/clock.ts'
import { shortened } from './schemas.ts'
import type { Obstacle } from './unreachable.ts'

/** The service is down, or asked us to retry later than we may wait. The run can be resumed. */
export class UnavailableError extends JobtideError {
  /** Milliseconds since 1970 UTC before which no request may be sent; null if the service named no time. */
  readonly notBefore: number | null
  constructor(message: string, notBefore: number | null, details: ErrorDetails = {}) {
    const time = notBefore === null ? null : waitEnd(notBefore)
    super(EXIT.unavailable, message, {
      hint: `Run the same command again ${time === null ? 'later' : `after ${time}`}: it continues where it stopped. Pages in the journal are not bought again.`,
      context: time === null ? {} : { not_before: time },
      ...details,
    })
    this.notBefore = notBefore
  }
}

/**
 * No connection: nothing was sent. An untrusted certificate is a configuration error (exit 2). A host name or a
 * connection may only be unavailable for a while (exit 5). @param reason names host and port
 */
export function unreachableError(obstacle: Obstacle, reason: string): JobtideError {
  const context = { obstacle }
  if (obstacle === 'certificate') {
    return new ConfigError(reason, {
      hint: 'Check JOBTIDE_BASE_URL and the clock of this machine. If a proxy has its own certificate, name a file with it in NODE_EXTRA_CA_CERTS. Nothing was sent.',
      context,
    })
  }
  return new UnavailableError(reason, null, {
    hint: 'Check JOBTIDE_BASE_URL, and HTTPS_PROXY and NO_PROXY if you use a proxy. Then run the same command again. Nothing was sent.',
    context,
  })
}

const NOT_ACCEPTED_HINT =
  'Nothing was charged for this request. Correct what the service names in the pipeline file, the list or the filters. If they are right, report this text.'

function notAccepted(status: number): string {
  return `the service did not accept the request (${status})`
}

/** 400: the service rejects the request. `serverMessage` names the problem. It is never retried unchanged. */
export class BadRequestError extends JobtideError {
  /** In full. */
  readonly serverMessage: string
  constructor(serverMessage: string) {
    super(EXIT.usage, `${notAccepted(400)}: ${shortened(serverMessage)}`, {
      hint: NOT_ACCEPTED_HINT,
      context: { status: 400 },
    })
    this.serverMessage = serverMessage
  }
}

/** For what is never retried: the request, the key, the account or the address is wrong. @param url where it went */
export function refusalOf(status: number, serverMessage: string, url: string): JobtideError {
  if (status === 400) return new BadRequestError(serverMessage)
  const [exitCode, what, hint] = REFUSALS[status] ?? [
    EXIT.usage,
    `unexpected answer ${status} from ${url}`,
    'Check that JOBTIDE_BASE_URL is the address of the job-change service. Nothing was charged for this request.',
  ]
  const data = url.includes('/job-changes/') ? 'job changes' : new URL(url).pathname
  const message = `${what.replace('{data}', data)}: ${shortened(serverMessage)}`
  return new JobtideError(exitCode, message, { hint, context: { status } })
}

const REFUSALS: Readonly<Record<number, readonly [ExitCode, what: string, hint: string]>> = {
  401: [
    EXIT.refused,
    'the service refused the API key (401)',
    'Check JOBTIDE_API_KEY, or the file that JOBTIDE_API_KEY_FILE names, and run the same command again: it continues where it stopped. Nothing was charged for this request.',
  ],
  402: [
    EXIT.budget,
    'the service requires payment (402)',
    'Nothing was charged for this request. Top up the credits of the account, then run the same command again: it continues where it stopped.',
  ],
  403: [
    EXIT.refused,
    'the plan of this API key does not include {data} (403)',
    'Ask the provider to add this data to the plan, or use another key. Nothing was charged for this request.',
  ],
  // The shape of validation errors in most frameworks.
  422: [EXIT.usage, notAccepted(422), NOT_ACCEPTED_HINT],
}
