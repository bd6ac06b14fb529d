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

/** The most keys that one request can remove. */
export const REMOVE_AT_ONCE = 1000

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

/** Why an object was not removed. */
export interface RemoveFailure extends ObjectName {
  /** The server's error code. */
  readonly code: string
}

/** Every object under `prefix`, in the server's order. */
export async function listObjects(
  connection: BucketConnection,
  prefix: string,
): Promise<StoredObject[]> {
  const objects: StoredObject[] = []
  const readPage = async (after: Marker) => {
    const page = await connection.client.send(
      new ListObjectsV2Command({
        ...under(connection, prefix),
        ...(after.id === '' ? {} : { ContinuationToken: after.id }),
      }),
    )
    for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
      const modifiedAt = LastModified?.getTime() ?? 0
      objects.push({ key: relativeKey(connection, Key), bytes: Size, modifiedAt })
    }
    return page.IsTruncated === true ? { key: '', id: page.NextContinuationToken ?? '' } : null
  }
  await connection.call('list', prefix, () => readPages(readPage))
  return objects
}

/** Every version of every object; none where the server keeps no versions. */
export async function listVersions(connection: BucketConnection): Promise<S3Version[]> {
  const found: S3Version[] = []
  const readPage = async (after: Marker) => {
    const page = await connection.client.send(
      new ListObjectVersionsCommand({
        ...under(connection, ''),
        ...(after.key === '' ? {} : { KeyMarker: after.key }),
        ...(after.id === '' ? {} : { VersionIdMarker: after.id }),
      }),
    )
    const entries = [
      ...(page.Versions ?? []).map((version) => ({ ...version, isMarker: false })),
      ...(page.DeleteMarkers ?? []).map((marker) => ({ ...marker, isMarker: true })),
    ]
    for (const { Key = '', VersionId = 'null', IsLatest = false, isMarker } of entries) {
      const key = relativeKey(connection, Key)
      found.push({ key, versionId: VersionId, isLatest: IsLatest, isMarker })
    }
    return page.IsTruncated === true
      ? { key: page.NextKeyMarker ?? '', id: page.NextVersionIdMarker ?? '' }
      : null
  }
  await connection.call('list', '', () => readPages(readPage), isUnversioned)
  return found
}

/** Every open upload. */
export async function listUploads(connection: BucketConnection): Promise<OpenUpload[]> {
  const found: OpenUpload[] = []
  const readPage = async (after: Marker) => {
    const page = await connection.client.send(
      new ListMultipartUploadsCommand({
        ...under(connection, ''),
        ...(after.key === '' ? {} : { KeyMarker: after.key }),
        ...(after.id === '' ? {} : { UploadIdMarker: after.id }),
      }),
    )
    for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? []) {
      // Without a date it cannot be told from one that is under way.
      const begunAt = Initiated?.getTime() ?? Number.POSITIVE_INFINITY
      found.push({ key: relativeKey(connection, Key), uploadId: UploadId, begunAt })
    }
    return page.IsTruncated === true
      ? { key: page.NextKeyMarker ?? '', id: page.NextUploadIdMarker ?? '' }
      : null
  }
  await connection.call('list', '', () => readPages(readPage))
  return found
}

/** Removes the parts of an upload. False when it was completed or aborted meanwhile. */
export async function abortUpload(
  connection: BucketConnection,
  { key, uploadId }: OpenUpload,
): Promise<boolean> {
  const { bucket, prefix } = connection.address
  const abort = () =>
    connection.client.send(
      new AbortMultipartUploadCommand({ Bucket: bucket, Key: prefix + key, UploadId: uploadId }),
    )
  return (await connection.call('remove', key, abort, isAbsent)) !== null
}

/**
 * Removes at most {@link REMOVE_AT_ONCE} objects or versions; what is not there counts as removed.
 * @returns those that the server did not remove
 */
export async function removeObjects(
  connection: BucketConnection,
  names: readonly ObjectName[],
): Promise<RemoveFailure[]> {
  const { bucket, prefix } = connection.address
  const Objects = names.map(({ key, versionId }) => ({
    Key: prefix + key,
    ...(versionId === undefined ? {} : { VersionId: versionId }),
  }))
  const answer = await connection.call('remove', names[0]?.key ?? '', () =>
    connection.client.send(
      new DeleteObjectsCommand({
        Bucket: bucket,
        Delete: { Objects, Quiet: true },
        ChecksumAlgorithm: 'SHA256',
      }),
    ),
  )
  return (answer.Errors ?? [])
    .filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion')
    .map(({ Key = '', VersionId, Code = 'Unknown' }) => ({
      key: relativeKey(connection, Key),
      code: Code,
      ...(VersionId === undefined || VersionId === '' ? {} : { versionId: VersionId }),
    }))
}

/** Where a page of a listing ends, in the server's words; empty before the first. */
interface Marker {
  readonly key: string
  readonly id: string
}

// Not the SDK's own paging, which knows neither versions nor uploads, and goes on for ever, or ends as if that were all,
// where a server repeats itself. What is missing from a listing could be removed for it.
async function readPages(readPage: (after: Marker) => Promise<Marker | null>): Promise<void> {
  let after: Marker = { key: '', id: '' }
  for (;;) {
    const next = await readPage(after)
    if (next === null) return
    if (next.key === after.key && next.id === after.id) {
      throw new PublishError('the listing of the server does not end: it repeats a page')
    }
    after = next
  }
}

function under({ address }: BucketConnection, prefix: string): { Bucket: string; Prefix: string } {
  return { Bucket: address.bucket, Prefix: address.prefix + prefix }
}

function relativeKey({ address }: BucketConnection, key: string): string {
  return key.slice(address.prefix.length)
}
