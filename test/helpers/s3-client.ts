import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { randomUUID } from 'node:crypto'

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

/** What the environment says of the S3 server that is no part of these tests; empty where it does not. */
export function realServer(name: 'ENDPOINT' | 'REGION' | 'SERVER' | 'KMS_KEY' | KeyName): string {
  return process.env[`JOBTIDE_TEST_S3_${name}`] ?? ''
}

type KeyName = 'ACCESS_KEY_ID' | 'SECRET_ACCESS_KEY'

/** Makes a new bucket on that server. */
export async function realBucket(): Promise<S3Target> {
  const target: S3Target = {
    endpoint: realServer('ENDPOINT'),
    region: realServer('REGION'),
    accessKeyId: realServer('ACCESS_KEY_ID'),
    secretAccessKey: realServer('SECRET_ACCESS_KEY'),
    bucket: `jobtide-${randomUUID()}`,
  }
  const client = s3ClientOf(target)
  await client.send(new CreateBucketCommand({ Bucket: target.bucket }))
  client.destroy()
  return target
}
