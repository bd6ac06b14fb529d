/** From a request and its raw body to an answer: authenticate, decode the payload, find the bucket, carry out the operation. */
import { S3Error } from './s3-errors.ts'
import { listMultipartUploads, listObjectsV2, listParts } from './s3-listing.ts'
import {
  abortMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  uploadPart,
} from './s3-multipart.ts'
import type { S3Call, S3Response } from './s3-objects.ts'
import { deleteObject, deleteObjects, getObject, putObject } from './s3-objects.ts'
import { decodePayload } from './s3-payload.ts'
import type { S3Operation, S3Request } from './s3-routes.ts'
import type { SigningIdentity } from './s3-signature.ts'
import { verifySignature } from './s3-signature.ts'
import type { BucketStore } from './s3-store.ts'
import { getBucketVersioning, listObjectVersions, putBucketVersioning } from './s3-versions.ts'

const HANDLERS: Readonly<Record<S3Operation, (call: S3Call) => S3Response>> = {
  HeadBucket: () => ({ status: 200 }),
  ListObjectsV2: listObjectsV2,
  ListMultipartUploads: listMultipartUploads,
  ListObjectVersions: listObjectVersions,
  GetBucketVersioning: getBucketVersioning,
  PutBucketVersioning: putBucketVersioning,
  DeleteObjects: deleteObjects,
  GetObject: getObject,
  HeadObject: getObject,
  PutObject: putObject,
  DeleteObject: deleteObject,
  CreateMultipartUpload: createMultipartUpload,
  UploadPart: uploadPart,
  CompleteMultipartUpload: completeMultipartUpload,
  AbortMultipartUpload: abortMultipartUpload,
  ListParts: listParts,
}

/** The one bucket there is, and who may use it. */
export interface Bucket {
  readonly name: string
  readonly store: BucketStore
  readonly identity: SigningIdentity
  readonly kmsKeyIds: readonly string[]
  /** The time that objects, parts and uploads get, in milliseconds since 1970 UTC. */
  readonly storageTime: () => number
}

/**
 * Carries out one request.
 * @throws S3Error when S3 would refuse it; nothing has changed then
 */
export function execute(
  bucket: Bucket,
  request: S3Request,
  rawBody: Buffer,
  nowMs: number,
  keyFault: S3Call['keyFault'],
): S3Response {
  // ClickHouse signs an empty one when it has none, and radosgw takes that for none.
  if (request.headers.get('x-amz-security-token')) {
    throw new S3Error('InvalidToken', 'The provided token is malformed or otherwise invalid.')
  }
  verifySignature(request, bucket.identity, nowMs)
  if (request.bucket !== bucket.name) {
    throw new S3Error('NoSuchBucket', 'The specified bucket does not exist', {
      BucketName: request.bucket,
    })
  }
  const payload = decodePayload(request.headers, rawBody)
  const { store, kmsKeyIds } = bucket
  const storedAtMs = bucket.storageTime()
  const call = { request, payload, store, nowMs: storedAtMs, kmsKeyIds, keyFault }
  return HANDLERS[request.operation](call)
}
