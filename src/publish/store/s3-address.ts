/** `s3://bucket/prefix`, taken apart. */

import { ConfigError, messageOf } from '../../support/errors.ts'
import { checkKey } from './object-store.ts'

/** A place in a bucket. */
export interface S3Address {
  readonly bucket: string
  /** Empty, or ends in a slash. */
  readonly prefix: string
}

const HINT = 'Write it as s3://bucket or s3://bucket/prefix, with plain names; nothing was sent.'
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/

/** Takes an address apart. @throws ConfigError when it is none, or its prefix is no plain key */
export function parseS3Address(address: string): S3Address {
  const [, bucket, path = ''] = ADDRESS.exec(address) ?? []
  if (bucket === undefined) {
    throw new ConfigError(`${address} is not an S3 address`, { hint: HINT })
  }
  const prefix = path.replace(/\/+$/, '')
  try {
    if (prefix !== '') checkKey(prefix)
  } catch (error) {
    throw new ConfigError(`${address} is not an S3 address: ${messageOf(error)}`, { hint: HINT })
  }
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}
