/** Picks the store that a destination names. The AWS SDK is loaded only where a destination is on S3. */

import { resolve } from 'node:path'
import { openFolderStore } from './folder-store.ts'
import type { ObjectStore, StoreOptions } from './object-store.ts'
import { parseS3Address } from './s3-options.ts'

/** Whether a destination, or a snapshot in one, is on a disk of this machine. */
export function isFolderAddress(destination: string): boolean {
  return !destination.startsWith('s3://')
}

/** Opens `s3://bucket/prefix` or a folder. */
export async function openStore(destination: string, options: StoreOptions): Promise<ObjectStore> {
  if (isFolderAddress(destination)) {
    const { clock, access, modes } = options
    return openFolderStore(resolve(destination), clock, access, modes)
  }
  const { openS3Store } = await import('./s3-store.ts')
  return openS3Store(destination, options)
}

/** An address as stores name it: without a slash at its end. */
export function withoutSlash(address: string): string {
  return address.replace(/(?<=.)\/+$/, '')
}

/**
 * An s3:// address as it is, a folder made absolute from `base`; null for what is neither.
 * @throws ConfigError for an s3:// address that is misspelt
 */
export function absoluteAddress(address: string, base: string): string | null {
  if (!isFolderAddress(address)) {
    parseS3Address(address)
    return address
  }
  const isOther = address.trim() === '' || /^[a-z][a-z0-9+.-]+:\//i.test(address)
  return isOther ? null : resolve(base, address)
}
