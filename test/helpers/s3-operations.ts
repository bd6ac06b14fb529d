/** What the S3 server for tests answers to a request whose signature was checked. */

import { createHash } from 'node:crypto'
import { etagOf, type Bucket, type OpenUpload, type StoredObject } from './s3-bucket.ts'
import type { S3Operation } from './s3-faults.ts'

/** Ways in which S3-compatible servers treat conditional writes differently from S3. */
export interface ConditionQuirks {
  /** If-Match and If-None-Match on writes do nothing. */
  readonly ignoreConditions?: boolean
  /** Only an If-Match without quotes can match, as in radosgw up to release 18. */
  readonly bareEtagOnly?: boolean
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

/** What is sent back. */
export interface S3Response {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: string | Buffer
}

/** What the server works on. */
export interface S3World {
  readonly bucket: Bucket
  readonly quirks: ConditionQuirks
  readonly now: () => number
  /** The code with which DeleteObjects leaves a key; undefined where it removes it. */
  readonly refusalOf: (key: string) => string | undefined
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

type Xml = readonly [name: string, content: string | number | boolean | readonly Xml[]]

const PAGE = 1_000
const KMS_KEY = 'test-key'

/** An XML document. */
export function xmlOf(root: string, children: readonly Xml[]): string {
  const write = ([name, content]: Xml): string =>
    `<${name}>${typeof content === 'object' ? content.map(write).join('') : escaped(String(content))}</${name}>`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write([root, children])}`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}

function texts(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))
  return [...found].map(([, text = '']) =>
    text.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&'),
  )
}

const OPERATIONS: Readonly<
  Record<S3Operation, (request: S3Request, world: S3World) => S3Response>
> = {
  ListObjectsV2: listObjects,
  ListObjectVersions: listVersions,
  ListMultipartUploads: listUploads,
  PutBucketVersioning({ body }, { bucket }) {
    bucket.keepsVersions = texts(body.toString(), 'Status')[0] === 'Enabled'
    return { status: 200 }
  },
  DeleteObjects: deleteObjects,
  GetObject: getObject,
  HeadObject: getObject,
  PutObject: putObject,
  CreateMultipartUpload(request, { bucket, now }) {
    const uploadId = bucket.nextId('upload')
    const attributes = attributesOf(request)
    const upload = { key: request.key, uploadId, begunMs: now(), attributes, parts: new Map() }
    bucket.uploads.set(uploadId, upload)
    const body = xmlOf('InitiateMultipartUploadResult', [['UploadId', uploadId]])
    return { status: 200, body }
  },
  UploadPart(request, world) {
    const { body, query } = request
    const sha256 = checkedSha256(request)
    uploadOf(request, world).parts.set(Number(query.get('partNumber')), { body, sha256 })
    return { status: 200, headers: { etag: etagOf(body), ...checksumHeader(sha256) } }
  },
  CompleteMultipartUpload: completeUpload,
  AbortMultipartUpload(request, world) {
    world.bucket.uploads.delete(uploadOf(request, world).uploadId)
    return { status: 204 }
  },
}

/** Carries out a request. @throws S3Error */
export function execute(request: S3Request, world: S3World): S3Response {
  return OPERATIONS[request.operation](request, world)
}

/** The operation of a request. @throws S3Error for one that this server does not know */
export function operationOf(method: string, key: string, query: URLSearchParams): S3Operation {
  const has = (name: string) => query.has(name)
  if (key === '') {
    if (method === 'GET' && has('list-type')) return 'ListObjectsV2'
    if (method === 'GET' && has('versions')) return 'ListObjectVersions'
    if (method === 'GET' && has('uploads')) return 'ListMultipartUploads'
    if (method === 'PUT' && has('versioning')) return 'PutBucketVersioning'
    if (method === 'POST' && has('delete')) return 'DeleteObjects'
  } else {
    if (method === 'POST' && has('uploads')) return 'CreateMultipartUpload'
    if (method === 'POST' && has('uploadId')) return 'CompleteMultipartUpload'
    if (method === 'PUT') return has('uploadId') ? 'UploadPart' : 'PutObject'
    if (method === 'GET') return 'GetObject'
    if (method === 'HEAD') return 'HeadObject'
    if (method === 'DELETE' && has('uploadId')) return 'AbortMultipartUpload'
  }
  throw new S3Error(501, 'NotImplemented')
}

function putObject(request: S3Request, { bucket, quirks, now }: S3World): S3Response {
  const { key, body, headers } = request
  const current = bucket.get(key)
  const ifMatch = headers['if-match']
  if (quirks.ignoreConditions !== true) {
    if (headers['if-none-match'] !== undefined && current !== undefined) throw lost()
    if (ifMatch !== undefined && current === undefined) throw new S3Error(404, 'NoSuchKey')
    if (ifMatch !== undefined) {
      const isUnreadable = quirks.bareEtagOnly === true && ifMatch.startsWith('"')
      if (isUnreadable || bare(ifMatch) !== bare(current?.etag ?? '')) throw lost()
    }
  }
  const sha256 = checkedSha256(request)
  const attributes = attributesOf(request)
  const etag = etagOf(body)
  bucket.write(key, { body, etag, sha256, ...attributes, lastModifiedMs: now() }, now())
  return { status: 200, headers: { etag, ...encryptionHeaders(attributes) } }
}

const lost = () => new S3Error(412, 'PreconditionFailed')
const bare = (etag: string) => etag.replaceAll('"', '')

function checkedSha256({ headers, body }: S3Request): string | undefined {
  const claimed = headers['x-amz-checksum-sha256']
  const actual = createHash('sha256').update(body).digest('base64')
  if (claimed !== undefined && claimed !== actual) throw new S3Error(400, 'BadDigest')
  return claimed
}

function attributesOf({ headers }: S3Request): OpenUpload['attributes'] {
  const algorithm = headers['x-amz-server-side-encryption']
  const kmsKeyId = headers['x-amz-server-side-encryption-aws-kms-key-id']
  if (kmsKeyId !== undefined && kmsKeyId !== KMS_KEY) {
    throw new S3Error(400, 'KMS.NotFoundException')
  }
  return {
    encryption: algorithm === undefined ? undefined : { algorithm, kmsKeyId },
    storageClass: headers['x-amz-storage-class'] ?? 'STANDARD',
  }
}

function encryptionHeaders({ encryption }: OpenUpload['attributes']): Record<string, string> {
  return encryption === undefined ? {} : { 'x-amz-server-side-encryption': encryption.algorithm }
}

function checksumHeader(sha256: string | undefined): Record<string, string> {
  return sha256 === undefined ? {} : { 'x-amz-checksum-sha256': sha256 }
}

function getObject({ key, headers, operation }: S3Request, { bucket }: S3World): S3Response {
  const object = bucket.get(key)
  if (object === undefined) throw new S3Error(404, 'NoSuchKey')
  const { body, etag, sha256, lastModifiedMs } = object
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(headers['range'] ?? '') ?? []
  const start = from === '' ? (to === '' ? 0 : Math.max(0, body.length - Number(to))) : Number(from)
  const end = from === '' || to === '' ? body.length : Math.min(body.length, Number(to) + 1)
  const isPart = `${from}${to}` !== ''
  return {
    status: isPart ? 206 : 200,
    headers: {
      etag,
      'last-modified': new Date(lastModifiedMs).toUTCString(),
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      ...(isPart ? { 'content-range': `bytes ${start}-${end - 1}/${body.length}` } : {}),
      ...(headers['x-amz-checksum-mode'] === 'ENABLED' && !isPart ? checksumHeader(sha256) : {}),
      ...(operation === 'HeadObject' ? { 'content-length': body.length } : {}),
    },
    ...(operation === 'HeadObject' ? {} : { body: body.subarray(start, end) }),
  }
}

function listObjects({ query }: S3Request, { bucket }: S3World): S3Response {
  const prefix = query.get('prefix') ?? ''
  const delimiter = query.get('delimiter') ?? ''
  const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
  const found = [...bucket.objects()]
    .filter(([key]) => key.startsWith(prefix) && key > after)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const page = found.slice(0, Number(query.get('max-keys') ?? PAGE))
  const folderOf = (key: string) => {
    const at = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
    return at === -1 ? null : key.slice(0, at + 1)
  }
  const folders = new Set(page.flatMap(([key]) => folderOf(key) ?? []))
  const isTruncated = page.length < found.length
  return list('ListBucketResult', [
    ['Prefix', prefix],
    ['KeyCount', page.length],
    ['IsTruncated', isTruncated],
    ...(isTruncated ? [['NextContinuationToken', page.at(-1)?.[0] ?? ''] as const] : []),
    ...page
      .filter(([key]) => folderOf(key) === null)
      .map(([key, object]) => ['Contents', [['Key', key] as const, ...fieldsOf(object)]] as const),
    ...[...folders].map((folder) => ['CommonPrefixes', [['Prefix', folder]]] as const),
  ])
}

const timeXml = (name: string, ms: number): Xml => [name, new Date(ms).toISOString()]

function fieldsOf({ lastModifiedMs, etag, body }: StoredObject): Xml[] {
  return [timeXml('LastModified', lastModifiedMs), ['ETag', etag], ['Size', body.length]]
}

function listVersions({ query }: S3Request, { bucket }: S3World): S3Response {
  const prefix = query.get('prefix') ?? ''
  const marker = { key: query.get('key-marker') ?? '', id: query.get('version-id-marker') ?? '' }
  const all = bucket
    .keys()
    .filter((key) => key.startsWith(prefix))
    .flatMap((key) => bucket.versionsOf(key).map((version, at) => ({ key, version, at })))
  const start = all.findIndex(
    ({ key, version }) => key === marker.key && version.versionId === marker.id,
  )
  const page = all.slice(start + 1, start + 1 + PAGE)
  const last = page.at(-1)
  const isTruncated = start + 1 + page.length < all.length
  return list('ListVersionsResult', [
    ['IsTruncated', isTruncated],
    ...(isTruncated && last !== undefined
      ? ([
          ['NextKeyMarker', last.key],
          ['NextVersionIdMarker', last.version.versionId],
        ] as const)
      : []),
    ...page.map(({ key, version: { versionId, object, lastModifiedMs }, at }): Xml => {
      const fields: Xml[] = [
        ['Key', key],
        ['VersionId', versionId],
        ['IsLatest', at === 0],
      ]
      return object === undefined
        ? ['DeleteMarker', [...fields, timeXml('LastModified', lastModifiedMs)]]
        : ['Version', [...fields, ...fieldsOf(object)]]
    }),
  ])
}

function listUploads({ query }: S3Request, { bucket }: S3World): S3Response {
  const prefix = query.get('prefix') ?? ''
  const uploads = [...bucket.uploads.values()].filter(({ key }) => key.startsWith(prefix))
  return list('ListMultipartUploadsResult', [
    ['IsTruncated', false],
    ...uploads.map(({ key, uploadId, begunMs }): Xml => [
      'Upload',
      [['Key', key], ['UploadId', uploadId], timeXml('Initiated', begunMs)],
    ]),
  ])
}

const list = (root: string, children: readonly Xml[]): S3Response => ({
  status: 200,
  body: xmlOf(root, children),
})

function deleteObjects({ body }: S3Request, { bucket, now, refusalOf }: S3World): S3Response {
  const objects = texts(body.toString().replace(/<Object>(.*?)<\/Object>/gs, inOneText), 'Object')
  if (objects.length > PAGE) throw new S3Error(400, 'MalformedXML')
  const refused: Xml[] = []
  for (const named of objects) {
    const [key = '', versionId = ''] = named.split('\n')
    const code = refusalOf(key)
    if (code !== undefined) {
      refused.push([
        'Error',
        [
          ['Key', key],
          ['VersionId', versionId],
          ['Code', code],
        ],
      ])
    } else if (versionId === '') bucket.write(key, undefined, now())
    else bucket.removeVersion(key, versionId)
  }
  return list('DeleteResult', refused)
}

function inOneText(_all: string, inner: string): string {
  return `<Object>${texts(inner, 'Key')[0]}\n${texts(inner, 'VersionId')[0] ?? ''}</Object>`
}

function uploadOf({ query, key }: S3Request, { bucket }: S3World): OpenUpload {
  const upload = bucket.uploads.get(query.get('uploadId') ?? '')
  if (upload?.key !== key) throw new S3Error(404, 'NoSuchUpload')
  return upload
}

function completeUpload(request: S3Request, world: S3World): S3Response {
  const { bucket, now } = world
  const { key, uploadId, parts, attributes } = uploadOf(request, world)
  const numbers = texts(request.body.toString(), 'PartNumber').map(Number)
  const etags = texts(request.body.toString(), 'ETag')
  const used = numbers.map((number) => parts.get(number))
  const hashes = used.map((part, index) => {
    if (part === undefined || etagOf(part.body) !== etags[index]) {
      throw new S3Error(400, 'InvalidPart')
    }
    return Buffer.from(part.sha256 ?? '', 'base64')
  })
  const body = Buffer.concat(used.map((part) => part?.body ?? Buffer.alloc(0)))
  const whole = createHash('sha256').update(Buffer.concat(hashes)).digest('base64')
  const sha256 = hashes.every((hash) => hash.length > 0) ? `${whole}-${used.length}` : undefined
  const etag = `${etagOf(body).slice(0, -1)}-${used.length}"`
  bucket.uploads.delete(uploadId)
  bucket.write(key, { body, etag, sha256, ...attributes, lastModifiedMs: now() }, now())
  return list('CompleteMultipartUploadResult', [
    ['Key', key],
    ['ETag', etag],
  ])
}
