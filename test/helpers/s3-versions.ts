/** Versions of a bucket: switching them on, listing them, and naming one in the query. */
import { S3Error, notImplemented } from './s3-errors.ts'
import { compareUtf8, limitParameter, nameEncoder } from './s3-listing.ts'
import type { S3Call, S3Response } from './s3-objects.ts'
import { parameter } from './s3-routes.ts'
import type { ObjectVersion } from './s3-store.ts'
import type { XmlChild } from './s3-xml.ts'
import { childText, malformedXml, parseXml, xmlDocument } from './s3-xml.ts'

/** PutBucketVersioning. */
export function putBucketVersioning({ payload, store }: S3Call): S3Response {
  const root = parseXml(payload.body.toString('utf8'), 'VersioningConfiguration')
  const other = root.children.find((child) => child.name !== 'Status')
  if (other !== undefined) throw notImplemented(`${other.name} in PutBucketVersioning`)
  const status = childText(root, 'Status')
  if (status !== 'Enabled' && status !== 'Suspended') throw malformedXml()
  store.versioning = status
  return { status: 200 }
}

/** GetBucketVersioning: no status where versions were never kept. */
export function getBucketVersioning({ store }: S3Call): S3Response {
  const status: XmlChild[] = store.versioning === 'Off' ? [] : [['Status', store.versioning]]
  return { status: 200, body: xmlDocument('VersioningConfiguration', status) }
}

/** ListObjectVersions: by key, then newest first. */
export function listObjectVersions({ request, store }: S3Call): S3Response {
  const prefix = parameter(request, 'prefix') ?? ''
  const keyMarker = parameter(request, 'key-marker') ?? ''
  const idMarker = parameter(request, 'version-id-marker') ?? ''
  if (idMarker !== '' && keyMarker === '') {
    throw new S3Error(
      'InvalidArgument',
      'A version-id marker cannot be specified without a key marker.',
      { ArgumentName: 'version-id-marker', ArgumentValue: idMarker },
    )
  }
  const maxKeys = limitParameter(request, 'max-keys')
  const encode = nameEncoder(request)
  const all = store
    .keys()
    .filter((key) => key.startsWith(prefix) && compareUtf8(key, keyMarker) >= 0)
    .toSorted(compareUtf8)
    .flatMap((key) => {
      const versions = store.versionsOf(key)
      const named = versions.map((version, index) => ({ key, version, isLatest: index === 0 }))
      if (key !== keyMarker) return named
      const at = versions.findIndex(({ versionId }) => versionId === idMarker)
      return at === -1 ? [] : named.slice(at + 1)
    })
  const page = all.slice(0, maxKeys)
  const last = page.at(-1)
  const isTruncated = last !== undefined && all.length > page.length
  const head: XmlChild[] = [
    ['Name', request.bucket],
    ['Prefix', encode(prefix)],
    ['KeyMarker', encode(keyMarker)],
    ['VersionIdMarker', idMarker],
    ['MaxKeys', maxKeys],
    ['IsTruncated', isTruncated],
  ]
  if (isTruncated) {
    head.push(['NextKeyMarker', encode(last.key)], ['NextVersionIdMarker', last.version.versionId])
  }
  const entries = page.map(({ key, version, isLatest }) => entry(encode(key), version, isLatest))
  return { status: 200, body: xmlDocument('ListVersionsResult', [...head, ...entries]) }
}

function entry(name: string, version: ObjectVersion, isLatest: boolean): XmlChild {
  const { object, versionId, lastModifiedMs } = version
  const fields: XmlChild[] = [
    ['Key', name],
    ['VersionId', versionId],
    ['IsLatest', isLatest],
    ['LastModified', new Date(lastModifiedMs).toISOString()],
  ]
  if (object === undefined) return ['DeleteMarker', fields]
  const more: XmlChild[] = [
    ['ETag', object.etag],
    ['Size', object.body.length],
    ['StorageClass', object.storageClass],
  ]
  return ['Version', [...fields, ...more]]
}
