/** A connection to one prefix of a bucket, which explains a failed call without secrets. */

import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { messageOf, systemCode } from '../../support/errors.ts'
import { MINUTE, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { checkKey, type S3Address, type S3Options } from './object-store.ts'

const PERMISSIONS = {
  write: 's3:PutObject and s3:AbortMultipartUpload there, and kms:GenerateDataKey with aws:kms',
  read: 's3:GetObject there and s3:ListBucket on the bucket, and kms:Decrypt with aws:kms',
  list: 's3:ListBucket, s3:ListBucketVersions and s3:ListBucketMultipartUploads on the bucket',
  remove: 's3:DeleteObject, s3:DeleteObjectVersion and s3:AbortMultipartUpload there',
}

type S3Action = keyof typeof PERMISSIONS

const KEYS = 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.'
const REGION = 'The bucket is in another region: set AWS_REGION to it.'
const UNREACHABLE = 'It could not be reached: check the network and JOBTIDE_S3_ENDPOINT.'
/** What the operator does about an error of the service, or of the SDK. */
const HINTS: Readonly<Record<string, string>> = {
  CredentialsProviderError:
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the machine a role.',
  InvalidAccessKeyId: KEYS,
  SignatureDoesNotMatch: KEYS,
  InvalidToken: KEYS,
  ExpiredToken: KEYS,
  RequestTimeTooSkewed: "This machine's clock is more than 15 minutes off: set it.",
  NoSuchBucket: 'There is no such bucket: create it, or name another with --snapshot-to.',
  NotImplemented: 'The server must support If-None-Match and If-Match on PutObject.',
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  IllegalLocationConstraintException: REGION,
}

/** A prefix of a bucket, empty or with a slash at its end. Keys are relative to it. */
export type S3Connection = ReturnType<typeof connectionTo>

function connectionTo(client: S3Client, { bucket, prefix }: S3Address, server: string) {
  const url = `s3://${bucket}/${prefix}`.replace(/\/$/, '')
  const at = (key: string) => {
    checkKey(key)
    return { Bucket: bucket, Key: prefix + key }
  }
  /** Runs one call. @throws PublishError for whatever fails */
  const call = async <T>(action: S3Action, key: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof PublishError) throw error
      // The service's error code, or the name of what failed on this side.
      const name = error instanceof Error ? error.name : 'Unknown'
      const status = statusOf(error)
      const code = status === undefined ? (systemCode(error) ?? name) : name
      const why = status === undefined ? code : `${status} ${code}`
      const needed = status === 403 ? `The AWS credentials need ${PERMISSIONS[action]}.` : undefined
      const hint = HINTS[name] ?? (status === undefined ? UNREACHABLE : needed)
      // Not the SDK's error itself: it carries the whole response, and more of the request than a log should hold.
      const cause = new Error(`${code}: ${messageOf(error)}`)
      const what = `${server} did not ${action} ${url}/${key} (${why})`
      throw new PublishError(what, { ...(hint !== undefined && { hint }), cause })
    }
  }
  return { client, bucket, prefix, url, at, call }
}

/** Connects; nothing is sent yet. @throws PublishError when the region is not known */
export async function connectBucket(
  address: S3Address,
  { endpoint, region, path_style: pathStyle }: S3Options,
): Promise<S3Connection> {
  const config: S3ClientConfig = {
    retryMode: 'standard',
    maxAttempts: 4,
    requestHandler: {
      connectionTimeout: 10 * SECOND,
      socketTimeout: MINUTE,
      requestTimeout: 5 * MINUTE,
      throwOnRequestTimeout: true,
    },
    forcePathStyle: pathStyle ?? endpoint !== undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
  }
  let client = new S3Client(config)
  try {
    await client.config.region()
  } catch (error) {
    client.destroy()
    if (endpoint === undefined) {
      throw new PublishError(`the AWS region of s3://${address.bucket} is not known`, {
        hint: 'Set AWS_REGION, or snapshot.s3.region in the pipeline file.',
        cause: error,
      })
    }
    client = new S3Client({ ...config, region: 'us-east-1' })
  }
  return connectionTo(client, address, endpoint ?? 'S3')
}

export function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode
}

/** Null for a call that found no object or no upload. A missing bucket is not that. @throws all other errors */
export function nullIfAbsent(error: unknown): null {
  const { name } = error as Error
  if (['NotFound', 'NoSuchKey', 'NoSuchUpload'].includes(name)) return null
  throw error
}
