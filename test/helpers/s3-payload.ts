/**
 * From the bytes on the wire to the payload the client meant: checks `x-amz-content-sha256` and undoes aws-chunked framing.
 * Knows nothing of objects. A body that is framed but not announced as such is never stored as it came.
 */
import { createHash } from 'node:crypto'
import { S3Error, notImplemented } from './s3-errors.ts'

const UNSIGNED_TRAILER = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
const MIN_CHUNK_BYTES = 8192

/** What a client sent, without framing. Trailer names are lower-case. */
export interface Payload {
  readonly body: Buffer
  readonly trailers: ReadonlyMap<string, string>
}

/**
 * The payload of a request with these headers and raw body.
 * @throws S3Error when the hash, the lengths or the framing are not as announced
 */
export function decodePayload(headers: ReadonlyMap<string, string>, raw: Buffer): Payload {
  const contentSha256 = headers.get('x-amz-content-sha256')
  if (contentSha256 === undefined) {
    throw new S3Error(
      'InvalidRequest',
      'Missing required header for this request: x-amz-content-sha256',
    )
  }
  if (contentSha256 === UNSIGNED_TRAILER) return decodeChunked(headers, raw)
  if (contentSha256.startsWith('STREAMING-')) {
    throw notImplemented(`x-amz-content-sha256: ${contentSha256}`)
  }
  if (headers.has('transfer-encoding')) throw notImplemented('Transfer-Encoding')
  if (contentSha256 !== 'UNSIGNED-PAYLOAD') checkSha256(contentSha256, raw)
  return { body: raw, trailers: new Map() }
}

function checkSha256(claimed: string, body: Buffer): void {
  if (!/^[0-9a-f]{64}$/.test(claimed)) {
    throw new S3Error(
      'InvalidArgument',
      `x-amz-content-sha256 must be UNSIGNED-PAYLOAD, ${UNSIGNED_TRAILER} or a valid sha256 value.`,
      { ArgumentName: 'x-amz-content-sha256', ArgumentValue: claimed },
    )
  }
  const computed = createHash('sha256').update(body).digest('hex')
  if (computed !== claimed) {
    throw new S3Error(
      'XAmzContentSHA256Mismatch',
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
      { ClientComputedContentSHA256: claimed, S3ComputedContentSHA256: computed },
    )
  }
}

function decodeChunked(headers: ReadonlyMap<string, string>, raw: Buffer): Payload {
  const announcedLength = headers.get('x-amz-decoded-content-length')
  if (announcedLength === undefined || !/^\d+$/.test(announcedLength)) {
    throw new S3Error('MissingContentLength', 'You must provide x-amz-decoded-content-length.')
  }
  const { chunks, trailerStart } = readChunks(raw)
  const body = Buffer.concat(chunks)
  if (body.length !== Number(announcedLength)) throw incompleteBody()
  const trailers = readTrailers(raw.toString('latin1', trailerStart))
  const announcedNames = (headers.get('x-amz-trailer') ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '')
  if (announcedNames.toSorted().join() !== [...trailers.keys()].toSorted().join()) {
    throw malformedTrailer()
  }
  return { body, trailers }
}

// <size in hex>CRLF <bytes> CRLF … 0 CRLF <trailers> CRLF
function readChunks(raw: Buffer): { chunks: Buffer[]; trailerStart: number } {
  const chunks: Buffer[] = []
  let offset = 0
  for (;;) {
    const lineEnd = raw.indexOf('\r\n', offset)
    const sizeText = lineEnd === -1 ? '' : raw.toString('latin1', offset, lineEnd)
    if (!/^[0-9a-fA-F]{1,8}$/.test(sizeText)) throw incompleteBody()
    const size = Number.parseInt(sizeText, 16)
    const start = lineEnd + 2
    if (size === 0) {
      checkChunkSizes(chunks)
      return { chunks, trailerStart: start }
    }
    if (raw.toString('latin1', start + size, start + size + 2) !== '\r\n') throw incompleteBody()
    chunks.push(raw.subarray(start, start + size))
    offset = start + size + 2
  }
}

function checkChunkSizes(chunks: readonly Buffer[]): void {
  const bad = chunks.slice(0, -1).findIndex((chunk) => chunk.length < MIN_CHUNK_BYTES)
  if (bad === -1) return
  throw new S3Error(
    'InvalidChunkSizeError',
    `Only the last chunk is allowed to have a size less than ${MIN_CHUNK_BYTES} bytes`,
    { Chunk: bad + 1, BadChunkSize: chunks[bad]?.length ?? 0 },
  )
}

function readTrailers(text: string): Map<string, string> {
  if (!text.endsWith('\r\n')) throw malformedTrailer()
  const trailers = new Map<string, string>()
  for (const line of text.split('\r\n').filter((part) => part !== '')) {
    const match = /^([\w-]+):\s*(\S*)\s*$/.exec(line)
    if (match === null) throw malformedTrailer()
    trailers.set((match[1] ?? '').toLowerCase(), match[2] ?? '')
  }
  return trailers
}

function incompleteBody(): S3Error {
  return new S3Error(
    'IncompleteBody',
    'You did not provide the number of bytes specified by the x-amz-decoded-content-length HTTP header',
  )
}

function malformedTrailer(): S3Error {
  return new S3Error(
    'MalformedTrailerError',
    'The request contained trailing data that was not well-formed or did not conform to our published schema.',
  )
}
