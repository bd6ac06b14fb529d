/** The listings: objects, open uploads, and the parts of one upload. Names sort by their UTF-8 bytes, pages are cut at a limit. */
import { S3Error } from './s3-errors.ts'
import { namedUpload } from './s3-multipart.ts'
import type { S3Call, S3Response } from './s3-objects.ts'
import type { S3Request } from './s3-routes.ts'
import { parameter } from './s3-routes.ts'
import { awsUriEncode } from './s3-signature.ts'
import type { BucketStore } from './s3-store.ts'
import type { XmlChild } from './s3-xml.ts'
import { xmlDocument } from './s3-xml.ts'

const MAX_PAGE = 1000

interface Page {
  readonly keys: readonly string[]
  readonly commonPrefixes: readonly string[]
  /** The last key that this page covers, when there are more; the next page starts after it. */
  readonly resumeAfter: string | undefined
}

/** ListObjectsV2. */
export function listObjectsV2({ request, store }: S3Call): S3Response {
  if (parameter(request, 'list-type') !== '2') {
    throw new S3Error('InvalidArgument', 'Invalid List Type', { ArgumentName: 'list-type' })
  }
  const prefix = parameter(request, 'prefix') ?? ''
  const delimiter = parameter(request, 'delimiter') ?? ''
  const maxKeys = limitParameter(request, 'max-keys')
  const token = parameter(request, 'continuation-token')
  const startAfter = parameter(request, 'start-after')
  const after = token === undefined ? (startAfter ?? '') : decodeToken(token)
  const page = cutPage(store, { prefix, delimiter, maxKeys, after })
  const encode = nameEncoder(request)

  const head: XmlChild[] = [
    ['Name', request.bucket],
    ['Prefix', encode(prefix)],
    ['KeyCount', page.keys.length + page.commonPrefixes.length],
    ['MaxKeys', maxKeys],
    ['IsTruncated', page.resumeAfter !== undefined],
  ]
  if (delimiter !== '') head.push(['Delimiter', encode(delimiter)])
  if (startAfter !== undefined) head.push(['StartAfter', encode(startAfter)])
  if (token !== undefined) head.push(['ContinuationToken', token])
  if (page.resumeAfter !== undefined) {
    head.push(['NextContinuationToken', encodeToken(page.resumeAfter)])
  }
  const contents = page.keys.map((key): XmlChild => {
    const object = store.get(key)
    return [
      'Contents',
      [
        ['Key', encode(key)],
        ['LastModified', new Date(object.lastModifiedMs).toISOString()],
        ['ETag', object.etag],
        ['Size', object.body.length],
        ['StorageClass', object.storageClass],
      ],
    ]
  })
  const prefixes = page.commonPrefixes.map((name): XmlChild => [
    'CommonPrefixes',
    [['Prefix', encode(name)]],
  ])
  return { status: 200, body: xmlDocument('ListBucketResult', [...head, ...contents, ...prefixes]) }
}

/** ListMultipartUploads. */
export function listMultipartUploads({ request, store }: S3Call): S3Response {
  const prefix = parameter(request, 'prefix') ?? ''
  const keyMarker = parameter(request, 'key-marker') ?? ''
  const idMarker = parameter(request, 'upload-id-marker') ?? ''
  const maxUploads = limitParameter(request, 'max-uploads')
  const encode = nameEncoder(request)
  const rest = [...store.uploads.values()]
    .filter((upload) => upload.key.startsWith(prefix))
    .toSorted((a, b) => compareUtf8(a.key, b.key) || compareUtf8(a.uploadId, b.uploadId))
    .filter(
      (upload) =>
        compareUtf8(upload.key, keyMarker) > 0 ||
        (upload.key === keyMarker && idMarker !== '' && compareUtf8(upload.uploadId, idMarker) > 0),
    )
  const uploads = rest.slice(0, maxUploads)
  const last = uploads.at(-1)
  const isTruncated = last !== undefined && rest.length > uploads.length
  const head: XmlChild[] = [
    ['Bucket', request.bucket],
    ['KeyMarker', encode(keyMarker)],
    ['UploadIdMarker', idMarker],
    ['Prefix', encode(prefix)],
    ['MaxUploads', maxUploads],
    ['IsTruncated', isTruncated],
  ]
  if (isTruncated) {
    head.push(['NextKeyMarker', encode(last.key)], ['NextUploadIdMarker', last.uploadId])
  }
  const entries = uploads.map((upload): XmlChild => [
    'Upload',
    [
      ['Key', encode(upload.key)],
      ['UploadId', upload.uploadId],
      ['StorageClass', upload.attributes.storageClass],
      ['Initiated', new Date(upload.initiatedMs).toISOString()],
    ],
  ])
  return { status: 200, body: xmlDocument('ListMultipartUploadsResult', [...head, ...entries]) }
}

/** ListParts. */
export function listParts({ request, store }: S3Call): S3Response {
  const upload = namedUpload(store, request)
  const marker = Number(parameter(request, 'part-number-marker') ?? '0')
  const maxParts = limitParameter(request, 'max-parts')
  const rest = [...upload.parts].filter(([number]) => number > marker).toSorted(([a], [b]) => a - b)
  const parts = rest.slice(0, maxParts)
  const head: XmlChild[] = [
    ['Bucket', request.bucket],
    ['Key', request.key],
    ['UploadId', upload.uploadId],
    ['PartNumberMarker', marker],
    ['NextPartNumberMarker', parts.at(-1)?.[0] ?? 0],
    ['MaxParts', maxParts],
    ['IsTruncated', parts.length > 0 && rest.length > parts.length],
  ]
  const entries = parts.map(([number, part]): XmlChild => {
    const fields: XmlChild[] = [
      ['PartNumber', number],
      ['LastModified', new Date(part.lastModifiedMs).toISOString()],
      ['ETag', part.etag],
      ['Size', part.body.length],
    ]
    const { checksum } = part
    if (checksum) fields.push([`Checksum${checksum.algorithm.toUpperCase()}`, checksum.value])
    return ['Part', fields]
  })
  return { status: 200, body: xmlDocument('ListPartsResult', [...head, ...entries]) }
}

// A common prefix counts once, and all keys under it are passed over on the page that names it.
function cutPage(
  store: BucketStore,
  options: { prefix: string; delimiter: string; maxKeys: number; after: string },
): Page {
  const { prefix, delimiter, maxKeys, after } = options
  const keys: string[] = []
  const commonPrefixes = new Set<string>()
  if (maxKeys === 0) return { keys, commonPrefixes: [], resumeAfter: undefined }
  let lastKey = after
  for (const key of [...store.objects.keys()].toSorted(compareUtf8)) {
    if (!key.startsWith(prefix) || compareUtf8(key, after) <= 0) continue
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
    const group = end === -1 ? undefined : key.slice(0, end + delimiter.length)
    if (group === undefined || !commonPrefixes.has(group)) {
      const isFull = keys.length + commonPrefixes.size === maxKeys
      if (isFull) return { keys, commonPrefixes: [...commonPrefixes], resumeAfter: lastKey }
      if (group === undefined) keys.push(key)
      else commonPrefixes.add(group)
    }
    lastKey = key
  }
  return { keys, commonPrefixes: [...commonPrefixes], resumeAfter: undefined }
}

/** A page size in the query, at most 1,000. */
export function limitParameter(request: S3Request, name: string): number {
  const text = parameter(request, name)
  if (text === undefined) return MAX_PAGE
  if (!/^\d{1,9}$/.test(text)) {
    throw new S3Error(
      'InvalidArgument',
      `Provided ${name} not an integer or within integer range`,
      {
        ArgumentName: name,
        ArgumentValue: text,
      },
    )
  }
  return Math.min(Number(text), MAX_PAGE)
}

/** How names are written: plainly, or encoded where the query asks for it. */
export function nameEncoder(request: S3Request): (name: string) => string {
  const encoding = parameter(request, 'encoding-type')
  if (encoding === undefined) return (name) => name
  if (encoding === 'url') return (name) => awsUriEncode(name, true)
  throw new S3Error('InvalidArgument', 'Invalid Encoding Method specified in Request', {
    ArgumentName: 'encoding-type',
    ArgumentValue: encoding,
  })
}

const TOKEN_PREFIX = 'after:'

function encodeToken(key: string): string {
  return Buffer.from(TOKEN_PREFIX + key).toString('base64')
}

function decodeToken(token: string): string {
  const text = Buffer.from(token, 'base64').toString('utf8')
  if (!text.startsWith(TOKEN_PREFIX)) {
    throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect', {
      ArgumentName: 'continuation-token',
    })
  }
  return text.slice(TOKEN_PREFIX.length)
}

/** The order of all listings. */
export function compareUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
