/** Receives webhook deliveries, and answers 2xx only when they are on the disk. */

import { isUtf8 } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Secret } from '../support/secret.ts'
import { MIB, SECOND } from '../support/units.ts'
import { jsonOrNull } from '../support/json.ts'
import type { Inbox } from './inbox.ts'

export interface Signature {
  readonly secret: Secret
  /** The header that carries the HMAC of the body by SHA-256; any case. */
  readonly header: string
  readonly encoding: 'hex' | 'base64'
}

export interface ReceiverOptions {
  /** Milliseconds after which a silent connection is closed. Default 5 s. */
  readonly silentMs?: number
  readonly inbox: Inbox
  readonly path: string
  /** Absent: accepts deliveries from anyone who reaches the port. */
  readonly signature?: Signature
  /** Maximum size of a body in bytes; default {@link MOST_BYTES}. */
  readonly mostBytes?: number
  readonly onAnswer?: (status: number, reason: string, cause?: unknown) => void
}

/** Maximum size of a body in bytes: a signal run over some hundred people with the service's longest texts. */
const MOST_BYTES = 16 * MIB
/** Limits the number of long bodies in flight, because they are held in memory. */
const MOST_AT_ONCE = 4
// A sender has its delivery ready: a slower one only occupies a connection.
const REQUEST_MS = 30 * SECOND
const HEADERS_MS = 5 * SECOND

/** The reason for rejecting a request, and its status. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.status = status
  }
}

/** A server that is not listening yet. `GET /health` answers 200. */
export function createReceiver(options: ReceiverOptions): Server {
  const { path, onAnswer } = options
  const reading = { bytes: 0 }
  const server = createServer(
    {
      requestTimeout: REQUEST_MS,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: SECOND,
    },
    (request, response) => {
      request.setTimeout(REQUEST_MS)
      void answer(request, options, reading).then(({ status, reason, cause }) => {
        onAnswer?.(status, reason, cause)
        // Stops reading the body of a rejected request.
        if (!request.complete) response.setHeader('connection', 'close')
        if (status === 405) response.setHeader('allow', `POST ${path}, GET /health`)
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(`${JSON.stringify(status < 300 ? { ok: true } : { error: reason })}\n`)
      })
    },
  )
  server.maxConnections = 1_000
  // For connections that never sent a byte, because the limits above start with the first byte.
  server.timeout = options.silentMs ?? HEADERS_MS
  return server
}

/** Bytes read of all bodies that are not yet on the disk. */
interface Reading {
  bytes: number
}

async function answer(
  request: IncomingMessage,
  options: ReceiverOptions,
  reading: Reading,
): Promise<Pick<Refusal, 'status' | 'cause'> & { readonly reason: string }> {
  const own = { bytes: 0 }
  try {
    const [path] = (request.url ?? '').split('?', 1)
    if (request.method === 'GET' && path === '/health') return { status: 200, reason: 'health' }
    if (path !== options.path) throw new Refusal(404, 'no such path')
    if (request.method !== 'POST') throw new Refusal(405, 'only POST')
    const body = await bodyOf(request, options.mostBytes ?? MOST_BYTES, reading, own)
    if (options.signature !== undefined) refuseUnsigned(body, request, options.signature)
    await options.inbox.keep(textOf(body)).catch((cause: unknown) => {
      // The sender still has it, and may send it again.
      throw new Refusal(503, 'it could not be written', { cause })
    })
    return { status: 200, reason: 'kept' }
  } catch (error) {
    if (error instanceof Refusal) {
      return { status: error.status, reason: error.message, cause: error.cause }
    }
    // The connection broke, so this answer is not delivered.
    return { status: 400, reason: 'the body ended too early' }
  } finally {
    reading.bytes -= own.bytes
  }
}

async function bodyOf(
  request: IncomingMessage,
  mostBytes: number,
  reading: Reading,
  own: Reading,
): Promise<Buffer> {
  const tooLong = () => new Refusal(413, `a body may have ${mostBytes} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw tooLong()
  const pieces: Buffer[] = []
  // Not `for await`: leaving that loop would destroy the connection before the answer.
  await new Promise<void>((resolve, reject) => {
    request.on('data', (piece: Buffer) => {
      own.bytes += piece.length
      reading.bytes += piece.length
      const isTooLong = own.bytes > mostBytes
      if (isTooLong || reading.bytes > MOST_AT_ONCE * mostBytes) {
        request.pause()
        reject(isTooLong ? tooLong() : new Refusal(503, 'too many bodies at once'))
      } else pieces.push(piece)
    })
    request.once('end', resolve)
    request.once('error', reject)
    request.once('close', () => reject(new Error('the connection was closed')))
  })
  return Buffer.concat(pieces)
}

function refuseUnsigned(body: Buffer, request: IncomingMessage, signature: Signature): void {
  const { secret, header, encoding } = signature
  const sent = request.headers[header.toLowerCase()]
  if (typeof sent !== 'string') throw new Refusal(401, 'it is not signed')
  // Some senders write the algorithm before it.
  const told = Buffer.from(sent.trim().replace(/^sha256=/i, ''), encoding)
  const own = createHmac('sha256', secret.reveal()).update(body).digest()
  if (told.length !== own.length || !timingSafeEqual(told, own)) {
    throw new Refusal(401, 'its signature is not of this body and secret')
  }
}

/** The text of a delivery of any event type: unknown types are kept as well. */
function textOf(body: Buffer): string {
  const text = new TextDecoder().decode(body)
  const json = isUtf8(body) ? jsonOrNull(text) : null
  if (json === null || typeof json !== 'object' || Array.isArray(json)) {
    throw new Refusal(400, 'it is not a JSON object')
  }
  return text
}
