/** What went wrong with S3, in one sentence for each cause. Reads the SDK's errors by shape; never repeats a secret. */

import { messageOf, systemCode } from '../../support/errors.ts'
import { PublishError } from '../errors.ts'

/** The parts of an SDK error that tell causes apart. */
interface SdkError {
  /** The service's error code, or the SDK's own name for what failed on this side. */
  readonly name: string
  readonly status: number | undefined
}

/** Name and HTTP status of a failed call; of anything else, its name and no status. */
export function sdkError(error: unknown): SdkError {
  if (!(error instanceof Error)) return { name: 'Unknown', status: undefined }
  const metadata: unknown = '$metadata' in error ? error.$metadata : undefined
  const status =
    metadata !== null && typeof metadata === 'object' && 'httpStatusCode' in metadata
      ? metadata.httpStatusCode
      : undefined
  return { name: error.name, status: typeof status === 'number' ? status : undefined }
}

/** True for a conditional write that another writer won: 412, or 404 where the object vanished meanwhile. */
export function isLost(error: unknown): boolean {
  const { name, status } = sdkError(error)
  return status === 412 || (status === 404 && name === 'NoSuchKey')
}

/** True for a conditional write that met another on its way: it was not done, and perhaps no other was either. */
export function isConflict(error: unknown): boolean {
  return sdkError(error).status === 409
}

/** True where a call found no object or no upload. A missing bucket is not that: it is a failure. */
export function isAbsent(error: unknown): boolean {
  const { name } = sdkError(error)
  return name === 'NotFound' || name === 'NoSuchKey' || name === 'NoSuchUpload'
}

/** True where a server says that it keeps no versions at all. */
export function isUnversioned(error: unknown): boolean {
  const { name, status } = sdkError(error)
  return name === 'NotImplemented' || status === 501 || status === 405
}

/** What a call does. */
export type S3Action = 'write' | 'read' | 'list' | 'remove'

const PERMISSIONS: Readonly<Record<S3Action, string>> = {
  write: 's3:PutObject and s3:AbortMultipartUpload there, and kms:GenerateDataKey with aws:kms',
  read: 's3:GetObject there and s3:ListBucket on the bucket, and kms:Decrypt with aws:kms',
  list: 's3:ListBucket, s3:ListBucketVersions and s3:ListBucketMultipartUploads on the bucket',
  remove: 's3:DeleteObject, s3:DeleteObjectVersion and s3:AbortMultipartUpload there',
}

/** Where a failed call went. */
export interface S3Place {
  readonly bucket: string
  /** `s3://…` of the object or prefix. */
  readonly url: string
  /** The address of an S3-compatible server; undefined for AWS. */
  readonly endpoint: string | undefined
}

interface Explanation {
  readonly sentence: string
  readonly hint?: string
}

/** The PublishError for a failed call; `action` says what was tried, such as `write`. */
export function describeS3Error(error: unknown, action: S3Action, place: S3Place): PublishError {
  if (error instanceof PublishError) return error
  const { sentence, hint } = explain(error, action, place)
  // Not the SDK's error itself: it carries the whole response, and more of the request than a log should hold.
  const cause = new Error(`${sdkError(error).name}: ${messageOf(error)}`)
  return new PublishError(sentence, hint === undefined ? { cause } : { hint, cause })
}

function explain(error: unknown, action: S3Action, place: S3Place): Explanation {
  const { name, status } = sdkError(error)
  const server = place.endpoint ?? 'S3'
  switch (name) {
    case 'CredentialsProviderError':
      return {
        sentence: `there are no AWS credentials to ${action} ${place.url}`,
        hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the machine a role.',
      }
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
    case 'InvalidToken':
    case 'ExpiredToken':
      return {
        sentence: `${server} does not accept the AWS credentials (${name})`,
        hint: 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.',
      }
    case 'RequestTimeTooSkewed':
      return {
        sentence: `${server} says that this machine's clock is more than 15 minutes off`,
        hint: 'Set the clock.',
      }
    case 'NoSuchBucket':
      return {
        sentence: `there is no bucket ${place.bucket} at ${server}`,
        hint: 'Make it, or name another with --snapshot-to.',
      }
    case 'NotImplemented':
      return {
        sentence: `${server} does not implement what it takes to ${action} ${place.url}`,
        hint: 'It must support If-None-Match and If-Match on PutObject.',
      }
    case 'PermanentRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return {
        sentence: `the bucket ${place.bucket} is in another region than the one asked (${name})`,
        hint: 'Set AWS_REGION to the region of the bucket.',
      }
  }
  if (status === 403) {
    return {
      sentence: `the AWS credentials may not ${action} ${place.url} (403 ${name})`,
      hint: `They need ${PERMISSIONS[action]}.`,
    }
  }
  if (status !== undefined) {
    return { sentence: `${server} failed to ${action} ${place.url}: ${status} ${name}` }
  }
  const code = systemCode(error) ?? name
  return {
    sentence: `${server} could not be reached to ${action} ${place.url} (${code})`,
    hint: 'Check the network and JOBTIDE_S3_ENDPOINT.',
  }
}
