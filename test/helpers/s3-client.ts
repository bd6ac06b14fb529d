import { S3Client } from '@aws-sdk/client-s3'
import type { S3ClientConfig } from '@aws-sdk/client-s3'
import type { S3Server } from './s3-server.ts'

/** The real SDK client, set up for `server`; `config` overrides. The caller destroys it. */
export function s3ClientOf(server: S3Server, config: S3ClientConfig = {}): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const credentials = { accessKeyId, secretAccessKey }
  return new S3Client({ endpoint, region, forcePathStyle: true, credentials, ...config })
}
