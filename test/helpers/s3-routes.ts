/**
 * Which operation a request asks for: method, bucket or object, and the query parameter that names a sub-resource.
 * A parameter or header that would change what is done and is not known here is refused with 501, never ignored.
 */
import { S3Error, notImplemented } from './s3-errors.ts'
import type { SignedRequest } from './s3-signature.ts'

interface Route {
  readonly method: string
  readonly level: 'bucket' | 'object'
  /** Query parameters that must be there; they tell operations of one method apart. */
  readonly requires: readonly string[]
  /** Query parameters that may be there. */
  readonly allows: readonly string[]
}

const ROUTES = {
  HeadBucket: { method: 'HEAD', level: 'bucket', requires: [], allows: [] },
  ListObjectsV2: {
    method: 'GET',
    level: 'bucket',
    requires: ['list-type'],
    allows: [
      'prefix',
      'delimiter',
      'max-keys',
      'continuation-token',
      'start-after',
      'encoding-type',
    ],
  },
  ListMultipartUploads: {
    method: 'GET',
    level: 'bucket',
    requires: ['uploads'],
    allows: ['prefix', 'max-uploads', 'key-marker', 'upload-id-marker', 'encoding-type'],
  },
  ListObjectVersions: {
    method: 'GET',
    level: 'bucket',
    requires: ['versions'],
    allows: ['prefix', 'max-keys', 'key-marker', 'version-id-marker', 'encoding-type'],
  },
  GetBucketVersioning: { method: 'GET', level: 'bucket', requires: ['versioning'], allows: [] },
  PutBucketVersioning: { method: 'PUT', level: 'bucket', requires: ['versioning'], allows: [] },
  DeleteObjects: { method: 'POST', level: 'bucket', requires: ['delete'], allows: [] },
  GetObject: { method: 'GET', level: 'object', requires: [], allows: ['versionId'] },
  HeadObject: { method: 'HEAD', level: 'object', requires: [], allows: ['versionId'] },
  PutObject: { method: 'PUT', level: 'object', requires: [], allows: [] },
  DeleteObject: { method: 'DELETE', level: 'object', requires: [], allows: ['versionId'] },
  CreateMultipartUpload: { method: 'POST', level: 'object', requires: ['uploads'], allows: [] },
  UploadPart: {
    method: 'PUT',
    level: 'object',
    requires: ['partNumber', 'uploadId'],
    allows: [],
  },
  CompleteMultipartUpload: { method: 'POST', level: 'object', requires: ['uploadId'], allows: [] },
  AbortMultipartUpload: { method: 'DELETE', level: 'object', requires: ['uploadId'], allows: [] },
  ListParts: {
    method: 'GET',
    level: 'object',
    requires: ['uploadId'],
    allows: ['max-parts', 'part-number-marker'],
  },
} as const satisfies Record<string, Route>

/** An operation of the S3 API that this server carries out. */
export type S3Operation = keyof typeof ROUTES

const OPERATIONS: ReadonlyMap<S3Operation, Route> = new Map(
  Object.entries(ROUTES) as [S3Operation, Route][],
)

// Headers that ask for a feature this server has not. A client that sends one must not believe it got it.
const UNSUPPORTED_HEADERS =
  /^x-amz-(?:copy-source|tagging|object-lock|server-side-encryption-(?:context|customer|bucket)|website-redirect|write-offset|bypass-governance|mfa|if-match-|expected-bucket-owner)|^if-(?:un)?modified-since$|^if-range$/

const ACL_HEADERS = /^x-amz-(?:acl$|grant-)/
const HEADERS_OF_NEW_OBJECTS = /^x-amz-(?:server-side-encryption|storage-class)/
const MAKES_OBJECTS = new Set(['PutObject', 'CreateMultipartUpload'])

/** A request whose meaning is known; nothing about it is verified yet. */
export interface S3Request extends SignedRequest {
  readonly operation: S3Operation
  readonly bucket: string
  /** Empty for operations on the bucket. */
  readonly key: string
}

/**
 * Reads the request line and headers (`rawHeaders` as node:http gives them).
 * @throws S3Error when no operation of this server is meant
 */
export function parseRequest(
  method: string,
  url: string,
  rawHeaders: readonly string[],
): S3Request {
  const [rawPath, rawQuery] = splitOnce(url, '?')
  const path = decode(rawPath)
  const [bucket, key] = splitOnce(path.slice(1), '/')
  const query = rawQuery
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name, value] = splitOnce(pair, '=')
      return [decode(name), decode(value)] as const
    })
  const headers = joinHeaders(rawHeaders)
  const operation = findOperation(method, key, new Set(query.map(([name]) => name)))
  checkHeaders(operation, [...headers.keys()])
  if (Buffer.byteLength(key) > 1024) {
    throw new S3Error('KeyTooLongError', 'Your key is too long', {
      Size: Buffer.byteLength(key),
      MaxSizeAllowed: 1024,
    })
  }
  return { operation, bucket, key, method, path, query, headers }
}

// As S3 does for a bucket whose objects all belong to its owner, which is what new buckets are.
function checkHeaders(operation: S3Operation, names: readonly string[]): void {
  const unsupported = names.find((name) => UNSUPPORTED_HEADERS.test(name))
  if (unsupported !== undefined) throw notImplemented(unsupported)
  if (names.some((name) => ACL_HEADERS.test(name))) {
    throw new S3Error('AccessControlListNotSupported', 'The bucket does not allow ACLs')
  }
  const misplaced = names.find((name) => HEADERS_OF_NEW_OBJECTS.test(name))
  if (misplaced !== undefined && !MAKES_OBJECTS.has(operation)) {
    throw new S3Error(
      'InvalidArgument',
      `${misplaced} header is not supported for this operation.`,
      {
        ArgumentName: misplaced,
      },
    )
  }
}

/** The value of a query parameter, or undefined when it is absent. */
export function parameter(request: S3Request, name: string): string | undefined {
  return request.query.find(([candidate]) => candidate === name)?.[1]
}

function findOperation(method: string, key: string, names: ReadonlySet<string>): S3Operation {
  const level = key === '' ? 'bucket' : 'object'
  const ofMethod = [...OPERATIONS].filter(
    ([, route]) => route.method === method && route.level === level,
  )
  if (ofMethod.length === 0) {
    throw new S3Error(
      'MethodNotAllowed',
      'The specified method is not allowed against this resource.',
    )
  }
  for (const [operation, route] of ofMethod) {
    const known = new Set([...route.requires, ...route.allows, 'x-id'])
    const isComplete = route.requires.every((name) => names.has(name))
    if (isComplete && [...names].every((name) => known.has(name))) return operation
  }
  throw notImplemented(
    `${method} on the ${level} with the query ${[...names].join('&') || '(none)'}`,
  )
}

function joinHeaders(rawHeaders: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    const value = rawHeaders[index + 1] ?? ''
    const earlier = headers.get(name)
    headers.set(name, earlier === undefined ? value : `${earlier},${value}`)
  }
  return headers
}

// The text before and after the first separator; all of it and nothing when there is none.
function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new S3Error('InvalidURI', "Couldn't parse the specified URI.", { URI: text })
  }
}
