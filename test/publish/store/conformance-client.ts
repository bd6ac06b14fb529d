/** Shared suite: how its parts ask a server, and what they look at in a refusal. */

import type { S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll } from 'vitest'
import { s3ClientOf } from '../../helpers/s3-client.ts'
import type { S3Target } from '../../helpers/s3-raw-request.ts'

/** What an answer or refusal of the SDK with this HTTP status has in it. */
export const status = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } })

/** The HTTP status of a refusal; 0 where none arrived. */
export function statusOf(refusal: { $metadata?: { httpStatusCode?: number } }): number {
  return refusal.$metadata?.httpStatusCode ?? 0
}

/** The SDK's client of a bucket, one attempt for each request, for as long as one part of the suite lasts. */
export function clientOf(target: () => S3Target): () => S3Client {
  let client: S3Client | undefined
  beforeAll(() => {
    client = s3ClientOf(target(), { maxAttempts: 1 })
  })
  afterAll(() => client?.destroy())
  return () => {
    if (client === undefined) throw new Error('there is no client before the first check')
    return client
  }
}
