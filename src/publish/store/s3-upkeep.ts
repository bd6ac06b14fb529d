/** What lies under a prefix of a bucket, and its removal: objects, their versions, uploads that were never completed. */

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  UploadPartCopyCommand,
  type CopyObjectCommandInput,
  type ObjectIdentifier,
  type S3Client,
  type _Error,
} from '@aws-sdk/client-s3'
import { isDeepStrictEqual } from 'node:util'
import { PublishError } from '../errors.ts'
import type { StoredObject } from './object-store.ts'
import { nullIfAbsent, statusOf, type S3Connection } from './s3-connection.ts'

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
      key: Key.slice(s3.prefix.length),
      bytes: Size,
      modifiedAt: LastModified?.getTime() ?? 0,
    }))
}

/** Copies an object that is too large for one request; its new ETag. What a failure leaves is abandoned a day later. */
export async function copyInParts(
  client: S3Client,
  { CopySource, ...input }: CopyObjectCommandInput,
  bytes: number,
  partBytes: number,
): Promise<string | undefined> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(input))
  const { Bucket, Key } = input
  const of = { Bucket, Key, UploadId }
  const parts: { PartNumber: number; ETag: string | undefined }[] = []
  for (let from = 0; from < bytes; from += partBytes) {
    const range = `bytes=${from}-${Math.min(from + partBytes, bytes) - 1}`
    const PartNumber = parts.length + 1
    const { CopyPartResult } = await client.send(
      new UploadPartCopyCommand({ ...of, PartNumber, CopySource, CopySourceRange: range }),
    )
    parts.push({ PartNumber, ETag: CopyPartResult?.ETag })
  }
  const done = new CompleteMultipartUploadCommand({ ...of, MultipartUpload: { Parts: parts } })
  return (await client.send(done)).ETag
}

/** Every version that is not the latest, and every marker of a removed object; none where the server keeps no versions. */
export async function listOldVersions(
  s3: S3Connection,
): Promise<{ old: ObjectIdentifier[]; markers: ObjectIdentifier[] }> {
  const pages = await readPages(
    s3,
    '',
    (input) => s3.client.send(new ListObjectVersionsCommand(input)).catch(nothingIfUnknown),
    ({ NextKeyMarker, NextVersionIdMarker }) => ({
      KeyMarker: NextKeyMarker,
      VersionIdMarker: NextVersionIdMarker,
    }),
  )
  const old = pages
    .flatMap(({ Versions = [] }) => Versions)
    .filter(({ IsLatest }) => IsLatest !== true)
  const markers = pages.flatMap(({ DeleteMarkers = [] }) => DeleteMarkers)
  return { old: old.map(versionOf), markers: markers.map(versionOf) }
}

function versionOf(found: { Key?: string | undefined; VersionId?: string | undefined }) {
  return { Key: found.Key, VersionId: found.VersionId ?? 'null' }
}

// A server that keeps no versions at all says so.
function nothingIfUnknown(error: unknown): Record<string, undefined> {
  if ([405, 501].includes(statusOf(error) ?? 0)) return {}
  throw error
}

/** Removes the parts of uploads that were begun before, in milliseconds since 1970 UTC by the server's clock; how many. */
export async function abandonUploads(s3: S3Connection, begunBefore: number): Promise<number> {
  const pages = await readPages(
    s3,
    '',
    (input) => s3.client.send(new ListMultipartUploadsCommand(input)),
    ({ NextKeyMarker, NextUploadIdMarker }) => ({
      KeyMarker: NextKeyMarker,
      UploadIdMarker: NextUploadIdMarker,
    }),
  )
  let abandoned = 0
  for (const { Key = '', UploadId, Initiated } of pages.flatMap(({ Uploads = [] }) => Uploads)) {
    // Without a date it cannot be told from one that is under way.
    if (Initiated === undefined || Initiated.getTime() >= begunBefore) continue
    const command = new AbortMultipartUploadCommand({ Bucket: s3.bucket, Key, UploadId })
    const abort = () => s3.client.send(command).catch(nullIfAbsent)
    if ((await s3.call('remove', Key.slice(s3.prefix.length), abort)) !== null) abandoned += 1
  }
  return abandoned
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

/** Removes at most 1,000 objects or versions; what is not there counts as removed. */
export async function removeObjects(
  s3: S3Connection,
  objects: readonly ObjectIdentifier[],
): Promise<_Error[]> {
  const command = new DeleteObjectsCommand({
    Bucket: s3.bucket,
    Delete: { Objects: [...objects], Quiet: true },
    ChecksumAlgorithm: 'SHA256',
  })
  const first = objects[0]?.Key?.slice(s3.prefix.length) ?? ''
  const { Errors = [] } = await s3.call('remove', first, () => s3.client.send(command))
  return Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion')
}
