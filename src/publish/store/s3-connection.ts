/** A connection to one prefix of a bucket, and what went wrong with a call, in one sentence that repeats no secret. */

import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { messageOf, systemCode } from '../../support/errors.ts'
import { MINUTE, SECOND } from '../../support/units.ts'
import { PublishError } from '../errors.ts'
import { checkKey, type S3Options } from './object-store.ts'
import type { S3Address } from './s3-options.ts'

export type S3Action = 'write' | 'read' | 'list' | 'remove'

/** A prefix of a bucket. Keys are relative to it. */
export class S3Connection {
  /** `s3://bucket/prefix`. */
  readonly url: string
  readonly client: S3Client
  readonly bucket: string
  /** Empty, or ends in a slash. */
  readonly prefix: string
  readonly #server: string

  constructor(client: S3Client, { bucket, prefix }: S3Address, server: string) {
    this.url = `s3://${bucket}/${prefix}`.replace(/\/$/, '')
    this.client = client
    this.bucket = bucket
    this.prefix = prefix
    this.#server = server
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
      throw this.#explained(error, action, key)
    }
  }

  #explained(error: unknown, action: S3Action, key: string): PublishError {
    if (error instanceof PublishError) return error
    const code = codeOf(error)
    const url = `${this.url}/${key}`
    const words = { action, url, code, server: this.#server, bucket: this.bucket }
    const [sentence, hint] = explanationOf(error, action)
    return new PublishError(filledIn(sentence, words), {
      ...(hint === undefined ? {} : { hint }),
      // Not the SDK's error itself: it carries the whole response, and more of the request than a log should hold.
      cause: new Error(`${code}: ${messageOf(error)}`),
    })
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
  if (['NotFound', 'NoSuchKey', 'NoSuchUpload'].includes(nameOf(error))) return null
  throw error
}

// The service's error code, or the SDK's own name for what failed on this side.
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'Unknown'
}

function codeOf(error: unknown): string {
  return statusOf(error) === undefined ? (systemCode(error) ?? nameOf(error)) : nameOf(error)
}

const PERMISSIONS: Readonly<Record<S3Action, string>> = {
  write: 's3:PutObject and s3:AbortMultipartUpload there, and kms:GenerateDataKey with aws:kms',
  read: 's3:GetObject there and s3:ListBucket on the bucket, and kms:Decrypt with aws:kms',
  list: 's3:ListBucket, s3:ListBucketVersions and s3:ListBucketMultipartUploads on the bucket',
  remove: 's3:DeleteObject, s3:DeleteObjectVersion and s3:AbortMultipartUpload there',
}

type Explanation = readonly [sentence: string, hint?: string]

const BAD_CREDENTIALS: Explanation = [
  '{server} does not accept the AWS credentials ({code})',
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.',
]
const OTHER_REGION: Explanation = [
  'the bucket {bucket} is in another region than the one asked ({code})',
  'Set AWS_REGION to the region of the bucket.',
]
const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  CredentialsProviderError: [
    'there are no AWS credentials to {action} {url}',
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give the machine a role.',
  ],
  InvalidAccessKeyId: BAD_CREDENTIALS,
  SignatureDoesNotMatch: BAD_CREDENTIALS,
  InvalidToken: BAD_CREDENTIALS,
  ExpiredToken: BAD_CREDENTIALS,
  RequestTimeTooSkewed: [
    "{server} says that this machine's clock is more than 15 minutes off",
    'Set the clock.',
  ],
  NoSuchBucket: [
    'there is no bucket {bucket} at {server}',
    'Make it, or name another with --snapshot-to.',
  ],
  NotImplemented: [
    '{server} does not implement what it takes to {action} {url}',
    'It must support If-None-Match and If-Match on PutObject.',
  ],
  PermanentRedirect: OTHER_REGION,
  AuthorizationHeaderMalformed: OTHER_REGION,
  IllegalLocationConstraintException: OTHER_REGION,
}

function explanationOf(error: unknown, action: S3Action): Explanation {
  const status = statusOf(error)
  const known = EXPLANATIONS[nameOf(error)]
  if (known !== undefined) return known
  if (status === 403) {
    const hint = `They need ${PERMISSIONS[action]}.`
    return ['the AWS credentials may not {action} {url} (403 {code})', hint]
  }
  if (status !== undefined) return [`{server} failed to {action} {url}: ${status} {code}`]
  const hint = 'Check the network and JOBTIDE_S3_ENDPOINT.'
  return ['{server} could not be reached to {action} {url} ({code})', hint]
}

function filledIn(sentence: string, words: Readonly<Record<string, string>>): string {
  return sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name] ?? '')
}
