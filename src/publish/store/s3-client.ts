/** A connection to one prefix of a bucket, which explains a failed call in one sentence without secrets. */

import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { messageOf, systemCode } from '../../support/errors.ts'
import { MINUTE, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { checkKey, type S3Address, type S3Options } from './object-store.ts'

/** The action of a call, and the permissions that it needs. */
const PERMISSIONS = {
  write: 's3:PutObject and s3:AbortMultipartUpload there, and kms:GenerateDataKey with aws:kms',
  read: 's3:GetObject there and s3:ListBucket on the bucket, and kms:Decrypt with aws:kms',
  list: 's3:ListBucket, s3:ListBucketVersions and s3:ListBucketMultipartUploads on the bucket',
  remove: 's3:DeleteObject, s3:DeleteObjectVersion and s3:AbortMultipartUpload there',
}

type S3Action = keyof typeof PERMISSIONS

/** A prefix of a bucket. Keys are relative to it. */
export class S3Connection {
  readonly client: S3Client
  readonly bucket: string
  /** Empty, or ends in a slash. */
  readonly prefix: string
  readonly #server: string

  constructor(client: S3Client, { bucket, prefix }: S3Address, server: string) {
    this.client = client
    this.bucket = bucket
    this.prefix = prefix
    this.#server = server
  }

  /** `s3://bucket/prefix`. */
  get url(): string {
    return `s3://${this.bucket}/${this.prefix}`.replace(/\/$/, '')
  }

  at(key: string): { Bucket: string; Key: string } {
    checkKey(key)
    return { Bucket: this.bucket, Key: this.prefix + key }
  }

  /** Runs one call. @throws PublishError for whatever fails */
  async call<T>(action: S3Action, key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof PublishError) throw error
      // The service's error code, or the name of what failed on this side.
      const name = error instanceof Error ? error.name : 'Unknown'
      const code = statusOf(error) === undefined ? (systemCode(error) ?? name) : name
      const [what, hint] = this.#explained(statusOf(error), name, code, action, key)
      // Not the SDK's error itself: it carries the whole response, and more of the request than a log should hold.
      const cause = new Error(`${code}: ${messageOf(error)}`)
      throw new PublishError(what, { ...(hint !== undefined && { hint }), cause })
    }
  }

  #explained(
    status: number | undefined,
    name: string,
    code: string,
    action: S3Action,
    key: string,
  ): readonly [sentence: string, hint?: string] {
    const server = this.#server
    const does = `${action} ${this.url}/${key}`
    const credentials = [
      `${server} does not accept the AWS credentials (${code})`,
      'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.',
    ] as const
    const region = [
      `the bucket ${this.bucket} is in another region than the requested one (${code})`,
      'Set AWS_REGION to the region of the bucket.',
    ] as const
    const missing = [
      `there are no AWS credentials to ${does}`,
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the machine a role.',
    ] as const
    const clock = `${server} says that this machine's clock is more than 15 minutes off`
    const noBucket = `there is no bucket ${this.bucket} at ${server}`
    const lacking = `${server} does not implement the operations needed to ${does}`
    const known = new Map<string, readonly [string, string]>([
      ['CredentialsProviderError', missing],
      ['InvalidAccessKeyId', credentials],
      ['SignatureDoesNotMatch', credentials],
      ['InvalidToken', credentials],
      ['ExpiredToken', credentials],
      ['RequestTimeTooSkewed', [clock, 'Set the clock.']],
      ['NoSuchBucket', [noBucket, 'Create it, or name another with --snapshot-to.']],
      ['NotImplemented', [lacking, 'It must support If-None-Match and If-Match on PutObject.']],
      ['PermanentRedirect', region],
      ['AuthorizationHeaderMalformed', region],
      ['IllegalLocationConstraintException', region],
    ])
    const explained = known.get(name)
    if (explained !== undefined) return explained
    if (status === 403) {
      const may = `the AWS credentials may not ${does} (403 ${code})`
      return [may, `They need ${PERMISSIONS[action]}.`]
    }
    if (status !== undefined) return [`${server} failed to ${does}: ${status} ${code}`]
    const hint = 'Check the network and JOBTIDE_S3_ENDPOINT.'
    return [`${server} could not be reached to ${does} (${code})`, hint]
  }
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
  return new S3Connection(client, address, endpoint ?? 'S3')
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
