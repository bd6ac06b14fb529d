/**
 * The shared suite on the strict server of these tests; on a real one instead, where JOBTIDE_TEST_S3_ENDPOINT and its
 * companions say which (`test/s3/radosgw.sh` sets them).
 */

import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { randomUUID } from 'node:crypto'
import { afterAll } from 'vitest'
import { s3ClientOf } from '../../helpers/s3-client.ts'
import type { S3Target } from '../../helpers/s3-raw-request.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { deviationsOf } from '../../s3/deviations.ts'
import { describeConformance, type ServerUnderTest } from './store-conformance.ts'

const endpoint = process.env['JOBTIDE_TEST_S3_ENDPOINT']
const setting = (name: string) => process.env[`JOBTIDE_TEST_S3_${name}`] ?? ''

describeConformance(endpoint === undefined ? strictServer() : realServer(endpoint))

function strictServer(): ServerUnderTest {
  const servers: S3Server[] = []
  afterAll(async () => {
    for (const server of servers) await server.close()
  })
  return {
    name: 'the strict server',
    kmsKeyId: 'test-key',
    deviations: {},
    async newBucket() {
      const server = await startS3Server()
      servers.push(server)
      return server
    },
  }
}

function realServer(address: string): ServerUnderTest {
  const name = setting('SERVER')
  const account = {
    endpoint: address,
    region: setting('REGION'),
    accessKeyId: setting('ACCESS_KEY_ID'),
    secretAccessKey: setting('SECRET_ACCESS_KEY'),
  }
  return {
    name,
    kmsKeyId: setting('KMS_KEY'),
    deviations: deviationsOf(name),
    async newBucket() {
      const target: S3Target = { ...account, bucket: `jobtide-${randomUUID()}` }
      const client = s3ClientOf(target)
      await client.send(new CreateBucketCommand({ Bucket: target.bucket }))
      client.destroy()
      return target
    },
  }
}
