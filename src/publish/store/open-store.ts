/** Picks the store that a destination names. The AWS SDK is loaded only where a destination is on S3. */

import { resolve } from 'node:path'
import { openFolderStore } from './folder-store.ts'
import type { ObjectStore, StoreOptions } from './object-store.ts'

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
