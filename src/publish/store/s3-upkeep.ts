/** What lies under a prefix of a bucket, and its removal: objects, their versions, uploads that were never completed. */

import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  type _Error,
} from '@aws-sdk/client-s3'
import { isDeepStrictEqual } from 'node:util'
import { PublishError } from '../errors.ts'
import type { StoredObject } from './object-store.ts'
import { nullIfAbsent, statusOf, type S3Connection } from './s3-connection.ts'

/** An object, or one version of it. The key is any that a listing told. */
export interface ObjectName {
  readonly key: string
  readonly versionId?: string
}

/** One version of an object, or the marker that says it was removed. */
export interface S3Version extends Required<ObjectName> {
  readonly isLatest: boolean
  readonly isMarker: boolean
}

/** An upload in parts that was neither completed nor aborted. */
export interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  /** Milliseconds since 1970 UTC, by the server's clock. */
  readonly begunAt: number
}

/** Every object under `prefix`, in the server's order. */
export async function listObjects(s3: S3Connection, prefix: string): Promise<StoredObject[]> {
  const pages = await readPages(
    s3,
    prefix,
    (input) => s3.client.send(new ListObjectsV2Command(input)),
    ({ NextContinuationToken }) => ({ ContinuationToken: NextContinuationToken }),
  )
  return pages
    .flatMap(({ Contents = [] }) => Contents)
    .map(({ Key = '', Size = 0, LastModified }) => ({
      key: relativeKey(s3, Key),
      bytes: Size,
      modifiedAt: LastModified?.getTime() ?? 0,
    }))
}

/** Every version of every object; none where the server keeps no versions. */
export async function listVersions(s3: S3Connection): Promise<S3Version[]> {
  const pages = await readPages(
    s3,
    '',
    (input) => s3.client.send(new ListObjectVersionsCommand(input)).catch(nothingIfUnknown),
    ({ NextKeyMarker, NextVersionIdMarker }) => ({
      KeyMarker: NextKeyMarker,
      VersionIdMarker: NextVersionIdMarker,
    }),
  )
  const all = pages.flatMap(({ Versions = [], DeleteMarkers = [] }) => [
    ...Versions.map((version) => ({ ...version, isMarker: false })),
    ...DeleteMarkers.map((marker) => ({ ...marker, isMarker: true })),
  ])
  return all.map(({ Key = '', VersionId = 'null', IsLatest = false, isMarker }) => ({
    key: relativeKey(s3, Key),
    versionId: VersionId,
    isLatest: IsLatest,
    isMarker,
  }))
}

// A server that keeps no versions at all says so.
function nothingIfUnknown(error: unknown): Record<string, undefined> {
  if ([405, 501].includes(statusOf(error) ?? 0)) return {}
  throw error
}

/** Every open upload. */
export async function listUploads(s3: S3Connection): Promise<OpenUpload[]> {
  const pages = await readPages(
    s3,
    '',
    (input) => s3.client.send(new ListMultipartUploadsCommand(input)),
    ({ NextKeyMarker, NextUploadIdMarker }) => ({
      KeyMarker: NextKeyMarker,
      UploadIdMarker: NextUploadIdMarker,
    }),
  )
  return pages
    .flatMap(({ Uploads = [] }) => Uploads)
    .map(({ Key = '', UploadId = '', Initiated }) => ({
      key: relativeKey(s3, Key),
      uploadId: UploadId,
      // Without a date it cannot be told from one that is under way.
      begunAt: Initiated?.getTime() ?? Number.POSITIVE_INFINITY,
    }))
}

// Not the SDK's own paging, which knows neither versions nor uploads, and goes on for ever, or ends as if that were all,
// where a server repeats itself. What is missing from a listing could be removed for it.
async function readPages<Page extends { IsTruncated?: boolean | undefined }>(
  s3: S3Connection,
  prefix: string,
  send: (input: { Bucket: string; Prefix: string }) => Promise<Page>,
  markerOf: (page: Page) => object,
): Promise<Page[]> {
  const under = { Bucket: s3.bucket, Prefix: s3.prefix + prefix }
  return s3.call('list', prefix, async () => {
    const pages: Page[] = []
    for (let after = {}; ;) {
      const page = await send({ ...under, ...after })
      pages.push(page)
      if (page.IsTruncated !== true) return pages
      const next = markerOf(page)
      if (isDeepStrictEqual(next, after)) {
        throw new PublishError('the listing of the server does not end: it repeats a page')
      }
      after = next
    }
  })
}

/** Removes the parts of an upload. False when it was completed or aborted meanwhile. */
export async function abortUpload(
  s3: S3Connection,
  { key, uploadId }: OpenUpload,
): Promise<boolean> {
  const command = new AbortMultipartUploadCommand({
    Bucket: s3.bucket,
    Key: s3.prefix + key,
    UploadId: uploadId,
  })
  const abort = () => s3.client.send(command).catch(nullIfAbsent)
  return (await s3.call('remove', key, abort)) !== null
}

/**
 * Removes at most 1,000 objects or versions; what is not there counts as removed.
 * @returns what the server said of those that it did not remove
 */
export async function removeObjects(
  s3: S3Connection,
  names: readonly ObjectName[],
): Promise<_Error[]> {
  const command = new DeleteObjectsCommand({
    Bucket: s3.bucket,
    Delete: {
      Objects: names.map(({ key, versionId }) => ({ Key: s3.prefix + key, VersionId: versionId })),
      Quiet: true,
    },
    ChecksumAlgorithm: 'SHA256',
  })
  const { Errors = [] } = await s3.call('remove', names[0]?.key ?? '', () =>
    s3.client.send(command),
  )
  return Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion')
}

function relativeKey({ prefix }: S3Connection, key: string): string {
  return key.slice(prefix.length)
}
