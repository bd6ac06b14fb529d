/**
 * An S3 server for tests: one bucket in memory on 127.0.0.1, path-style addresses, as strict as S3.
 * It owns HTTP, the request log and the faults; signatures, checksums, routes and operations are in the `s3-*` files beside it.
 * What it cannot do is answered with 501, never ignored: no presigned URLs, chunk signatures, copies or ACLs. Encryption is a label: nothing is encrypted.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../src/support/clock.ts'
import { realClock } from '../../src/support/clock.ts'
import { messageOf } from '../../src/support/errors.ts'
import { S3Error } from './s3-errors.ts'
import type { S3Fault } from './s3-faults.ts'
import { faultError, faultPicker } from './s3-faults.ts'
import type { S3Call, S3Response } from './s3-objects.ts'
import type { Bucket } from './s3-operations.ts'
import { execute } from './s3-operations.ts'
import type { S3Operation, S3Request } from './s3-routes.ts'
import { parseRequest } from './s3-routes.ts'
import type { ConditionQuirks, ObjectVersion, StoredObject } from './s3-store.ts'
import { BucketStore } from './s3-store.ts'
import { xmlDocument } from './s3-xml.ts'

/** What may be chosen; everything has a default. */
export interface S3ServerOptions extends ConditionQuirks {
  readonly bucket?: string
  readonly region?: string
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  /** The server's time: signatures older or newer than 15 minutes are refused. Defaults to the machine's. */
  readonly clock?: Pick<Clock, 'now'>
  /** The time that objects and uploads get. Defaults to `clock`. */
  readonly storageClock?: Pick<Clock, 'now'>
  /** The KMS keys that may be named. Defaults to `test-key`. */
  readonly kmsKeyIds?: readonly string[]
}

/** One request, in the order of the answers. */
export interface S3LogEntry {
  /** `Unknown` when the request line or headers name no operation of this server. */
  readonly operation: S3Operation | 'Unknown'
  /** Empty for operations on the bucket. */
  readonly key: string
  /** The status that was sent; 0 when the connection was dropped instead. */
  readonly status: number
  /** The error code in the answer, if any. */
  readonly code: string | undefined
  /** The body on the wire, in bytes: that of the answer for GetObject, that of the request for all others. */
  readonly bytes: number
}

/** A multipart upload that was neither completed nor aborted. */
export interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  readonly partNumbers: readonly number[]
}

/** A running server. */
export interface S3Server {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** The objects as they are now, by key: a copy that later requests do not change. */
  objects(): Map<string, StoredObject>
  /** What is kept of a key, newest first: one version, unless the bucket keeps more. */
  versionsOf(key: string): ObjectVersion[]
  /** The open multipart uploads, oldest first. */
  uploads(): OpenUpload[]
  /** The requests answered so far: a copy. */
  log(): S3LogEntry[]
  /** How many requests a fault has hit since the faults were set. */
  faultsHit(): number
  /** Replaces all faults; counting starts anew. */
  setFaults(faults: readonly S3Fault[]): void
  /** Forgets objects, uploads, log and faults. */
  reset(): void
  /** Drops all connections and stops. Closing twice is allowed. */
  close(): Promise<void>
}

/** Starts a server on a free port of 127.0.0.1. */
export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const clock = options.clock ?? realClock
  const bucket: Bucket = {
    name: options.bucket ?? 'test-bucket',
    store: new BucketStore(options),
    identity: {
      region: options.region ?? 'eu-test-1',
      accessKeyId: options.accessKeyId ?? 'TESTACCESSKEYID',
      secretAccessKey: options.secretAccessKey ?? 'test-secret-access-key',
    },
    kmsKeyIds: options.kmsKeyIds ?? ['test-key'],
    storageTime: () => (options.storageClock ?? clock).now(),
  }
  const state: ServerState = {
    bucket,
    clock,
    stopping: new AbortController(),
    log: [],
    pickFaults: faultPicker([]),
    faultsHit: 0,
    requestCount: 0,
  }
  const server = createServer((incoming, outgoing) => {
    // A client that goes away, or a server that closes, ends the request; there is nobody to tell.
    serve(state, incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('s3 server: no TCP port')

  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    bucket: bucket.name,
    ...bucket.identity,
    objects: () => new Map(bucket.store.objects),
    versionsOf: (key) => bucket.store.versionsOf(key),
    uploads: () =>
      [...bucket.store.uploads.values()].map(({ key, uploadId, parts }) => ({
        key,
        uploadId,
        partNumbers: [...parts.keys()].toSorted((a, b) => a - b),
      })),
    log: () => [...state.log],
    faultsHit: () => state.faultsHit,
    setFaults(faults) {
      state.pickFaults = faultPicker(faults)
      state.faultsHit = 0
    },
    reset() {
      bucket.store.clear()
      state.log.length = 0
      state.pickFaults = faultPicker([])
      state.faultsHit = 0
    },
    async close() {
      if (!server.listening) return
      state.stopping.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

interface ServerState {
  readonly bucket: Bucket
  readonly clock: Pick<Clock, 'now'>
  readonly stopping: AbortController
  readonly log: S3LogEntry[]
  pickFaults: ReturnType<typeof faultPicker>
  faultsHit: number
  requestCount: number
}

/** How a request ends: with a response, or without one when the connection is reset. */
interface Outcome {
  readonly response: S3Response | undefined
  /** The code of the error document, if the response is one. */
  readonly code?: string
  /** The connection is reset in the middle of the body. */
  readonly isCut?: boolean
}

const RESET: Outcome = { response: undefined }

async function serve(
  state: ServerState,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  state.requestCount += 1
  const requestId = `REQUEST${String(state.requestCount).padStart(9, '0')}`
  const { method = '', url = '/' } = incoming
  // The body is read first, whatever comes of it: an answer in the middle of an upload looks like a broken connection.
  const rawBody = await readBody(incoming)
  let request: S3Request | undefined
  let outcome: Outcome
  try {
    request = parseRequest(method, url, incoming.rawHeaders)
    outcome = await answer(state, request, rawBody, requestId)
  } catch (error) {
    if (state.stopping.signal.aborted) throw error
    outcome = refusal(error, url, requestId)
  }
  const { response, code } = outcome
  const sentBytes = Buffer.byteLength(response?.body ?? '')
  state.log.push({
    operation: request?.operation ?? 'Unknown',
    key: request?.key ?? '',
    status: response?.status ?? 0,
    code,
    bytes: request?.operation === 'GetObject' ? sentBytes : rawBody.length,
  })
  if (response === undefined) incoming.socket.resetAndDestroy()
  else if (outcome.isCut) sendHalf(outgoing, response, requestId, state.clock.now())
  else send(outgoing, response, requestId, state.clock.now())
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

// Faults act in the order they were set; the first that ends the request decides.
async function answer(
  state: ServerState,
  request: S3Request,
  rawBody: Buffer,
  requestId: string,
): Promise<Outcome> {
  let resetAfterCommit = false
  let isCut = false
  let keyFault: S3Call['keyFault'] = () => undefined
  const faults = state.pickFaults(request.operation, request.key)
  if (faults.length > 0) state.faultsHit += 1
  for (const fault of faults) {
    switch (fault.action) {
      case 'slow':
        await pause(fault.delayMs, undefined, { signal: state.stopping.signal })
        break
      case 'status':
        return refusal(faultError(fault.status), request.path, requestId)
      case 'reset':
        return RESET
      case 'error-in-200':
        return refusal(faultError(500), request.path, requestId, 200)
      case 'reset-after-commit':
        resetAfterCommit = true
        break
      case 'cut':
        isCut = true
        break
      case 'refuse-keys': {
        const earlier = keyFault
        keyFault = (key) => (key.includes(fault.failing) ? fault.code : earlier(key))
        break
      }
    }
  }
  const response = execute(state.bucket, request, rawBody, state.clock.now(), keyFault)
  return resetAfterCommit ? RESET : { response, isCut }
}

// Anything but an S3Error is a defect of this server: its message is sent along, so that the failing test shows it.
function refusal(error: unknown, path: string, requestId: string, status?: number): Outcome {
  const s3Error =
    error instanceof S3Error
      ? error
      : new S3Error('InternalError', `Defect in the S3 test server: ${messageOf(error)}`)
  const body = xmlDocument('Error', [
    ['Code', s3Error.code],
    ['Message', s3Error.message],
    ...Object.entries(s3Error.details),
    ['Resource', path],
    ['RequestId', requestId],
  ])
  return { response: { status: status ?? s3Error.status, body }, code: s3Error.code }
}

// What was sent before a reset may never arrive, so the half goes out first.
function sendHalf(
  outgoing: ServerResponse,
  response: S3Response,
  requestId: string,
  nowMs: number,
): void {
  const body = Buffer.from(response.body ?? '')
  writeHead(outgoing, response, requestId, nowMs)
  outgoing.write(body.subarray(0, body.length / 2), () => outgoing.socket?.destroy())
}

// The Date header follows the server's clock: a client with a wrong clock corrects itself by it.
function send(
  outgoing: ServerResponse,
  response: S3Response,
  requestId: string,
  nowMs: number,
): void {
  writeHead(outgoing, response, requestId, nowMs)
  outgoing.end(outgoing.req.method === 'HEAD' ? undefined : response.body)
}

function writeHead(
  outgoing: ServerResponse,
  { status, headers, body }: S3Response,
  requestId: string,
  nowMs: number,
): void {
  const isXml = typeof body === 'string'
  const hasLength = status !== 204 && status !== 304
  outgoing.writeHead(status, {
    date: new Date(nowMs).toUTCString(),
    server: 'AmazonS3',
    'x-amz-request-id': requestId,
    ...(isXml ? { 'content-type': 'application/xml' } : {}),
    ...(hasLength ? { 'content-length': Buffer.byteLength(body ?? '') } : {}),
    ...headers,
  })
}
