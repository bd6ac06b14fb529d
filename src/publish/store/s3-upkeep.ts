/**
 * What lies under a prefix of a bucket, and its removal: objects, their versions, uploads that were never completed.
 * Beside `s3-client.ts` the only file that imports the AWS SDK.
 */

import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import { PublishError } from '../errors.ts'
import type { StoredObject } from './object-store.ts'
import type { BucketConnection } from './s3-client.ts'
import { isAbsent, isUnversioned } from './s3-errors.ts'

/** An object, or one version of it. The key is any that a listing told. */
export interface ObjectName {
  readonly key: string
  readonly versionId?: string
}

/** One version of an object, or the marker that says it was removed. */
export interface S3Version {
  readonly key: string
  readonly versionId: string
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

/** Why an object was not removed: the server's error code. */
export interface RemoveFailure extends ObjectName {
  readonly code: string
}

/** A page of a listing, and where the next one begins; undefined after the last. */
interface Page<Item, Marker> {
  readonly items: readonly Item[]
  readonly next: Marker | undefined
}

/** Every object under `prefix`, in the server's order. */
export async function listObjects(
  connection: BucketConnection,
  prefix: string,
): Promise<StoredObject[]> {
  type Marker = { readonly ContinuationToken: string }
  return readPages(connection, prefix, async (after: Marker | undefined) => {
    const page = await connection.client.send(
      new ListObjectsV2Command({ ...under(connection, prefix), ...after }),
    )
    const items = (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
      key: relativeKey(connection, Key),
      bytes: Size,
      modifiedAt: LastModified?.getTime() ?? 0,
    }))
    const next = { ContinuationToken: page.NextContinuationToken ?? '' }
    return { items, next: page.IsTruncated === true ? next : undefined }
  })
}

/** Every version of every object; none where the server keeps no versions. */
export async function listVersions(connection: BucketConnection): Promise<S3Version[]> {
  type Marker = { readonly KeyMarker: string; readonly VersionIdMarker: string }
  const readPage = async (after: Marker | undefined) => {
    const page = await connection.client.send(
      new ListObjectVersionsCommand({ ...under(connection, ''), ...after }),
    )
    const { Versions = [], DeleteMarkers = [], NextKeyMarker = '', NextVersionIdMarker = '' } = page
    const items = [
      ...Versions.map((version) => ({ ...version, isMarker: false })),
      ...DeleteMarkers.map((marker) => ({ ...marker, isMarker: true })),
    ].map(({ Key = '', VersionId = 'null', IsLatest = false, isMarker }) => ({
      key: relativeKey(connection, Key),
      versionId: VersionId,
      isLatest: IsLatest,
      isMarker,
    }))
    const next = { KeyMarker: NextKeyMarker, VersionIdMarker: NextVersionIdMarker }
    return { items, next: page.IsTruncated === true ? next : undefined }
  }
  return readPages(connection, '', readPage, isUnversioned)
}

/** Every open upload. */
export async function listUploads(connection: BucketConnection): Promise<OpenUpload[]> {
  type Marker = { readonly KeyMarker: string; readonly UploadIdMarker: string }
  return readPages(connection, '', async (after: Marker | undefined) => {
    const page = await connection.client.send(
      new ListMultipartUploadsCommand({ ...under(connection, ''), ...after }),
    )
    const { Uploads = [], NextKeyMarker = '', NextUploadIdMarker = '' } = page
    const items = Uploads.map(({ Key = '', UploadId = '', Initiated }) => ({
      key: relativeKey(connection, Key),
      uploadId: UploadId,
      // Without a date it cannot be told from one that is under way.
      begunAt: Initiated?.getTime() ?? Number.POSITIVE_INFINITY,
    }))
    const next = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker }
    return { items, next: page.IsTruncated === true ? next : undefined }
  })
}

// Not the SDK's own paging, which knows neither versions nor uploads, and goes on for ever, or ends as if that were all,
// where a server repeats itself. What is missing from a listing could be removed for it.
async function readPages<Item, Marker>(
  connection: BucketConnection,
  prefix: string,
  readPage: (after: Marker | undefined) => Promise<Page<Item, Marker>>,
  isNothing: (error: unknown) => boolean = () => false,
): Promise<Item[]> {
  const items: Item[] = []
  const readAll = async () => {
    let after: Marker | undefined
    do {
      const page = await readPage(after)
      items.push(...page.items)
      if (page.next !== undefined && JSON.stringify(page.next) === JSON.stringify(after)) {
        throw new PublishError('the listing of the server does not end: it repeats a page')
      }
      after = page.next
    } while (after !== undefined)
  }
  await connection.call('list', prefix, readAll, isNothing)
  return items
}

/** Removes the parts of an upload. False when it was completed or aborted meanwhile. */
export async function abortUpload(
  connection: BucketConnection,
  { key, uploadId }: OpenUpload,
): Promise<boolean> {
  const { bucket: Bucket, prefix } = connection.address
  const at = { Bucket, Key: prefix + key, UploadId: uploadId }
  const abort = () => connection.client.send(new AbortMultipartUploadCommand(at))
  return (await connection.call('remove', key, abort, isAbsent)) !== null
}

/**
 * Removes at most 1,000 objects or versions; what is not there counts as removed.
 * @returns those that the server did not remove
 */
export async function removeObjects(
  connection: BucketConnection,
  names: readonly ObjectName[],
): Promise<RemoveFailure[]> {
  const { bucket: Bucket, prefix } = connection.address
  const Objects = names.map(({ key, versionId }) => ({
    Key: prefix + key,
    ...(versionId === undefined ? {} : { VersionId: versionId }),
  }))
  const command = {
    Bucket,
    Delete: { Objects, Quiet: true },
    ChecksumAlgorithm: 'SHA256' as const,
  }
  const answer = await connection.call('remove', names[0]?.key ?? '', () =>
    connection.client.send(new DeleteObjectsCommand(command)),
  )
  return (answer.Errors ?? [])
    .filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion')
    .map(({ Key = '', VersionId, Code = 'Unknown' }) => ({
      key: relativeKey(connection, Key),
      code: Code,
      ...(VersionId === undefined || VersionId === '' ? {} : { versionId: VersionId }),
    }))
}

function under({ address }: BucketConnection, prefix: string): { Bucket: string; Prefix: string } {
  return { Bucket: address.bucket, Prefix: address.prefix + prefix }
}

function relativeKey({ address }: BucketConnection, key: string): string {
  return key.slice(address.prefix.length)
}
