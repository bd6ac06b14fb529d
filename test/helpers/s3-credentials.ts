/** The credentials of a test's S3 server, where the AWS SDK looks for them. */

import { vi } from 'vitest'
import type { S3Server } from './s3-server.ts'

/** Lets this process sign its requests for `server`, until `vi.unstubAllEnvs()`. */
export function signInTo({
  accessKeyId,
  secretAccessKey,
  region,
}: Pick<S3Server, 'accessKeyId' | 'secretAccessKey' | 'region'>): void {
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey)
  vi.stubEnv('AWS_REGION', region)
}
