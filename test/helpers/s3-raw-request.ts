/**
 * Sends single requests to an S3 server with everything in the test's hands: headers, framing, signature.
 * It signs by itself, from the published description of Signature V4, and shares no code with the test server.
 */
import { createHash, createHmac } from 'node:crypto'
import { request as httpRequest } from 'node:http'

/** Where a bucket is and who may use it. */
export interface S3Target {
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** One request. `path` and `query` are sent as they are, so they must be encoded and the query sorted. */
export interface RawRequest {
  readonly method: string
  /** Defaults to the bucket's path followed by `key`. */
  readonly path?: string
  readonly key?: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Headers that are sent but left out of the signature. */
  readonly unsignedHeaders?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  readonly region?: string
  /** When the request claims to be signed. Defaults to now. */
  readonly signedAtMs?: number
  /** Defaults to the SHA-256 of `body`. */
  readonly contentSha256?: string
}

/** What came back. */
export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  /** The code in the error document, if it is one. */
  readonly code: string | undefined
}

/** Signs and sends `raw`. */
export async function sendRaw(server: S3Target, raw: RawRequest): Promise<RawResponse> {
  const path = raw.path ?? `/${server.bucket}/${raw.key ?? ''}`
  const headers = { ...signedHeaders(server, { ...raw, path }), ...raw.unsignedHeaders }
  return sendUnsigned(server, { ...raw, path, headers })
}

/** Sends `raw` with its headers only, without a signature. */
export function sendUnsigned(server: S3Target, raw: RawRequest): Promise<RawResponse> {
  const { hostname, port } = new URL(server.endpoint)
  const path = raw.query === undefined ? (raw.path ?? '/') : `${raw.path ?? '/'}?${raw.query}`
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { hostname, port, method: raw.method, path, headers: raw.headers ?? {}, agent: false },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8')
          const code = /<Code>([^<]*)<\/Code>/.exec(body)?.[1]
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body, code })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(raw.body)
  })
}

/** A body in aws-chunked framing: the chunks, then the trailers. */
export function awsChunked(
  chunks: readonly (string | Buffer)[],
  trailers: Readonly<Record<string, string>>,
): Buffer {
  const framed = chunks.flatMap((chunk) => {
    const bytes = Buffer.from(chunk)
    return [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]
  })
  const lines = Object.entries(trailers).map(([name, value]) => `${name}:${value}\r\n`)
  return Buffer.concat([...framed, Buffer.from(`0\r\n${lines.join('')}\r\n`)])
}

/** The headers of `raw` with those of a signature; `path` defaults to the bucket's. */
export function signedHeaders(server: S3Target, raw: RawRequest): Record<string, string> {
  const path = raw.path ?? `/${server.bucket}/${raw.key ?? ''}`
  const timestamp = new Date(raw.signedAtMs ?? Date.now())
    .toISOString()
    .replace(/[-:]|\.\d{3}/g, '')
  const date = timestamp.slice(0, 8)
  const region = raw.region ?? server.region
  const body = raw.body ?? ''
  const headers: Record<string, string> = {
    host: new URL(server.endpoint).host,
    'x-amz-date': timestamp,
    'x-amz-content-sha256': raw.contentSha256 ?? sha256(body),
    ...raw.headers,
  }
  if (headers['transfer-encoding'] === undefined) {
    headers['content-length'] = String(Buffer.byteLength(body))
  }
  const names = Object.keys(headers).toSorted()
  const canonical = [
    raw.method,
    path,
    raw.query ?? '',
    ...names.map((name) => `${name}:${headers[name] ?? ''}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'] ?? '',
  ].join('\n')
  const scope = `${date}/${region}/s3/aws4_request`
  const secret = raw.secretAccessKey ?? server.secretAccessKey
  const key = [date, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (parent, text) => hmac(parent, text),
    `AWS4${secret}`,
  )
  const toSign = `AWS4-HMAC-SHA256\n${timestamp}\n${scope}\n${sha256(canonical)}`
  const credential = `${raw.accessKeyId ?? server.accessKeyId}/${scope}`
  const signature = hmac(key, toSign).toString('hex')
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}
