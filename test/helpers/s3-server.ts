/**
 * An S3 server for tests: one bucket in memory on 127.0.0.1, path-style addresses, with faults. It does only what
 * Jobtide needs, and compares SHA-256 checksums but no signatures; `test/s3/radosgw.sh` runs the shared suite of stores
 * on a real server.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import {
  Bucket,
  S3Error,
  refusal,
  type BucketQuirks,
  type S3Operation,
  type S3Request,
  type S3Response,
} from './s3-bucket.ts'

/**
 * Which requests go wrong: the `nth` one that matches (from 1, default 1) and the following, `times` in all (default 1); and
 * how. `status`: an error document; nothing is done. `reset`: nothing is done, the connection is reset. `slow`: the answer
 * starts `delayMs` later. `error-in-200`: 200 with an error in the body, and nothing is done. `page-in-200`: the same with a
 * page of something else on the way. `reset-after-commit`: the request is carried out, then the connection is reset. `cut`: the
 * connection is reset in the middle of the answer's body.
 * `refuse-keys`: DeleteObjects answers 200, but with `code` for each key that has `failing` in it.
 */
export type S3Fault = {
  readonly operation: S3Operation
  /** A part of the key; without it every key matches. DeleteObjects and listings have no key. */
  readonly key?: string
  readonly nth?: number
  readonly times?: number
} & (
  | { readonly action: 'status'; readonly status: number; readonly code?: string }
  | { readonly action: 'reset' | 'reset-after-commit' | 'error-in-200' | 'page-in-200' | 'cut' }
  | { readonly action: 'slow'; readonly delayMs: number }
  | { readonly action: 'refuse-keys'; readonly failing: string; readonly code: string }
)

/** One request, in the order of the answers. */
interface S3LogEntry {
  readonly operation: S3Operation | 'Unknown'
  /** Empty for operations on the bucket. */
  readonly key: string
  /** The status sent; 0 if the connection was dropped. */
  readonly status: number
  /** The region of its signature. */
  readonly region: string | undefined
}

/** A running server. */
export type S3Server = Awaited<ReturnType<typeof startS3Server>>

const BUCKET = 'test-bucket'
const CODES: Readonly<Record<number, string>> = {
  403: 'AccessDenied',
  409: 'ConditionalRequestConflict',
  500: 'InternalError',
  503: 'SlowDown',
}

const PAGE: S3Response = { status: 200, headers: {}, body: '<html><p>Please log in.</html>' }

const MOST_SKEW_MS = 15 * 60_000

/** Starts a server on a free port of 127.0.0.1. */
export async function startS3Server(quirks: BucketQuirks = {}) {
  const bucket = new Bucket(quirks)
  const stopping = new AbortController()
  const log: S3LogEntry[] = []
  let faults: { readonly fault: S3Fault; seen: number }[] = []
  const faultsOf = ({ operation, key }: S3Request) =>
    faults.flatMap((entry) => {
      const { fault } = entry
      if (fault.operation !== operation || !key.includes(fault.key ?? '')) return []
      entry.seen += 1
      const { nth = 1, times = 1 } = fault
      return entry.seen >= nth && entry.seen < nth + times ? fault : []
    })

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Always reads the body first, because a response in the middle of an upload looks like a broken connection.
    const request = await requestOf(incoming)
    const serverNow = Date.now() + (quirks.aheadMs ?? 0)
    const isSkewed = Math.abs(signedAt(incoming) - serverNow) > MOST_SKEW_MS
    const { response, isCut } = isSkewed
      ? { response: refusal(403, 'RequestTimeTooSkewed') }
      : await answer(request, bucket, faultsOf, stopping.signal)
    const [, region] =
      /\/([^/]+)\/s3\/aws4_request/.exec(incoming.headers.authorization ?? '') ?? []
    const operation = request?.operation ?? 'Unknown'
    log.push({ operation, key: request?.key ?? '', status: response?.status ?? 0, region })
    if (response === null) {
      incoming.socket.resetAndDestroy()
      return
    }
    const sent = Buffer.from(response.body ?? '')
    outgoing.writeHead(response.status, {
      date: new Date(serverNow).toUTCString(),
      ...(typeof response.body === 'string' ? { 'content-type': 'application/xml' } : {}),
      ...(response.status === 204 ? {} : { 'content-length': sent.length }),
      ...response.headers,
    })
    // Data sent before a reset may never arrive, so the first half is flushed.
    if (isCut) outgoing.write(sent.subarray(0, sent.length / 2), () => outgoing.socket?.destroy())
    else outgoing.end(incoming.method === 'HEAD' ? undefined : sent)
  }
  const server = createServer((incoming, outgoing) => {
    // A client that goes away, or a server that closes, ends the request.
    serve(incoming, outgoing).catch(() => outgoing.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const setFaults = (wanted: readonly S3Fault[]) => {
    faults = wanted.map((fault) => ({ fault, seen: 0 }))
  }
  return {
    bucket: BUCKET,
    region: 'us-east-1',
    accessKeyId: 'TESTACCESSKEYID',
    secretAccessKey: 'very/secret+access/key0',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The current objects, by key. */
    objects: () => bucket.objects(),
    /** The kept versions of a key, newest first: one, unless the bucket keeps more. */
    versionsOf: (key: string) => bucket.versionsOf(key),
    /** The open uploads in parts, oldest first. */
    uploads: () => [...bucket.uploads.values()],
    /** The requests answered so far. */
    log: () => [...log],
    /** Replaces all faults; counting starts again. */
    setFaults,
    /** Clears objects, uploads, log and faults. */
    reset() {
      bucket.clear()
      log.length = 0
      setFaults([])
    },
    /** Drops all connections and stops. */
    async close() {
      if (!server.listening) return
      stopping.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The time at which the client says it signed a request. */
function signedAt({ headers }: IncomingMessage): number {
  const parts = /^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/.exec(String(headers['x-amz-date'])) ?? []
  const [, year, month, dayAndHour, minute, second] = parts
  return Date.parse(`${year}-${month}-${dayAndHour}:${minute}:${second}`)
}

/** A request to the bucket, decoded; null if this server does not support it. */
async function requestOf(incoming: IncomingMessage): Promise<S3Request | null> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const { pathname, searchParams: query } = new URL(incoming.url ?? '/', 'http://localhost')
  const [, bucket, ...path] = decodeURIComponent(pathname).split('/')
  const key = path.join('/')
  const operation = operationOf(incoming.method ?? '', key, query)
  if (operation === null || bucket !== BUCKET) return null
  const headers = incoming.headers as Record<string, string>
  return { operation, key, query, headers, body: Buffer.concat(chunks) }
}

function operationOf(method: string, key: string, query: URLSearchParams): S3Operation | null {
  const has = (name: string) => query.has(name)
  if (key === '') {
    if (method === 'GET' && has('list-type')) return 'ListObjectsV2'
    if (method === 'GET' && has('versions')) return 'ListObjectVersions'
    if (method === 'GET' && has('uploads')) return 'ListMultipartUploads'
    if (method === 'PUT' && has('versioning')) return 'PutBucketVersioning'
    return method === 'POST' && has('delete') ? 'DeleteObjects' : null
  }
  if (method === 'POST' && has('uploads')) return 'CreateMultipartUpload'
  if (method === 'POST' && has('uploadId')) return 'CompleteMultipartUpload'
  if (method === 'PUT') return has('uploadId') ? 'UploadPart' : 'PutObject'
  if (method === 'GET') return 'GetObject'
  if (method === 'HEAD') return 'HeadObject'
  return method === 'DELETE' && has('uploadId') ? 'AbortMultipartUpload' : null
}

// Faults apply in the order in which they were set; the first that ends the request wins. Without a response the
// connection is reset.
async function answer(
  request: S3Request | null,
  bucket: Bucket,
  faultsOf: (request: S3Request) => S3Fault[],
  signal: AbortSignal,
): Promise<{ response: S3Response | null; isCut?: boolean }> {
  if (request === null) return { response: refusal(404, 'NoSuchBucket') }
  const faults = faultsOf(request)
  for (const fault of faults) {
    if (fault.action === 'slow') await pause(fault.delayMs, undefined, { signal })
    if (fault.action === 'reset') return { response: null }
    if (fault.action === 'status') {
      return { response: refusal(fault.status, fault.code ?? CODES[fault.status] ?? '') }
    }
    if (fault.action === 'page-in-200') return { response: PAGE }
    if (fault.action === 'error-in-200') {
      return { response: { ...refusal(500, 'InternalError'), status: 200 } }
    }
  }
  const refusalOf = (key: string) =>
    faults.flatMap((fault) =>
      fault.action === 'refuse-keys' && key.includes(fault.failing) ? fault.code : [],
    )[0]
  try {
    const response = bucket.answer(request, refusalOf)
    const isReset = faults.some(({ action }) => action === 'reset-after-commit')
    return {
      response: isReset ? null : response,
      isCut: faults.some((one) => one.action === 'cut'),
    }
  } catch (error) {
    if (error instanceof S3Error) return { response: refusal(error.status, error.code) }
    throw error
  }
}
