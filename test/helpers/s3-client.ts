/** How tests reach an S3 server. */

import { CreateBucketCommand, PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3'
import { randomUUID } from 'node:crypto'
import { vi } from 'vitest'

/** The address of a bucket and its credentials. */
export interface S3Target {
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** The SDK's own client for a server. The caller destroys it. */
export function s3ClientOf(target: S3Target): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = target
  const credentials = { accessKeyId, secretAccessKey }
  return new S3Client({ endpoint, region, forcePathStyle: true, credentials })
}

/** Lets this process sign its requests for a server, until `vi.unstubAllEnvs()`. */
export function signInTo({ accessKeyId, secretAccessKey, region }: S3Target): void {
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey)
  vi.stubEnv('AWS_REGION', region)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
}

/** Makes the bucket keep old versions. */
export async function keepVersions(client: S3Client, Bucket: string): Promise<void> {
  const VersioningConfiguration = { Status: 'Enabled' as const }
  await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
}

/** The real S3 server that the environment names; empty if it names none. */
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
