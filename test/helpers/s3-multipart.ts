/** Multipart uploads: create, add parts, complete, abort. Nothing is an object before it is complete. */
import {
  checksumHeaders,
  encryptionHeaders,
  etagOf,
  md5Hex,
  readAttributes,
} from './s3-attributes.ts'
import type { Checksum } from './s3-checksums.ts'
import {
  compositeDigest,
  digest,
  parseAlgorithm,
  sentChecksum,
  verifyChecksums,
} from './s3-checksums.ts'
import { S3Error } from './s3-errors.ts'
import type { S3Call, S3Response } from './s3-objects.ts'
import { versionHeaders } from './s3-objects.ts'
import type { S3Request } from './s3-routes.ts'
import { parameter } from './s3-routes.ts'
import type { MultipartUpload, UploadedPart } from './s3-store.ts'
import { isSameEtag } from './s3-store.ts'
import type { XmlChild, XmlElement } from './s3-xml.ts'
import { childText, childrenNamed, malformedXml, parseXml, xmlDocument } from './s3-xml.ts'

const MIN_PART_BYTES = 5 * 1024 * 1024
const MAX_PARTS = 10_000

/** CreateMultipartUpload. */
export function createMultipartUpload({ request, store, nowMs, kmsKeyIds }: S3Call): S3Response {
  const checksum = requestedChecksum(request.headers)
  const upload = store.openUpload({
    key: request.key,
    initiatedMs: nowMs,
    attributes: readAttributes(request.headers, kmsKeyIds),
    checksum,
  })
  const headers: Record<string, string> = encryptionHeaders(upload.attributes)
  if (checksum !== undefined) {
    headers['x-amz-checksum-algorithm'] = checksum.algorithm.toUpperCase()
    headers['x-amz-checksum-type'] = checksum.type
  }
  const body = xmlDocument('InitiateMultipartUploadResult', [
    ['Bucket', request.bucket],
    ['Key', request.key],
    ['UploadId', upload.uploadId],
  ])
  return { status: 200, headers, body }
}

/** UploadPart. A part that is sent again replaces the earlier one. */
export function uploadPart({ request, payload, store, nowMs }: S3Call): S3Response {
  const partNumber = Number(parameter(request, 'partNumber'))
  if (!Number.isInteger(partNumber) || partNumber < 1 || partNumber > MAX_PARTS) {
    throw new S3Error(
      'InvalidArgument',
      `Part number must be an integer between 1 and ${MAX_PARTS}, inclusive`,
      { ArgumentName: 'partNumber' },
    )
  }
  const upload = namedUpload(store, request)
  const checksum = verifyChecksums(request.headers, payload.trailers, payload.body)
  checkPartChecksum(upload, checksum)
  const part: UploadedPart = {
    body: payload.body,
    etag: etagOf(payload.body, upload.attributes),
    checksum,
    lastModifiedMs: nowMs,
  }
  upload.parts.set(partNumber, part)
  const headers: Record<string, string> = {
    etag: part.etag,
    ...checksumHeaders(checksum),
    ...encryptionHeaders(upload.attributes),
  }
  delete headers['x-amz-checksum-type']
  return { status: 200, headers }
}

/** CompleteMultipartUpload. The upload stays open when it fails. */
export function completeMultipartUpload({ request, payload, store, nowMs }: S3Call): S3Response {
  const upload = namedUpload(store, request)
  const root = parseXml(payload.body.toString('utf8'), 'CompleteMultipartUpload')
  const parts = listedParts(upload, childrenNamed(root, 'Part'))
  const body = Buffer.concat(parts.map((part) => part.body))
  const announcedSize = request.headers.get('x-amz-mp-object-size')
  if (announcedSize !== undefined && Number(announcedSize) !== body.length) {
    throw new S3Error(
      'InvalidRequest',
      `The provided 'x-amz-mp-object-size' header value ${announcedSize} does not match what was computed: ${body.length}`,
    )
  }
  const checksum = objectChecksum(upload, parts, body)
  const claimed = sentChecksum(request.headers, new Map())
  if (claimed !== undefined && claimed.value !== checksum?.value) {
    throw new S3Error('BadDigest', 'The checksum you specified did not match what we computed.')
  }
  const md5s = parts.map((part) => Buffer.from(part.etag.slice(1, -1), 'hex'))
  const etag = `"${md5Hex(Buffer.concat(md5s))}-${parts.length}"`
  const version = store.commit(
    request.key,
    { ...upload.attributes, body, etag, checksum, lastModifiedMs: nowMs },
    request.headers,
  )
  store.uploads.delete(upload.uploadId)
  const document = xmlDocument('CompleteMultipartUploadResult', [
    ['Location', `http://${request.headers.get('host') ?? ''}${request.path}`],
    ['Bucket', request.bucket],
    ['Key', request.key],
    ['ETag', etag],
    ...checksumElements(checksum),
  ])
  const headers = { ...encryptionHeaders(upload.attributes), ...versionHeaders(store, version) }
  return { status: 200, headers, body: document }
}

/** AbortMultipartUpload. */
export function abortMultipartUpload({ request, store }: S3Call): S3Response {
  store.uploads.delete(namedUpload(store, request).uploadId)
  return { status: 204 }
}

/** The upload that `uploadId` in the query names. */
export function namedUpload(store: S3Call['store'], request: S3Request): MultipartUpload {
  return store.upload(parameter(request, 'uploadId') ?? '', request.key)
}

function requestedChecksum(headers: ReadonlyMap<string, string>): MultipartUpload['checksum'] {
  const name = headers.get('x-amz-checksum-algorithm')
  const type = headers.get('x-amz-checksum-type')
  if (name === undefined) {
    if (type === undefined) return undefined
    throw new S3Error(
      'InvalidRequest',
      'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.',
    )
  }
  const algorithm = parseAlgorithm(name)
  if (type === undefined || type === 'COMPOSITE') return { algorithm, type: 'COMPOSITE' }
  const isCrc = algorithm === 'crc32' || algorithm === 'crc32c'
  if (type === 'FULL_OBJECT' && isCrc) return { algorithm, type }
  throw new S3Error(
    'InvalidRequest',
    `The ${type} checksum type cannot be used with the ${algorithm} checksum algorithm.`,
  )
}

// An upload created without an algorithm takes parts without a checksum only. S3 was seen to answer so; whether it still does
// everywhere is not certain, and a client that names the algorithm when it creates the upload is right either way.
function checkPartChecksum(upload: MultipartUpload, sent: Checksum | undefined): void {
  const expected = upload.checksum
  if (sent?.algorithm === expected?.algorithm) return
  if (sent === undefined && expected?.type === 'FULL_OBJECT') return
  throw new S3Error(
    'InvalidRequest',
    `Checksum Type mismatch occurred, expected checksum Type: ${expected?.algorithm ?? 'null'}, actual checksum Type: ${sent?.algorithm ?? 'null'}`,
  )
}

// The stored parts that the client lists, each checked against what the client says about it.
function listedParts(upload: MultipartUpload, listed: readonly XmlElement[]): UploadedPart[] {
  if (listed.length === 0 || listed.length > MAX_PARTS) throw malformedXml()
  const numbers = listed.map((element) => Number(childText(element, 'PartNumber')))
  if (numbers.some((number) => !Number.isInteger(number))) throw malformedXml()
  if (numbers.some((number, index) => index > 0 && number <= (numbers[index - 1] ?? 0))) {
    throw new S3Error(
      'InvalidPartOrder',
      'The list of parts was not in ascending order. Parts must be ordered by part number.',
      { UploadId: upload.uploadId },
    )
  }
  const parts = listed.map((element, index) => listedPart(upload, element, numbers[index] ?? 0))
  for (const [index, part] of parts.slice(0, -1).entries()) {
    if (part.body.length >= MIN_PART_BYTES) continue
    throw new S3Error(
      'EntityTooSmall',
      'Your proposed upload is smaller than the minimum allowed size',
      {
        ProposedSize: part.body.length,
        MinSizeAllowed: MIN_PART_BYTES,
        PartNumber: numbers[index] ?? 0,
        ETag: part.etag.slice(1, -1),
      },
    )
  }
  return parts
}

function listedPart(
  upload: MultipartUpload,
  element: XmlElement,
  partNumber: number,
): UploadedPart {
  const part = upload.parts.get(partNumber)
  const etag = childText(element, 'ETag')
  if (etag === undefined) throw malformedXml()
  const claimed =
    upload.checksum && childText(element, `Checksum${upload.checksum.algorithm.toUpperCase()}`)
  if (upload.checksum?.type === 'COMPOSITE' && claimed === undefined) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was created using a ${upload.checksum.algorithm} checksum. The complete request must include the checksum for each part. It was missing for part ${partNumber} in the request.`,
    )
  }
  const isSame =
    part !== undefined &&
    isSameEtag(etag, part.etag) &&
    (claimed === undefined || claimed === part.checksum?.value)
  if (!isSame) {
    throw new S3Error(
      'InvalidPart',
      "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
      { UploadId: upload.uploadId, PartNumber: partNumber, ETag: etag },
    )
  }
  return part
}

function objectChecksum(
  upload: MultipartUpload,
  parts: readonly UploadedPart[],
  body: Buffer,
): Checksum | undefined {
  if (upload.checksum === undefined) return undefined
  const { algorithm, type } = upload.checksum
  const value =
    type === 'FULL_OBJECT'
      ? digest(algorithm, body)
      : compositeDigest(
          algorithm,
          parts.map((part) => part.checksum?.value ?? ''),
        )
  return { algorithm, type, value }
}

function checksumElements(checksum: Checksum | undefined): XmlChild[] {
  if (checksum === undefined) return []
  return [
    [`Checksum${checksum.algorithm.toUpperCase()}`, checksum.value],
    ['ChecksumType', checksum.type],
  ]
}
