/** The operations on single objects: put, get, head, delete, and delete many. */
import { createHash } from 'node:crypto'
import type { Checksum } from './s3-checksums.ts'
import { verifyChecksums } from './s3-checksums.ts'
import { S3Error, notImplemented } from './s3-errors.ts'
import type { Payload } from './s3-payload.ts'
import type { S3Request } from './s3-routes.ts'
import type { BucketStore, ObjectAttributes, StoredObject } from './s3-store.ts'
import { etagMatches, preconditionFailed } from './s3-store.ts'
import type { XmlChild } from './s3-xml.ts'
import { childText, childrenNamed, malformedXml, parseXml, xmlDocument } from './s3-xml.ts'

/** An authenticated request with its payload, and what it may touch. */
export interface S3Call {
  readonly request: S3Request
  readonly payload: Payload
  readonly store: BucketStore
  readonly nowMs: number
}

/** What goes back. A string is an XML document. */
export interface S3Response {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

const MAX_METADATA_BYTES = 2048
const MAX_DELETES = 1000
const KEPT_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
]

/** PutObject. */
export function putObject({ request, payload, store, nowMs }: S3Call): S3Response {
  const { headers, key } = request
  const checksum = verifyChecksums(headers, payload.trailers, payload.body)
  const object: StoredObject = {
    ...readAttributes(headers),
    body: payload.body,
    etag: `"${md5Hex(payload.body)}"`,
    checksum,
    lastModifiedMs: nowMs,
  }
  store.commit(key, object, headers)
  return { status: 200, headers: { etag: object.etag, ...checksumHeaders(checksum) } }
}

/** GetObject and, without the bytes, HeadObject. */
export function getObject({ request, store }: S3Call): S3Response {
  const object = store.get(request.key)
  const ifMatch = request.headers.get('if-match')
  if (ifMatch !== undefined && !etagMatches(ifMatch, object.etag)) {
    throw preconditionFailed('If-Match')
  }
  const ifNoneMatch = request.headers.get('if-none-match')
  if (ifNoneMatch !== undefined && etagMatches(ifNoneMatch, object.etag)) {
    return { status: 304, headers: { etag: object.etag } }
  }
  const size = object.body.length
  const headers: Record<string, string> = {
    ...object.headers,
    'accept-ranges': 'bytes',
    etag: object.etag,
    'last-modified': new Date(object.lastModifiedMs).toUTCString(),
  }
  for (const [name, value] of Object.entries(object.metadata)) headers[`x-amz-meta-${name}`] = value

  const range = parseRange(request.headers.get('range'), size)
  if (range !== undefined) {
    headers['content-range'] = `bytes ${range.start}-${range.end - 1}/${size}`
    return { status: 206, headers, body: object.body.subarray(range.start, range.end) }
  }
  if (request.headers.get('x-amz-checksum-mode') === 'ENABLED') {
    Object.assign(headers, checksumHeaders(object.checksum))
  }
  return { status: 200, headers, body: object.body }
}

/** DeleteObject: 204 also when there was nothing. */
export function deleteObject({ request, store }: S3Call): S3Response {
  store.remove(request.key, request.headers)
  return { status: 204 }
}

/** DeleteObjects: up to 1,000 keys; the body must carry a checksum. */
export function deleteObjects({ request, payload, store }: S3Call): S3Response {
  const checksum = verifyChecksums(request.headers, payload.trailers, payload.body)
  if (checksum === undefined && !request.headers.has('content-md5')) {
    throw new S3Error(
      'InvalidRequest',
      'Missing required header for this request: Content-MD5 OR x-amz-checksum-*',
    )
  }
  const root = parseXml(payload.body.toString('utf8'), 'Delete')
  const entries = childrenNamed(root, 'Object')
  if (entries.length === 0 || entries.length > MAX_DELETES) throw malformedXml()
  const keys = entries.map((entry) => {
    const other = entry.children.find((child) => child.name !== 'Key')
    if (other !== undefined) throw notImplemented(`${other.name} in DeleteObjects`)
    const key = childText(entry, 'Key')
    if (key === undefined || key === '') throw malformedXml()
    return key
  })
  for (const key of keys) store.objects.delete(key)
  const isQuiet = childText(root, 'Quiet') === 'true'
  const deleted = keys.map((key): XmlChild => ['Deleted', [['Key', key]]])
  return { status: 200, body: xmlDocument('DeleteResult', isQuiet ? [] : deleted) }
}

/**
 * User metadata and the headers that S3 keeps. `aws-chunked` is how the bytes travelled, not what they are.
 * @throws S3Error MetadataTooLarge over 2 KiB
 */
export function readAttributes(headers: ReadonlyMap<string, string>): ObjectAttributes {
  const metadata: Record<string, string> = {}
  for (const [name, value] of headers) {
    if (name.startsWith('x-amz-meta-')) metadata[name.slice('x-amz-meta-'.length)] = value
  }
  const size = Buffer.byteLength(Object.entries(metadata).flat().join(''))
  if (size > MAX_METADATA_BYTES) {
    throw new S3Error(
      'MetadataTooLarge',
      'Your metadata headers exceed the maximum allowed metadata size',
      { Size: size, MaxSizeAllowed: MAX_METADATA_BYTES },
    )
  }
  const kept: Record<string, string> = { 'content-type': 'binary/octet-stream' }
  for (const name of KEPT_HEADERS) {
    const value = headers.get(name)
    if (value !== undefined) kept[name] = value
  }
  const encodings = (kept['content-encoding'] ?? '')
    .split(',')
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'aws-chunked')
  if (encodings.length > 0) kept['content-encoding'] = encodings.join(',')
  else delete kept['content-encoding']
  return { metadata, headers: kept }
}

/** The headers that tell a checksum. */
export function checksumHeaders(checksum: Checksum | undefined): Record<string, string> {
  if (checksum === undefined) return {}
  return {
    [`x-amz-checksum-${checksum.algorithm}`]: checksum.value,
    'x-amz-checksum-type': checksum.type,
  }
}

/** The MD5 of `data` in hexadecimal, which is what S3 makes ETags from. */
export function md5Hex(data: Buffer): string {
  return createHash('md5').update(data).digest('hex')
}

// One range of bytes, end exclusive; as S3 does, a header that is no single valid range is ignored.
function parseRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (match === null) return undefined
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size)
  if (start >= end) {
    throw new S3Error('InvalidRange', 'The requested range is not satisfiable', {
      RangeRequested: header ?? '',
      ActualObjectSize: size,
    })
  }
  return { start, end }
}
