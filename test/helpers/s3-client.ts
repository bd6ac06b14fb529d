import { S3Client } from '@aws-sdk/client-s3'

/** Where a bucket is and who may use it. */
export interface S3Target {
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** The real SDK client, set up for `server`. The caller destroys it. */
export function s3ClientOf(server: S3Target): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = server
  const credentials = { accessKeyId, secretAccessKey }
  return new S3Client({ endpoint, region, forcePathStyle: true, credentials })
}
