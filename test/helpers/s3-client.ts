import { S3Client } from '@aws-sdk/client-s3'
import type { S3ClientConfig } from '@aws-sdk/client-s3'
import type { S3Target } from './s3-raw-request.ts'

/** The real SDK client, set up for `server`; `config` overrides. The caller destroys it. */
export function s3ClientOf(server: S3Target, config: S3ClientConfig = {}): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const credentials = { accessKeyId, secretAccessKey }
  return new S3Client({ endpoint, region, forcePathStyle: true, credentials, ...config })
}
