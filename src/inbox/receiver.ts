/** Answers the deliveries of a webhook: with 2xx only what is on the disk. */

import { isUtf8 } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Secret } from '../support/secret.ts'
import { MIB, SECOND } from '../support/units.ts'
import { jsonOrNull } from '../support/json.ts'
import type { Inbox } from './inbox.ts'

/** How deliveries are signed. */
export interface Signature {
  readonly secret: Secret
  /** The header that carries the HMAC of the body by SHA-256; any case. */
  readonly header: string
  readonly encoding: 'hex' | 'base64'
}

export interface ReceiverOptions {
  /** After so many milliseconds a connection ends that has sent nothing. Default 5 s. */
  readonly silentMs?: number
  readonly inbox: Inbox
  /** The path that deliveries are sent to. */
  readonly path: string
  /** Absent: anyone who reaches the port is believed. */
  readonly signature?: Signature
  /** The most that a body may have, in bytes; default {@link MOST_BYTES}. */
  readonly mostBytes?: number
  /** Told what became of each request. */
  readonly onAnswer?: (status: number, reason: string, cause?: unknown) => void
}

/** What a body may have, in bytes: a run of a signal over some hundred people, with texts as long as the service sends them. */
const MOST_BYTES = 16 * MIB
/** So many of the longest may be on their way at a time: what is read of them is in memory. */
const MOST_AT_ONCE = 4
// What sends a delivery has it ready: one that takes longer only holds a connection.
const REQUEST_MS = 30 * SECOND
const HEADERS_MS = 5 * SECOND
const CHECKED_EACH_MS = SECOND
const MOST_CONNECTIONS = 1_000

/** Why a request is not taken, and the status that says so. */
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
      connectionsCheckingInterval: CHECKED_EACH_MS,
    },
    (request, response) => {
      request.setTimeout(REQUEST_MS)
      void answer(request, options, reading).then(({ status, reason, cause }) => {
        onAnswer?.(status, reason, cause)
        // What was not read of a body that is refused is not read any more.
        if (!request.complete) response.setHeader('connection', 'close')
        if (status === 405) response.setHeader('allow', `POST ${path}, GET /health`)
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(`${JSON.stringify(status < 300 ? { ok: true } : { error: reason })}\n`)
      })
    },
  )
  server.maxConnections = MOST_CONNECTIONS
  // Of a connection on which nothing was ever sent; the limits above begin with the first byte.
  server.timeout = options.silentMs ?? HEADERS_MS
  return server
}

interface Answer {
  readonly status: number
  readonly reason: string
  readonly cause?: unknown
}

/** Bytes that are read of all bodies, and not on the disk yet. */
interface Reading {
  bytes: number
}

async function answer(
  request: IncomingMessage,
  options: ReceiverOptions,
  reading: Reading,
): Promise<Answer> {
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
    // The connection broke: nobody hears this.
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
  // Not `for await`: leaving that would destroy the connection before it is answered.
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

/** The text of a delivery, whatever event it tells of: what is not known yet is kept, too. */
function textOf(body: Buffer): string {
  const text = new TextDecoder().decode(body)
  const json = isUtf8(body) ? jsonOrNull(text) : null
  if (json === null || typeof json !== 'object' || Array.isArray(json)) {
    throw new Refusal(400, 'it is not a JSON object')
  }
  return text
}
