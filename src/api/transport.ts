/**
 * Makes one HTTP attempt: no retry, no redirect, no interpretation. An incomplete answer is an error: a cut body, a
 * damaged gzip stream or a body over the limit never counts as a short page; retry-policy.ts decides what follows.
 */

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Clock } from '../support/clock.ts'
import { messageOf, systemCode } from '../support/errors.ts'
import { createScrubber } from '../support/logger.ts'
import type { Secret } from '../support/secret.ts'
import { onOneLine } from '../support/text.ts'
import { MIB, SECOND } from '../support/units.ts'
import { LARGEST_BODY_BYTES, createAgent, requestOnce, type AgentOptions } from './agent.ts'
import type { Headers } from './retry-after.ts'
import { whyUnreachable, type Obstacle } from './unreachable.ts'

const gunzipAsync = promisify(gunzip)

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
  /** When the last byte arrived, milliseconds since 1970 UTC by our clock. */
  readonly receivedAt: number
}

export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  /** True if the request may have reached the service, which may have charged for it. */
  readonly inDoubt: boolean
  /** Why there was no connection; null if there was one, or the reason is unknown. */
  readonly obstacle: Obstacle | null
  constructor(reason: string, inDoubt: boolean, cause: unknown, obstacle: Obstacle | null = null) {
    super(reason, { cause })
    this.inDoubt = inDoubt
    this.obstacle = obstacle
  }
}

/** Sends one request at a time to one origin. */
export interface Transport {
  /** Without a body, sends a GET. @throws NoAnswerError when no complete answer came; the signal's reason */
  send(path: string, body: object | null, signal: AbortSignal): Promise<Answer>
  close(): Promise<void>
}

export interface TransportOptions extends AgentOptions {
  /** Origin and optional path prefix, without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: Secret
  /** A secret that requests may carry. Like the key, it is removed from answers that repeat it. */
  readonly webhookSecret?: Secret
  readonly clock: Clock
  /** Milliseconds for one whole request; 60 s. */
  readonly deadlineMs?: number
  readonly userAgent?: string
}

// bodyTimeout is per chunk, and a dripping body never trips it. So the whole request has its own deadline.
const DEADLINE_MS = 60 * SECOND

// The request could not be written.
const NEVER_SENT = 'UND_ERR_INVALID_ARG'
const TOO_LONG = `the answer has more than ${LARGEST_BODY_BYTES / MIB} MiB`
const WORDS = new Map([
  ['UND_ERR_HEADERS_TIMEOUT', 'no answer came in time'],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', TOO_LONG],
  ['ERR_BUFFER_TOO_LARGE', TOO_LONG],
])
// Node's message for a connection that ended before it carried a request.
const BEFORE_TLS = 'before secure TLS connection was established'

export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, apiKey, clock } = options
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS
  const scrubber = createScrubber()
  scrubber.add(apiKey.reveal())
  if (options.webhookSecret !== undefined) scrubber.add(options.webhookSecret.reveal())
  const agent = createAgent(options)

  async function send(path: string, body: object | null, signal: AbortSignal): Promise<Answer> {
    const deadline = AbortSignal.timeout(deadlineMs)
    try {
      const either = AbortSignal.any([signal, deadline])
      const asked = {
        authorization: `Bearer ${apiKey.reveal()}`,
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': options.userAgent ?? 'jobtide',
      }
      const response = await requestOnce(agent, `${baseUrl}${path}`, asked, body, either)
      const { statusCode: status, headers } = response
      const whole = async () => decode(Buffer.from(await response.body.arrayBuffer()), headers)
      // An order to wait in the headers counts whatever happens to the body.
      const isOrder = status === 429 || status >= 500
      const words = await (isOrder ? whole().catch(() => Buffer.alloc(0)) : whole())
      signal.throwIfAborted()
      // A service that repeats the key in its answer ("invalid key …") must not bring it into the journal or a log. latin1
      // preserves every other byte.
      const text = words.toString('latin1')
      const clean = scrubber.scrub(text)
      const cleaned = clean === text ? words : Buffer.from(clean, 'latin1')
      return { status, headers, body: cleaned, receivedAt: clock.now() }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (deadline.aborted)
        throw new NoAnswerError(`no complete answer within ${deadlineMs / SECOND} s`, true, error)
      const clean = (reason: string) => scrubber.scrub(onOneLine(reason))
      const unreachable = whyUnreachable(error, baseUrl)
      if (unreachable !== null)
        throw new NoAnswerError(clean(unreachable.reason), false, error, unreachable.obstacle)
      const code = systemCode(error) ?? ''
      const message = WORDS.get(code) ?? messageOf(error)
      const inDoubt = code !== NEVER_SENT && !message.includes(BEFORE_TLS)
      throw new NoAnswerError(clean(code === '' ? message : `${message} (${code})`), inDoubt, error)
    }
  }

  return { send, close: () => agent.destroy() }
}

async function decode(raw: Buffer, headers: Headers): Promise<Buffer> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return raw
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Error(`content-encoding ${encoding} was not asked for`)
  // Strict: a stream that ends early or fails its checksum throws instead of returning a part.
  return gunzipAsync(raw, { maxOutputLength: LARGEST_BODY_BYTES })
}
