/** Downloads, removals, versions and options of the S3 store, where something goes wrong. What it does otherwise is in the shared suite. */

import {
  CreateMultipartUploadCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { StoreOptions } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import type { S3Options } from '../../../src/publish/store/object-store.ts'
import { realClock, type Clock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { DAY, MIB } from '../../../src/support/units.ts'
import { s3ClientOf } from '../../helpers/s3-client.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { newFolder } from '../fixtures.ts'

// Pauses between attempts take no time.
const clock: Clock = { ...realClock, sleep: async (_ms, signal) => signal?.throwIfAborted() }

let server: S3Server
let s3: S3Client

beforeEach(async () => {
  server = await startS3Server()
  s3 = s3ClientOf(server)
  signInTo(server)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  s3.destroy()
  await server.close()
})

const open = (s3Options: S3Options = {}, more: Partial<StoreOptions> = {}) =>
  openStore(`s3://${server.bucket}/root`, {
    clock,
    s3: { endpoint: server.endpoint, ...s3Options },
    ...more,
  })
const requests = (operation: string) =>
  server.log().filter((entry) => entry.operation === operation).length

describe('a download', () => {
  async function stored(bytes: number) {
    const store = await open()
    const content = randomBytes(bytes)
    await store.put('data', content)
    const folder = newFolder()
    return { store, content, folder, path: join(folder, 'copy') }
  }

  it('of 3 MiB begins again when the connection breaks in the middle, 3 times', async () => {
    const { store, content, path } = await stored(3 * MIB)
    server.setFaults([{ operation: 'GetObject', action: 'cut', times: 3 }])
    expect(await store.download('data', path)).toBe(true)
    expect(readFileSync(path).equals(content)).toBe(true)
    expect(requests('GetObject')).toBe(4)
  })

  it('gives up after 4 cut answers and leaves no file', async () => {
    const { store, folder, path } = await stored(3 * MIB)
    server.setFaults([{ operation: 'GetObject', action: 'cut', times: 99 }])
    await expect(store.download('data', path)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: `s3://${server.bucket}/root/data could not be read to its end`,
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it('with 1 flipped bit is found by the checksum and leaves no file', async () => {
    const { store, folder, path } = await stored(1_000)
    const body = server.objects().get('root/data')?.body
    body?.writeUInt8((body[0] ?? 0) ^ 1, 0)
    await expect(store.download('data', path)).rejects.toMatchObject({
      hint: expect.stringMatching(/checksum mismatch/i),
    })
    expect(readdirSync(folder)).toEqual([])
    await expect(store.get('data')).rejects.toMatchObject({ exitCode: EXIT.publishFailed })
  })

  it('replaces an older file at once', async () => {
    const { store, content, path } = await stored(1_000)
    writeFileSync(path, 'older')
    await store.download('data', path)
    expect(readFileSync(path).equals(content)).toBe(true)
  })

  it('stops when it is told to, with the reason, and leaves no file', async () => {
    const { store, folder, path } = await stored(1_000)
    server.setFaults([{ operation: 'GetObject', action: 'slow', delayMs: 5_000 }])
    const stop = new AbortController()
    const reason = new Error('stopped by SIGTERM')
    setTimeout(() => stop.abort(reason), 100)
    await expect(store.download('data', path, stop.signal)).rejects.toBe(reason)
    expect(readdirSync(folder)).toEqual([])
  })

  it('into a folder that is not there says so with exit 9, after 1 request', async () => {
    const { store, folder } = await stored(1_000)
    const path = join(folder, 'none', 'copy')
    await expect(store.download('data', path)).rejects.toMatchObject({
      exitCode: EXIT.storage,
      message: expect.stringContaining(`${path} cannot be written`),
    })
    expect(requests('GetObject')).toBe(1)
  })
})

describe('a removal', () => {
  const fiveObjects = async () => {
    const store = await open()
    const keys = Array.from({ length: 5 }, (_, index) => `k${index}`)
    for (const key of keys) await store.put(key, Buffer.from(key))
    return { store, keys }
  }

  it('asks again for the 2 of 5 keys that met an internal error, and for no others', async () => {
    const { store, keys } = await fiveObjects()
    const code = 'InternalError'
    server.setFaults([
      { operation: 'DeleteObjects', action: 'refuse-keys', failing: 'k1', code, times: 2 },
      { operation: 'DeleteObjects', action: 'refuse-keys', failing: 'k3', code },
    ])
    const before = requests('DeleteObjects')
    await store.remove(keys)
    expect(requests('DeleteObjects') - before).toBe(3)
    expect(await store.list('')).toEqual([])
  })

  it('says which of 5 keys it may not remove, having removed the others', async () => {
    const { store, keys } = await fiveObjects()
    const code = 'AccessDenied'
    server.setFaults([
      { operation: 'DeleteObjects', action: 'refuse-keys', failing: 'k3', code, times: 99 },
    ])
    await expect(store.remove(keys)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: `s3://${server.bucket}/root/k3 could not be removed (AccessDenied)`,
      hint: expect.stringContaining('s3:DeleteObject'),
    })
    expect((await store.list('')).map(({ key }) => key)).toEqual(['k3'])
  })

  it('survives a 503 and a reset after the work was done', async () => {
    const { store, keys } = await fiveObjects()
    server.setFaults([
      { operation: 'DeleteObjects', action: 'status', status: 503 },
      { operation: 'DeleteObjects', nth: 2, action: 'reset-after-commit' },
    ])
    await store.remove(keys)
    expect(await store.list('')).toEqual([])
  })
})

describe('a listing', () => {
  it('tells 2,300 objects in 3 pages', async () => {
    const store = await open()
    for (let index = 0; index < 2_300; index += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, at) => {
          const put = { Bucket: server.bucket, Key: `root/many/${index + at}`, Body: 'x' }
          return s3.send(new PutObjectCommand(put))
        }),
      )
    }
    const before = requests('ListObjectsV2')
    const found = await store.list('many/')
    expect(new Set(found.map(({ key }) => key)).size).toBe(2_300)
    expect(requests('ListObjectsV2') - before).toBe(3)
  })

  // A part of a listing that passes for all of it would let garbage collection delete what the rest names.
  it('that comes to no end is refused after 2 requests', async () => {
    let asked = 0
    const page = `<ListBucketResult><IsTruncated>true</IsTruncated>
      <NextContinuationToken>again</NextContinuationToken></ListBucketResult>`
    const loop = createServer((_request, answer) => {
      asked += 1
      answer.setHeader('content-type', 'application/xml').end(page)
    }).listen(0, '127.0.0.1')
    await once(loop, 'listening')
    const { port } = loop.address() as AddressInfo
    const store = await open({ endpoint: `http://127.0.0.1:${port}` }, { access: 'read' })
    await expect(store.list('')).rejects.toThrow('does not end: it repeats a page')
    expect(asked).toBe(2)
    loop.closeAllConnections()
    loop.close()
  })
})

describe('a purge', () => {
  const keepVersions = () =>
    s3.send(
      new PutBucketVersioningCommand({
        Bucket: server.bucket,
        VersioningConfiguration: { Status: 'Enabled' },
      }),
    )

  it('takes 1,200 old versions of a pointer in 2 pages and keeps the last', async () => {
    await keepVersions()
    const store = await open()
    await store.purge({ versions: true, uploadsBegunBefore: 0 })
    let version: string | null = null
    for (let count = 0; count <= 1_200; count += 1) {
      await store.replace('latest.json', Buffer.from(String(count)), version)
      version = server.objects().get('root/latest.json')?.etag ?? null
    }
    const before = requests('ListObjectVersions')
    expect(await store.purge({ versions: true, uploadsBegunBefore: 0 })).toBeGreaterThanOrEqual(
      1_200,
    )
    expect(requests('ListObjectVersions') - before).toBe(2)
    expect(server.versionsOf('root/latest.json').map(({ object }) => String(object?.body))).toEqual(
      ['1200'],
    )
  })

  it('that cannot remove an old version keeps the marker, so that nothing comes back', async () => {
    await keepVersions()
    const store = await open()
    await store.put('person', Buffer.from('name'))
    await store.remove(['person'])
    const refuse = { operation: 'DeleteObjects', action: 'refuse-keys', times: 99 } as const
    server.setFaults([{ ...refuse, failing: 'person', code: 'AccessDenied' }])
    await expect(store.purge({ versions: true, uploadsBegunBefore: 0 })).rejects.toThrow(
      'person could not be removed (AccessDenied)',
    )
    expect(await store.get('person')).toBeNull()
    expect(server.versionsOf('root/person')).toHaveLength(2)
  })

  it('asks again for the version, never for the object, after an internal error', async () => {
    await keepVersions()
    const store = await open()
    await store.purge({ versions: true, uploadsBegunBefore: 0 })
    await store.replace('latest.json', Buffer.from('1'), null)
    const { version = null } = (await store.get('latest.json')) ?? {}
    await store.replace('latest.json', Buffer.from('2'), version)
    const refuse = { operation: 'DeleteObjects', action: 'refuse-keys', times: 2 } as const
    server.setFaults([{ ...refuse, failing: 'latest.json', code: 'InternalError' }])
    expect(await store.purge({ versions: true, uploadsBegunBefore: 0 })).toBe(1)
    expect(String((await store.get('latest.json'))?.bytes)).toBe('2')
    expect(server.versionsOf('root/latest.json')).toHaveLength(1)
  })

  it('leaves an upload of today and takes one that was begun 2 days ago', async () => {
    await server.close()
    let storageTime = realClock.now() - 2 * DAY
    server = await startS3Server({ storageClock: { now: () => storageTime } })
    s3.destroy()
    s3 = s3ClientOf(server)
    const begin = (Key: string) =>
      s3.send(new CreateMultipartUploadCommand({ Bucket: server.bucket, Key }))
    await begin('root/old')
    storageTime = realClock.now()
    await begin('root/new')
    const store = await open()
    expect(await store.purge({ versions: true, uploadsBegunBefore: realClock.now() - DAY })).toBe(1)
    expect(server.uploads().map(({ key }) => key)).toEqual(['root/new'])
  })
})

describe('options', () => {
  it('put encryption on every object, and the storage class on data alone', async () => {
    const store = await open({ sse: 'aws:kms', kmsKeyId: 'test-key', storageClass: 'STANDARD_IA' })
    const file = join(newFolder(), 'large')
    writeFileSync(file, randomBytes(17 * MIB))
    await store.put('small', Buffer.from('x'))
    await store.putFile('large', file)
    await store.replace('latest.json', Buffer.from('1'), null)
    const encryption = { algorithm: 'aws:kms', kmsKeyId: 'test-key' }
    expect(
      [...server.objects()].map(([key, object]) => [key, object.encryption, object.storageClass]),
    ).toEqual([
      ['root/small', encryption, 'STANDARD_IA'],
      ['root/large', encryption, 'STANDARD_IA'],
      ['root/latest.json', encryption, 'STANDARD'],
    ])
  })

  it('ask for no encryption and no class where nothing is said', async () => {
    const store = await open()
    await store.put('small', Buffer.from('x'))
    expect(server.objects().get('root/small')).toMatchObject({
      encryption: undefined,
      storageClass: 'STANDARD',
    })
  })

  it('name a key that there is not: the first request says so', async () => {
    await expect(open({ sse: 'aws:kms', kmsKeyId: 'other-key' })).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringContaining('400 KMS.NotFoundException'),
    })
  })

  it('give way to an endpoint of the environment', async () => {
    const nowhere = { endpoint: 'http://127.0.0.1:9' }
    const store = await open(nowhere, { s3Endpoint: server.endpoint })
    await store.put('a', Buffer.from('x'))
  })

  it('name a region, which wins over AWS_REGION', async () => {
    vi.stubEnv('AWS_REGION', 'mars-1')
    const store = await open({ region: server.region })
    await store.put('a', Buffer.from('x'))
  })

  it.each<[string, S3Options]>([
    ['kms_key_id is given, but sse is none', { kmsKeyId: 'k' }],
    ['kms_key_id is given, but sse is AES256', { kmsKeyId: 'k', sse: 'AES256' }],
    ['"standard" is not a storage class', { storageClass: 'standard' }],
    ['class DEEP_ARCHIVE cannot be read at once', { storageClass: 'DEEP_ARCHIVE' }],
    ['class GLACIER cannot be read at once', { storageClass: 'GLACIER' }],
    ['the S3 endpoint is not http(s)', { endpoint: 'minio:9000' }],
    ['the S3 endpoint is not http(s)', { endpoint: 'https://user:secret@host' }],
    ['the S3 endpoint is not http(s)', { endpoint: 'https://host/path' }],
    ['path_style: false cannot be used with the address 127.0.0.1', { pathStyle: false }],
  ])('are refused before anything is sent: %s', async (message, options) => {
    const error = (await open(options).catch((reason: unknown) => reason)) as Error
    expect(error).toMatchObject({ exitCode: EXIT.usage, message: expect.stringContaining(message) })
    expect(JSON.stringify(error) + error.message).not.toContain('secret')
    expect(server.log()).toEqual([])
  })
})

describe('a store that is opened to read', () => {
  it('sends no write, and reads what is there', async () => {
    await (await open()).put('a', Buffer.from('abc'))
    const writes = requests('PutObject')
    const store = await open({}, { access: 'read' })
    expect(String((await store.get('a'))?.bytes)).toBe('abc')
    expect(requests('PutObject')).toBe(writes)
  })

  it('is no folder that is not there, and makes none', async () => {
    const path = join(newFolder(), 'none')
    await expect(openStore(path, { clock, access: 'read' })).rejects.toThrow(
      `there is no folder ${path}`,
    )
    expect(existsSync(path)).toBe(false)
  })
})
