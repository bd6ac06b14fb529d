/** The options of a bucket, and which of them cannot be meant together. */

import { isIP } from 'node:net'
import { ConfigError } from '../../support/errors.ts'

/** Encryption at rest that is asked of the server with every object; `none` leaves it to the bucket. */
export type ServerSideEncryption = 'none' | 'AES256' | 'aws:kms'

/** How to reach a bucket and how objects lie in it. Everything has a default. */
export interface S3Options {
  /** Default: what the AWS SDK finds; with an endpoint us-east-1. */
  readonly region?: string | undefined
  /** `http(s)://host[:port]` of an S3-compatible server; default AWS. */
  readonly endpoint?: string | undefined
  /** The bucket in the path instead of the host name. Default: true with an endpoint, false without. */
  readonly pathStyle?: boolean | undefined
  readonly sse?: ServerSideEncryption | undefined
  /** Only with `aws:kms`; default the account's own key. */
  readonly kmsKeyId?: string | undefined
  /** Of data; the small objects that coordinate publishers lie in the bucket's own class. */
  readonly storageClass?: string | undefined
}

// Objects of these classes are readable only hours after a request for them.
const ARCHIVES = ['GLACIER', 'DEEP_ARCHIVE']
const NOTHING_SENT = 'Nothing was sent.'

/**
 * Lets only options pass that can be meant together.
 * @throws ConfigError naming the first that cannot
 */
export function checkS3Options(options: S3Options): void {
  const { endpoint, kmsKeyId, sse = 'none', storageClass } = options
  if (kmsKeyId !== undefined && sse !== 'aws:kms') {
    throw new ConfigError(`kms_key_id is given, but sse is ${sse}`, {
      hint: `Set sse: aws:kms, or leave kms_key_id out. ${NOTHING_SENT}`,
    })
  }
  if (storageClass !== undefined && !/^[A-Z][A-Z0-9_-]*$/.test(storageClass)) {
    throw new ConfigError(`${JSON.stringify(storageClass)} is not a storage class`, {
      hint: `Such as STANDARD_IA or INTELLIGENT_TIERING. ${NOTHING_SENT}`,
    })
  }
  if (storageClass !== undefined && ARCHIVES.includes(storageClass)) {
    throw new ConfigError(`objects of the storage class ${storageClass} cannot be read at once`, {
      hint: `Use GLACIER_IR, STANDARD_IA or INTELLIGENT_TIERING. ${NOTHING_SENT}`,
    })
  }
  if (endpoint !== undefined) checkEndpoint(endpoint, options.pathStyle)
}

function checkEndpoint(endpoint: string, pathStyle: boolean | undefined): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === '' &&
    url.pathname === '/'
  if (!isPlain) {
    // Not repeated: there may be a password in it.
    throw new ConfigError('the S3 endpoint is not http(s)://host or http(s)://host:port', {
      hint: `Mend JOBTIDE_S3_ENDPOINT or the endpoint of the pipeline file. ${NOTHING_SENT}`,
    })
  }
  if (pathStyle === false && isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) {
    throw new ConfigError(`path_style: false cannot be used with the address ${url.hostname}`, {
      hint: `A bucket name cannot stand before an IP address: leave path_style out. ${NOTHING_SENT}`,
    })
  }
}
