/**
 * An S3 server for tests: one bucket in memory on 127.0.0.1, path-style addresses, with faults. It does what Jobtide needs,
 * checks signatures and SHA-256 checksums, and answers 501 to the rest; `test/s3/radosgw.sh` runs the same tests of the
 * store on a real server.
 */

import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { realClock, type Clock } from '../../src/support/clock.ts'
import { messageOf } from '../../src/support/errors.ts'
import { Bucket, type ObjectVersion, type OpenUpload, type StoredObject } from './s3-bucket.ts'
import type { S3Target } from './s3-client.ts'
import { faultPicker, type S3Fault, type S3Operation } from './s3-faults.ts'
import {
  S3Error,
  execute,
  operationOf,
  xmlOf,
  type ConditionQuirks,
  type S3Request,
  type S3Response,
} from './s3-operations.ts'

/** What may be chosen; everything has a default. */
export interface S3ServerOptions extends ConditionQuirks {
  readonly region?: string
  readonly secretAccessKey?: string
  /** The time that objects and uploads get. Defaults to the machine's. */
  readonly storageClock?: Pick<Clock, 'now'>
}

/** One request, in the order of the answers. */
export interface S3LogEntry {
  readonly operation: S3Operation | 'Unknown'
  /** Empty for operations on the bucket. */
  readonly key: string
  /** The status that was sent; 0 when the connection was dropped instead. */
  readonly status: number
  /** The body on the wire: that of the answer for GetObject, that of the request for all others. */
  readonly bytes: number
}

/** A running server. */
export interface S3Server extends S3Target {
  /** The objects as they are now, by key. */
  objects(): Map<string, StoredObject>
  /** What is kept of a key, newest first: one version, unless the bucket keeps more. */
  versionsOf(key: string): ObjectVersion[]
  /** The open uploads in parts, oldest first. */
  uploads(): OpenUpload[]
  /** The requests answered so far. */
  log(): S3LogEntry[]
  /** Replaces all faults; counting starts again. */
  setFaults(faults: readonly S3Fault[]): void
  /** Forgets objects, uploads, log and faults. */
  reset(): void
  /** Drops all connections and stops. */
  close(): Promise<void>
}

interface State extends Omit<S3Target, 'endpoint'> {
  readonly store: Bucket
  readonly options: S3ServerOptions
  readonly stopping: AbortController
  readonly log: S3LogEntry[]
  pickFaults: ReturnType<typeof faultPicker>
}

/** Starts a server on a free port of 127.0.0.1. */
export async function startS3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const account = {
    bucket: 'test-bucket',
    region: options.region ?? 'eu-test-1',
    accessKeyId: 'TESTACCESSKEYID',
    secretAccessKey: options.secretAccessKey ?? 'test-secret-access-key',
  }
  const store = new Bucket()
  const state: State = {
    ...account,
    store,
    options,
    stopping: new AbortController(),
    log: [],
    pickFaults: faultPicker([]),
  }
  const server = createServer((incoming, outgoing) => {
    // A client that goes away, or a server that closes, ends the request.
    serve(state, incoming, outgoing).catch(() => outgoing.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('there is no TCP port')
  const setFaults = (faults: readonly S3Fault[]) => {
    state.pickFaults = faultPicker(faults)
  }
  return {
    ...account,
    endpoint: `http://127.0.0.1:${address.port}`,
    objects: () => store.objects(),
    versionsOf: (key) => store.versionsOf(key),
    uploads: () => [...store.uploads.values()],
    log: () => [...state.log],
    setFaults,
    reset() {
      store.clear()
      state.log.length = 0
      setFaults([])
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

async function serve(state: State, incoming: IncomingMessage, outgoing: ServerResponse) {
  // The body is read first, whatever comes of it: an answer in the middle of an upload looks like a broken connection.
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const url = new URL(incoming.url ?? '/', 'http://localhost')
  const [, bucketName = '', ...path] = decodeURIComponent(url.pathname).split('/')
  const key = path.join('/')
  const headers = incoming.headers as Record<string, string>
  const method = incoming.method ?? ''
  let operation: S3LogEntry['operation'] = 'Unknown'
  let response: S3Response | null
  let isCut = false
  try {
    operation = operationOf(method, key, url.searchParams)
    checkSignature(state, method, url, headers, body)
    if (bucketName !== state.bucket) throw new S3Error(404, 'NoSuchBucket')
    const request = { operation, key, query: url.searchParams, headers, body }
    ;({ response, isCut } = await answer(state, request))
  } catch (error) {
    if (state.stopping.signal.aborted) throw error
    response = refusal(error)
  }
  const sent = Buffer.from(response?.body ?? '')
  const bytes = operation === 'GetObject' ? sent.length : body.length
  state.log.push({ operation, key, status: response?.status ?? 0, bytes })
  if (response === null) {
    incoming.socket.resetAndDestroy()
    return
  }
  outgoing.writeHead(response.status, {
    server: 'AmazonS3',
    ...(typeof response.body === 'string' ? { 'content-type': 'application/xml' } : {}),
    ...(response.status === 204 ? {} : { 'content-length': sent.length }),
    ...response.headers,
  })
  // What was sent before a reset may never arrive, so the half goes out first.
  if (isCut) outgoing.write(sent.subarray(0, sent.length / 2), () => outgoing.socket?.destroy())
  else outgoing.end(method === 'HEAD' ? undefined : sent)
}

// Faults act in the order they were set; the first that ends the request decides. No response: the connection is reset.
async function answer(
  state: State,
  request: S3Request,
): Promise<{ response: S3Response | null; isCut: boolean }> {
  const { store, options } = state
  const codes = { 403: 'AccessDenied', 409: 'ConditionalRequestConflict', 500: 'InternalError' }
  const faults = state.pickFaults(request.operation, request.key)
  for (const fault of faults) {
    if (fault.action === 'slow') {
      await pause(fault.delayMs, undefined, { signal: state.stopping.signal })
    } else if (fault.action === 'status') {
      const code = fault.status === 503 ? 'SlowDown' : codes[fault.status]
      return { response: refusal(new S3Error(fault.status, code)), isCut: false }
    } else if (fault.action === 'reset') {
      return { response: null, isCut: false }
    } else if (fault.action === 'error-in-200') {
      const refused = refusal(new S3Error(500, 'InternalError'))
      return { response: { ...refused, status: 200 }, isCut: false }
    }
  }
  const response = execute(request, {
    bucket: store,
    quirks: options,
    now: () => (options.storageClock ?? realClock).now(),
    refusalOf: (key) =>
      faults.flatMap((fault) =>
        fault.action === 'refuse-keys' && key.includes(fault.failing) ? fault.code : [],
      )[0],
  })
  const isReset = faults.some(({ action }) => action === 'reset-after-commit')
  const isCut = faults.some(({ action }) => action === 'cut')
  return { response: isReset ? null : response, isCut }
}

// Anything but an S3Error is a defect of this server: its message is sent along, so that the failing test shows it.
function refusal(error: unknown): S3Response {
  const isOurs = error instanceof S3Error
  const code = isOurs ? error.code : 'InternalError'
  const body = xmlOf('Error', [
    ['Code', code],
    ['Message', messageOf(error)],
  ])
  return { status: isOurs ? error.status : 500, body }
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer | string, data: string) => createHmac('sha256', key).update(data).digest()

/** Signature Version 4, in the header. @throws S3Error */
function checkSignature(
  state: State,
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): void {
  const found =
    /Credential=([^/]+)\/(\d+)\/([^/]+)\/s3\/aws4_request,\s*SignedHeaders=([^,]+),\s*Signature=(\w+)/
  const [, keyId, date = '', region = '', signed = '', signature] =
    found.exec(headers['authorization'] ?? '') ?? []
  if (keyId === undefined) throw new S3Error(403, 'AccessDenied')
  if (keyId !== state.accessKeyId) throw new S3Error(403, 'InvalidAccessKeyId')
  if (region !== state.region) throw new S3Error(400, 'AuthorizationHeaderMalformed')
  const payload = headers['x-amz-content-sha256'] ?? ''
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) {
    throw new S3Error(400, 'XAmzContentSHA256Mismatch')
  }
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  const query = [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted()
    .join('&')
  const canonical = [
    method,
    url.pathname,
    query,
    ...signed.split(';').map((name) => `${name}:${(headers[name] ?? '').trim()}`),
    '',
    signed,
    payload,
  ].join('\n')
  const scope = `${date}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [date, region, 's3', 'aws4_request'].reduce<Buffer | string>(
    hmac,
    `AWS4${state.secretAccessKey}`,
  )
  if (hmac(key, text).toString('hex') === signature) return
  throw new S3Error(403, 'SignatureDoesNotMatch')
}
