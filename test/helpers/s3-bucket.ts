/** The in-memory bucket of the S3 server for tests: its objects, and its answers to requests. */

import { createHash } from 'node:crypto'

/** An operation of the S3 API that the server carries out. */
export type S3Operation =
  | 'ListObjectsV2'
  | 'ListObjectVersions'
  | 'ListMultipartUploads'
  | 'PutBucketVersioning'
  | 'DeleteObjects'
  | 'GetObject'
  | 'HeadObject'
  | 'PutObject'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'

/** How a bucket differs from an AWS bucket. */
export interface BucketQuirks {
  /** If-Match and If-None-Match on writes do nothing. */
  readonly ignoreConditions?: boolean
  /** Only an If-Match without quotes can match, as in radosgw up to release 18. */
  readonly bareEtagOnly?: boolean
  /** Object lock: keeps versions, and refuses to delete one by its id. */
  readonly isLocked?: boolean
  /** How far the server's clock is ahead of this machine's; a request signed 15 minutes off is refused. */
  readonly aheadMs?: number
  /** Objects or versions in a page of a listing; default 1,000. */
  readonly pageSize?: number
}

/** A request, decoded. */
export interface S3Request {
  readonly operation: S3Operation
  /** Empty for operations on the bucket. */
  readonly key: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The response. */
export interface S3Response {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: string | Buffer
}

/** An error document. */
export class S3Error extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(`${status} ${code}`)
    this.status = status
    this.code = code
  }
}

/** As requested for an object; nothing is encrypted. */
interface Attributes {
  /** Such as `aws:kms test-key`; empty for none. */
  readonly encryption: string
  readonly storageClass: string
}

/** One object as it was written. */
export interface StoredObject extends Attributes {
  readonly body: Buffer
  /** With its quotes, as S3 sends it. */
  readonly etag: string
  /**
   * The SHA-256 that the client sent, in base64; for an upload in parts, the hash of the hashes of its parts, and their
   * number.
   */
  readonly sha256: string | undefined
  readonly lastModified: Date
}

/** One version of an object: its content or a delete marker. */
export interface ObjectVersion {
  readonly versionId: string
  /** Undefined for a delete marker. */
  readonly object: StoredObject | undefined
}

/** An upload in parts that was neither completed nor aborted. */
export interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  readonly begun: Date
  readonly attributes: Attributes
  readonly parts: Map<number, { readonly body: Buffer; readonly sha256: string | undefined }>
}

const MOST_REMOVED = 1_000

// Keys of tests are plain and need no escapes.
const xml = (name: string, ...content: readonly unknown[]) =>
  `<${name}>${content.join('')}</${name}>`
const document = (name: string, ...content: readonly unknown[]) => ({
  status: 200,
  body: xml(name, ...content),
})
const texts = (body: Buffer | string, name: string) =>
  [...String(body).matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(
    ([, text = '']) => text,
  )
const digest = (algorithm: string, bytes: Buffer) => createHash(algorithm).update(bytes)
const etagOf = (body: Buffer) => `"${digest('md5', body).digest('hex')}"`

/** The response with an error document. */
export function refusal(status: number, code: string): S3Response {
  return { status, body: xml('Error', xml('Code', code)) }
}

/** One bucket, at first without versions. */
export class Bucket {
  readonly uploads = new Map<string, OpenUpload>()
  keepsVersions = false
  readonly #quirks: BucketQuirks
  // The kept versions of each key, oldest first. The last one is current.
  readonly #history = new Map<string, ObjectVersion[]>()
  #count = 0

  constructor(quirks: BucketQuirks) {
    this.#quirks = quirks
  }

  /** All current objects, by key. */
  objects(): Map<string, StoredObject> {
    return new Map(
      [...this.#history].flatMap(([key, versions]) => {
        const object = versions.at(-1)?.object
        return object === undefined ? [] : [[key, object] as const]
      }),
    )
  }

  /** The kept versions of a key, newest first. */
  versionsOf(key: string): ObjectVersion[] {
    return (this.#history.get(key) ?? []).toReversed()
  }

  clear(): void {
    this.#history.clear()
    this.uploads.clear()
    this.keepsVersions = false
  }

  /** Carries out a request. @param refusalOf the code with which DeleteObjects leaves a key. @throws S3Error */
  answer(request: S3Request, refusalOf: (key: string) => string | undefined): S3Response {
    const { operation, key, query, body } = request
    const prefix = query.get('prefix') ?? ''
    switch (operation) {
      case 'PutObject':
        return request.headers['x-amz-copy-source'] === undefined
          ? this.#put(request)
          : this.#copy(request)
      case 'GetObject':
      case 'HeadObject':
        return this.#get(request)
      case 'ListObjectsV2':
        return this.#listObjects(prefix, query.get('continuation-token') ?? '')
      case 'ListObjectVersions':
        return this.#listVersions(prefix, query)
      case 'ListMultipartUploads':
        return document('ListMultipartUploadsResult', ...this.#uploadsUnder(prefix))
      case 'PutBucketVersioning':
        this.keepsVersions = texts(body, 'Status')[0] === 'Enabled'
        return { status: 200 }
      case 'DeleteObjects':
        return this.#removeAll(texts(body, 'Object'), refusalOf)
      case 'CreateMultipartUpload': {
        const uploadId = this.#nextId('upload')
        const attributes = attributesOf(request)
        const begun = new Date()
        this.uploads.set(uploadId, { key, uploadId, begun, attributes, parts: new Map() })
        return document('InitiateMultipartUploadResult', xml('UploadId', uploadId))
      }
      case 'UploadPart': {
        if (request.headers['x-amz-copy-source'] !== undefined) return this.#copyPart(request)
        const sha256 = checkedSha256(request)
        this.#upload(request).parts.set(Number(query.get('partNumber')), { body, sha256 })
        return { status: 200, headers: { etag: etagOf(body), 'x-amz-checksum-sha256': sha256 } }
      }
      case 'CompleteMultipartUpload':
        return this.#complete(request)
      case 'AbortMultipartUpload':
        this.uploads.delete(this.#upload(request).uploadId)
        return { status: 204 }
    }
  }

  #put(request: S3Request): S3Response {
    const { key, body, headers } = request
    const current = this.#history.get(key)?.at(-1)?.object
    const ifMatch = headers['if-match']
    if (this.#quirks.ignoreConditions !== true) {
      const bare = (etag: string) => etag.replaceAll('"', '')
      const isUnreadable = this.#quirks.bareEtagOnly === true && ifMatch?.startsWith('"') === true
      if (ifMatch !== undefined && current === undefined) throw new S3Error(404, 'NoSuchKey')
      const isOther = ifMatch !== undefined && bare(ifMatch) !== bare(current?.etag ?? '')
      const isThere = headers['if-none-match'] !== undefined && current !== undefined
      if (isThere || isOther || isUnreadable) throw new S3Error(412, 'PreconditionFailed')
    }
    const etag = etagOf(body)
    const sha256 = checkedSha256(request)
    const attributes = attributesOf(request)
    this.#write(key, { body, etag, sha256, ...attributes, lastModified: new Date() })
    const sse = headers['x-amz-server-side-encryption']
    const done = sse === undefined ? {} : { 'x-amz-server-side-encryption': sse }
    return { status: 200, headers: { etag, ...done } }
  }

  #copyPart(request: S3Request): S3Response {
    const [, ...source] = decodeURIComponent(request.headers['x-amz-copy-source'] ?? '').split('/')
    const object = this.#history.get(source.join('/'))?.at(-1)?.object
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers['x-amz-copy-source-range'] ?? '')
    if (object === undefined || range === null) throw new S3Error(404, 'NoSuchKey')
    const body = object.body.subarray(Number(range[1]), Number(range[2]) + 1)
    const sha256 = digest('sha256', body).digest('base64')
    this.#upload(request).parts.set(Number(request.query.get('partNumber')), { body, sha256 })
    return document('CopyPartResult', xml('ETag', etagOf(body)))
  }

  #copy({ key, headers, ...request }: S3Request): S3Response {
    const [, ...source] = decodeURIComponent(headers['x-amz-copy-source'] ?? '').split('/')
    const object = this.#history.get(source.join('/'))?.at(-1)?.object
    if (object === undefined) throw new S3Error(404, 'NoSuchKey')
    const { body, etag, sha256 } = object
    const attributes = attributesOf({ ...request, key, headers })
    this.#write(key, { body, etag, sha256, ...attributes, lastModified: new Date() })
    return document('CopyObjectResult', xml('ETag', etag))
  }

  #get({ key, operation }: S3Request): S3Response {
    const object = this.#history.get(key)?.at(-1)?.object
    if (object === undefined) throw new S3Error(404, 'NoSuchKey')
    const { body, etag, sha256, lastModified } = object
    const checksum = sha256 === undefined ? {} : { 'x-amz-checksum-sha256': sha256 }
    const times = { etag, 'last-modified': lastModified.toUTCString() }
    const headers = { ...times, ...checksum, 'content-length': body.length }
    return { status: 200, headers, ...(operation === 'HeadObject' ? {} : { body }) }
  }

  #listObjects(prefix: string, after: string): S3Response {
    const found = [...this.objects()]
      .filter(([key]) => key.startsWith(prefix) && key > after)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
    const page = found.slice(0, this.#quirks.pageSize ?? 1_000)
    return document(
      'ListBucketResult',
      xml('IsTruncated', page.length < found.length),
      xml('NextContinuationToken', page.at(-1)?.[0]),
      ...page.map(([key, { body, etag, lastModified }]) => {
        const fields = [xml('Key', key), xml('ETag', etag), xml('Size', body.length)]
        return xml('Contents', ...fields, xml('LastModified', lastModified.toISOString()))
      }),
    )
  }

  #listVersions(prefix: string, query: URLSearchParams): S3Response {
    const all = [...this.#history.keys()]
      .toSorted()
      .filter((key) => key.startsWith(prefix))
      .flatMap((key) => this.versionsOf(key).map((version, at) => ({ key, ...version, at })))
    const marker = query.get('version-id-marker')
    const from = all.findIndex(({ versionId }) => versionId === marker) + 1
    const page = all.slice(from, from + (this.#quirks.pageSize ?? 1_000))
    return document(
      'ListVersionsResult',
      xml('IsTruncated', from + page.length < all.length),
      xml('NextKeyMarker', page.at(-1)?.key),
      xml('NextVersionIdMarker', page.at(-1)?.versionId),
      ...page.map(({ key, versionId, object, at }) => {
        const fields = [xml('Key', key), xml('VersionId', versionId), xml('IsLatest', at === 0)]
        return xml(object === undefined ? 'DeleteMarker' : 'Version', ...fields)
      }),
    )
  }

  #uploadsUnder(prefix: string): string[] {
    return [...this.uploads.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ key, uploadId, begun }) => {
        const fields = [xml('Key', key), xml('UploadId', uploadId)]
        return xml('Upload', ...fields, xml('Initiated', begun.toISOString()))
      })
  }

  #removeAll(objects: readonly string[], refusalOf: (key: string) => string | undefined) {
    if (objects.length > MOST_REMOVED) throw new S3Error(400, 'MalformedXML')
    const refused = objects.flatMap((object) => {
      const [key = ''] = texts(object, 'Key')
      const [versionId] = texts(object, 'VersionId')
      const isKept = this.#quirks.isLocked === true && versionId !== undefined
      const code = refusalOf(key) ?? (isKept ? 'AccessDenied' : undefined)
      if (code !== undefined) return xml('Error', xml('Key', key), xml('Code', code))
      if (versionId === undefined) this.#write(key, undefined)
      else this.#removeVersion(key, versionId)
      return []
    })
    return document('DeleteResult', ...refused)
  }

  #upload({ query, key }: S3Request): OpenUpload {
    const upload = this.uploads.get(query.get('uploadId') ?? '')
    if (upload?.key !== key) throw new S3Error(404, 'NoSuchUpload')
    return upload
  }

  #complete(request: S3Request): S3Response {
    const { key, uploadId, parts, attributes } = this.#upload(request)
    const used = texts(request.body, 'PartNumber').map((number) => parts.get(Number(number)))
    const body = Buffer.concat(used.map((part) => part?.body ?? Buffer.alloc(0)))
    const hashes = used.map((part) => Buffer.from(part?.sha256 ?? '', 'base64'))
    const sha256 = `${digest('sha256', Buffer.concat(hashes)).digest('base64')}-${used.length}`
    const etag = `${etagOf(body).slice(0, -1)}-${used.length}"`
    this.uploads.delete(uploadId)
    this.#write(key, { body, etag, sha256, ...attributes, lastModified: new Date() })
    return document('CompleteMultipartUploadResult', xml('Key', key), xml('ETag', etag))
  }

  /** Writes an object, or removes it if none is given. */
  #write(key: string, object: StoredObject | undefined): void {
    if (!this.keepsVersions && object === undefined) {
      this.#history.delete(key)
      return
    }
    const older = this.keepsVersions ? (this.#history.get(key) ?? []) : []
    const versionId = this.keepsVersions ? this.#nextId('version') : 'null'
    this.#history.set(key, [...older, { versionId, object }])
  }

  #removeVersion(key: string, versionId: string): void {
    const left = (this.#history.get(key) ?? []).filter((one) => one.versionId !== versionId)
    if (left.length === 0) this.#history.delete(key)
    else this.#history.set(key, left)
  }

  #nextId(kind: string): string {
    this.#count += 1
    return `${kind}-${this.#count}`
  }
}

function checkedSha256({ headers, body }: S3Request): string {
  const actual = digest('sha256', body).digest('base64')
  if (headers['x-amz-checksum-sha256'] !== actual) throw new S3Error(400, 'BadDigest')
  return actual
}

function attributesOf({ headers }: S3Request): Attributes {
  const sse = headers['x-amz-server-side-encryption'] ?? ''
  const key = headers['x-amz-server-side-encryption-aws-kms-key-id'] ?? ''
  return {
    encryption: `${sse} ${key}`.trim(),
    storageClass: headers['x-amz-storage-class'] ?? 'STANDARD',
  }
}
