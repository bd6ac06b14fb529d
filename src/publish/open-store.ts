/** Picks the store that a destination names. The AWS SDK is loaded only where a destination is on S3. */

import { resolve } from 'node:path'
import type { Clock } from '../support/clock.ts'
import { openFolderStore } from './folder-store.ts'
import type { ObjectStore } from './object-store.ts'

/** How to reach a store. */
export interface StoreOptions {
  readonly clock: Clock
  /** Address of an S3-compatible server; absent means AWS. */
  readonly s3Endpoint?: string
}

/**
 * Opens `s3://bucket/prefix` or a folder (absolute; it is made where it is missing).
 * @throws PublishError when the destination cannot be used
 */
export async function openStore(destination: string, options: StoreOptions): Promise<ObjectStore> {
  if (!destination.startsWith('s3://')) return openFolderStore(resolve(destination), options.clock)
  const { openS3Store } = await import('./s3-store.ts')
  return openS3Store(destination, options)
}
