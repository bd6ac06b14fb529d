/** Picks the store that a destination names. The AWS SDK is loaded only where a destination is on S3. */

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { ConfigError, messageOf } from '../../support/errors.ts'
import { isUnexpanded, withoutCredentials, withoutTrailingSlashes } from '../../support/text.ts'
import { openFolderStore } from './folder-store.ts'
import {
  checkKey,
  type ObjectStore,
  type S3Address,
  type S3Options,
  type StoreOptions,
} from './object-store.ts'

export function isFolderAddress(destination: string): boolean {
  return !destination.startsWith('s3://')
}

/** @throws ConfigError if something is misspelt: nothing was sent; PublishError if it cannot be reached or written */
export async function openStore(destination: string, options: StoreOptions): Promise<ObjectStore> {
  const { clock, access, modes, s3 = {}, s3Endpoint: endpoint = s3.endpoint } = options
  if (isFolderAddress(destination))
    return openFolderStore(resolve(destination), clock, access, modes)
  const s3Options = { ...s3, endpoint }
  checkS3Options(s3Options)
  const { openS3Store } = await import('./s3-store.ts')
  return openS3Store(parseS3Address(destination), s3Options, clock, access)
}

/** An address as stores name it: without a slash at its end. */
export function withoutSlash(address: string): string {
  return address.replace(/(?<=.)\/+$/, '')
}

/** An s3:// address as it is, a folder made absolute from `base`; null for others. @throws ConfigError if misspelt */
export function absoluteAddress(address: string, base: string): string | null {
  if (!isFolderAddress(address)) {
    parseS3Address(address)
    return address
  }
  const isOther = address.trim() === '' || /^[a-z][a-z0-9+.-]+:\//i.test(address)
  return isOther || isUnexpanded(address) ? null : resolve(base, address)
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/
// Objects of these classes are readable only hours after a request for them.
const ARCHIVES = ['GLACIER', 'DEEP_ARCHIVE']

/** @throws ConfigError when it is no `s3://bucket/prefix`, or its prefix is not a plain key */
export function parseS3Address(address: string): S3Address {
  const hint = 'Write it as s3://bucket or s3://bucket/prefix, with plain names. Nothing was sent.'
  const [, bucket, path = ''] = ADDRESS.exec(address) ?? []
  if (bucket === undefined)
    throw new ConfigError(`${withoutCredentials(address)} is not an S3 address`, { hint })
  const prefix = withoutTrailingSlashes(path)
  try {
    if (prefix !== '') checkKey(prefix)
  } catch (error) {
    throw new ConfigError(`${address} is not an S3 address: ${messageOf(error)}`, { hint })
  }
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` }
}

/** Accepts only options that fit together. @throws ConfigError naming the first that does not */
export function checkS3Options(options: S3Options): void {
  const { endpoint, kms_key_id: key, sse = 'none', storage_class: storageClass } = options
  const refuse = (what: string, advice: string) => {
    throw new ConfigError(what, { hint: `${advice} Nothing was sent.` })
  }
  if (key !== undefined && sse !== 'aws:kms')
    refuse(`kms_key_id is given, but sse is ${sse}`, 'Set sse: aws:kms, or leave kms_key_id out.')
  if (storageClass !== undefined && !/^[A-Z][A-Z0-9_-]*$/.test(storageClass)) {
    const what = `${JSON.stringify(storageClass)} is not a storage class`
    refuse(what, 'Such as STANDARD_IA or INTELLIGENT_TIERING.')
  }
  if (storageClass !== undefined && ARCHIVES.includes(storageClass)) {
    const what = `objects of the storage class ${storageClass} cannot be read at once`
    refuse(what, 'Use GLACIER_IR, STANDARD_IA or INTELLIGENT_TIERING.')
  }
  if (endpoint === undefined) return
  const host = plainHost(endpoint)
  if (host === null) {
    // Not repeated: it may hold a password.
    const what = 'the S3 endpoint is not http(s)://host or http(s)://host:port'
    return refuse(what, 'Fix JOBTIDE_S3_ENDPOINT or the endpoint of the pipeline file.')
  }
  if (options.path_style === false && isIP(host.replace(/^\[|\]$/g, '')) !== 0) {
    const what = `path_style: false cannot be used with the address ${host}`
    refuse(what, 'A bucket name cannot stand before an IP address: leave path_style out.')
  }
}

/** The host of an endpoint that has a scheme, a host and perhaps a port, and nothing else; null for any other. */
function plainHost(endpoint: string): string | null {
  if (!URL.canParse(endpoint)) return null
  const { protocol, username, password, search, hash, pathname, hostname } = new URL(endpoint)
  const isPlain = `${username}${password}${search}${hash}` === '' && pathname === '/'
  return /^https?:$/.test(protocol) && isPlain ? hostname : null
}
