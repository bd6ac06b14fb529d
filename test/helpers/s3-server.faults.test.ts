import { setTimeout as pause } from 'node:timers/promises'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { s3ClientOf } from './s3-client.ts'
import type { FaultStatus } from './s3-faults.ts'
import type { S3Server } from './s3-server.ts'
import { startS3Server } from './s3-server.ts'

let server: S3Server
let s3: S3Client

beforeAll(async () => {
  server = await startS3Server()
  // One attempt: what a fault does is seen, not what the SDK makes of it.
  s3 = s3ClientOf(server, { maxAttempts: 1 })
})
beforeEach(() => server.reset())
afterAll(async () => {
  s3.destroy()
  await server.close()
})

const put = (Key: string, Body = 'x') =>
  s3.send(new PutObjectCommand({ Bucket: server.bucket, Key, Body }))
const statuses = () => server.log().map((entry) => entry.status)

describe('faults', () => {
  it.each([
    [403, 'AccessDenied'],
    [409, 'ConditionalRequestConflict'],
    [500, 'InternalError'],
    [503, 'SlowDown'],
  ] as [FaultStatus, string][])('answers %i %s and stores nothing', async (status, name) => {
    server.setFaults([{ operation: 'PutObject', action: 'status', status }])
    await expect(put('k')).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } })
    expect(server.objects().size).toBe(0)
  })

  it('hits the 2nd and 3rd PUT of keys with "data/" and no other request', async () => {
    server.setFaults([
      { operation: 'PutObject', key: 'data/', nth: 2, times: 2, action: 'status', status: 503 },
    ])
    const keys = ['data/1', 'other', 'data/2', 'data/3', 'data/4']
    for (const key of keys) await put(key).catch(() => undefined)
    expect([...server.objects().keys()]).toEqual(['data/1', 'other', 'data/4'])
    expect(statuses()).toEqual([200, 200, 503, 503, 200])
  })

  it('breaks off in the middle of the body of a GET, once', async () => {
    await put('k', 'x'.repeat(100_000))
    server.setFaults([{ operation: 'GetObject', action: 'cut' }])
    const get = async () => {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: server.bucket, Key: 'k' }))
      return Body?.transformToByteArray()
    }
    await expect(get()).rejects.toThrow(/aborted|terminated|reset/i)
    expect(await get()).toHaveLength(100_000)
  })

  it('refuses 1 of 2 keys of a removal in an answer of 200', async () => {
    await put('a')
    await put('b')
    const code = 'AccessDenied'
    server.setFaults([{ operation: 'DeleteObjects', action: 'refuse-keys', failing: 'a', code }])
    const Delete = { Objects: [{ Key: 'a' }, { Key: 'b' }], Quiet: true }
    const answer = await s3.send(new DeleteObjectsCommand({ Bucket: server.bucket, Delete }))
    expect(answer.Errors).toMatchObject([{ Key: 'a', Code: code }])
    expect([...server.objects().keys()]).toEqual(['a'])
  })

  it('resets the connection without storing anything', async () => {
    server.setFaults([{ operation: 'PutObject', action: 'reset' }])
    await expect(put('k')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.objects().size).toBe(0)
    expect(statuses()).toEqual([0])
  })

  it('stores the object, then resets the connection', async () => {
    server.setFaults([{ operation: 'PutObject', action: 'reset-after-commit' }])
    await expect(put('k', 'stored')).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.objects().get('k')?.body.toString()).toBe('stored')
    expect(statuses()).toEqual([0])
  })

  it('delays the answer by 80 ms and then gives it', async () => {
    await put('k')
    server.setFaults([{ operation: 'GetObject', action: 'slow', delayMs: 80 }])
    const startedMs = performance.now()
    const got = await s3.send(new GetObjectCommand({ Bucket: server.bucket, Key: 'k' }))
    expect(await got.Body?.transformToString()).toBe('x')
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(78)
  })

  it('answers 200 with an error to a completion, stores nothing, and completes the next time', async () => {
    server.setFaults([{ operation: 'CompleteMultipartUpload', action: 'error-in-200' }])
    const target = { Bucket: server.bucket, Key: 'big' }
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: 'CRC32' }),
    )
    const part = await s3.send(
      new UploadPartCommand({ ...target, UploadId, PartNumber: 1, Body: 'x' }),
    )
    const Parts = [{ PartNumber: 1, ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32 }]
    const complete = () =>
      s3.send(
        new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }),
      )
    await expect(complete()).rejects.toMatchObject({ name: 'InternalError' })
    expect([server.objects().size, server.uploads().length]).toEqual([0, 1])
    expect(server.log().at(-1)).toMatchObject({ status: 200, code: 'InternalError' })
    await complete()
    expect([server.objects().size, server.uploads().length]).toEqual([1, 0])
  })
})

describe('what tests can look at', () => {
  it('logs operation, key, status, code and bytes of 3 requests in order', async () => {
    const get = (Key: string) => s3.send(new GetObjectCommand({ Bucket: server.bucket, Key }))
    await put('a', 'four')
    await (await get('a')).Body?.transformToString()
    await expect(get('none')).rejects.toThrow('does not exist')
    expect(server.log()).toEqual([
      { operation: 'PutObject', key: 'a', status: 200, code: undefined, bytes: 4 },
      { operation: 'GetObject', key: 'a', status: 200, code: undefined, bytes: 4 },
      expect.objectContaining({ operation: 'GetObject', status: 404, code: 'NoSuchKey' }),
    ])
  })

  it('gives copies of objects and log that later requests do not change', async () => {
    await put('a')
    const [objects, log] = [server.objects(), server.log()]
    await put('b')
    expect([objects.size, log.length]).toEqual([1, 1])
  })

  it('forgets objects, uploads, log and faults on reset', async () => {
    await put('a')
    await s3.send(new CreateMultipartUploadCommand({ Bucket: server.bucket, Key: 'big' }))
    server.setFaults([{ operation: 'PutObject', action: 'status', status: 500 }])
    server.reset()
    expect([server.objects().size, server.uploads().length, server.log().length]).toEqual([0, 0, 0])
    await put('a')
    expect(statuses()).toEqual([200])
  })

  it('drops an answer that is held back when it closes, stores nothing later, and closes twice', async () => {
    const other = await startS3Server()
    other.setFaults([{ operation: 'PutObject', action: 'slow', delayMs: 200 }])
    const client = s3ClientOf(other, { maxAttempts: 1 })
    const command = new PutObjectCommand({ Bucket: other.bucket, Key: 'k', Body: 'x' })
    const failed = expect(client.send(command)).rejects.toThrow()
    await pause(50)
    await other.close()
    await other.close()
    await failed
    await pause(250)
    expect([other.objects().size, other.log().length]).toEqual([0, 0])
    client.destroy()
  })
})
