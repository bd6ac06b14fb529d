/** The operations on single objects: put, get, head, delete, and delete many. */
import { checksumHeaders, encryptionHeaders, etagOf, readAttributes } from './s3-attributes.ts'
import { verifyChecksums } from './s3-checksums.ts'
import type { S3ErrorCode } from './s3-errors.ts'
import { S3Error, notImplemented } from './s3-errors.ts'
import type { Payload } from './s3-payload.ts'
import type { S3Request } from './s3-routes.ts'
import { parameter } from './s3-routes.ts'
import type { BucketStore, ObjectVersion, StoredObject } from './s3-store.ts'
import { etagMatches, noSuchKey, preconditionFailed } from './s3-store.ts'
import type { XmlChild } from './s3-xml.ts'
import { childText, childrenNamed, malformedXml, parseXml, xmlDocument } from './s3-xml.ts'

/** An authenticated request with its payload, and what it may touch. */
export interface S3Call {
  readonly request: S3Request
  readonly payload: Payload
  readonly store: BucketStore
  /** The time that objects get. */
  readonly nowMs: number
  /** The KMS keys that there are. */
  readonly kmsKeyIds: readonly string[]
  /** Why DeleteObjects refuses a key, if a fault says so. */
  readonly keyFault: (key: string) => S3ErrorCode | undefined
}

/** What goes back. A string is an XML document. */
export interface S3Response {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

const MAX_DELETES = 1000
/** PutObject. */
export function putObject({ request, payload, store, nowMs, kmsKeyIds }: S3Call): S3Response {
  const { headers, key } = request
  const checksum = verifyChecksums(headers, payload.trailers, payload.body)
  const attributes = readAttributes(headers, kmsKeyIds)
  const object: StoredObject = {
    ...attributes,
    body: payload.body,
    etag: etagOf(payload.body, attributes),
    checksum,
    lastModifiedMs: nowMs,
  }
  const version = store.commit(key, object, headers)
  return {
    status: 200,
    headers: {
      etag: object.etag,
      ...checksumHeaders(checksum),
      ...encryptionHeaders(object),
      ...versionHeaders(store, version),
    },
  }
}

/** GetObject and, without the bytes, HeadObject. */
export function getObject({ request, store }: S3Call): S3Response {
  const version = namedVersion(request, store)
  const object = version.object
  if (object === undefined) throw removed(request, version)
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
  Object.assign(headers, encryptionHeaders(object), versionHeaders(store, version))
  if (object.storageClass !== 'STANDARD') headers['x-amz-storage-class'] = object.storageClass
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
export function deleteObject({ request, store, nowMs }: S3Call): S3Response {
  const versionId = parameter(request, 'versionId')
  if (versionId === undefined) {
    const marker = store.remove(request.key, request.headers, nowMs)
    const headers = marker && {
      'x-amz-version-id': marker.versionId,
      'x-amz-delete-marker': 'true',
    }
    return { status: 204, ...(headers && { headers }) }
  }
  const gone = store.removeVersion(request.key, versionId)
  const headers: Record<string, string> = { 'x-amz-version-id': versionId }
  if (gone !== undefined && gone.object === undefined) headers['x-amz-delete-marker'] = 'true'
  return { status: 204, headers }
}

/** DeleteObjects: up to 1,000 keys; the body must carry a checksum. */
export function deleteObjects({ request, payload, store, nowMs, keyFault }: S3Call): S3Response {
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
  const names = entries.map((entry) => {
    const other = entry.children.find(({ name }) => name !== 'Key' && name !== 'VersionId')
    if (other !== undefined) throw notImplemented(`${other.name} in DeleteObjects`)
    const key = childText(entry, 'Key')
    if (key === undefined || key === '') throw malformedXml()
    return { key, versionId: childText(entry, 'VersionId') }
  })
  const isQuiet = childText(root, 'Quiet') === 'true'
  const results = names.map(({ key, versionId }): XmlChild => {
    const named: XmlChild[] = [['Key', key]]
    if (versionId !== undefined) named.push(['VersionId', versionId])
    const code = keyFault(key)
    if (code !== undefined) return ['Error', [...named, ['Code', code], ['Message', code]]]
    if (versionId === undefined) store.remove(key, new Map(), nowMs)
    else store.removeVersion(key, versionId)
    return ['Deleted', named]
  })
  const shown = results.filter(([name]) => !isQuiet || name === 'Error')
  return { status: 200, body: xmlDocument('DeleteResult', shown) }
}

// The version that the query names, else the one that is there.
function namedVersion(request: S3Request, store: BucketStore): ObjectVersion {
  const versions = store.versionsOf(request.key)
  const versionId = parameter(request, 'versionId')
  if (versionId === undefined) {
    if (versions[0] === undefined) throw noSuchKey(request.key)
    return versions[0]
  }
  const found = versions.find((version) => version.versionId === versionId)
  if (found !== undefined) return found
  throw new S3Error('NoSuchVersion', 'The specified version does not exist.', {
    Key: request.key,
    VersionId: versionId,
  })
}

function removed(request: S3Request, version: ObjectVersion): S3Error {
  if (parameter(request, 'versionId') === undefined) return noSuchKey(request.key)
  return new S3Error(
    'MethodNotAllowed',
    'The specified method is not allowed against this resource.',
    { Method: request.method, ResourceType: 'DeleteMarker', VersionId: version.versionId },
  )
}

/** The header that tells which version was written or read, where versions are kept. */
export function versionHeaders(
  store: BucketStore,
  { versionId }: ObjectVersion,
): Record<string, string> {
  return store.versioning === 'Off' ? {} : { 'x-amz-version-id': versionId }
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
