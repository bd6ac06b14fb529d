import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { digest } from './s3-checksums.ts'
import { s3ClientOf } from './s3-client.ts'
import type { S3Server, S3ServerOptions } from './s3-server.ts'
import { startS3Server } from './s3-server.ts'

let server: S3Server
let s3: S3Client
const cleanUps: (() => Promise<void> | void)[] = []

async function start(options: S3ServerOptions = {}): Promise<S3Server> {
  const started = await startS3Server(options)
  cleanUps.push(() => started.close())
  return started
}

function clientOf(target: S3Server, config: S3ClientConfig = {}): S3Client {
  const client = s3ClientOf(target, config)
  cleanUps.push(() => client.destroy())
  return client
}

function put(key: string, body: string | Buffer | Readable, more: object = {}) {
  return s3.send(new PutObjectCommand({ Bucket: server.bucket, Key: key, Body: body, ...more }))
}

async function getText(key: string, more: object = {}): Promise<string | undefined> {
  const command = new GetObjectCommand({ Bucket: server.bucket, Key: key, ...more })
  return (await s3.send(command)).Body?.transformToString()
}

beforeEach(async () => {
  server = await start()
  s3 = clientOf(server)
})
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

describe('objects', () => {
  it('gives back body, content type, length, metadata and the MD5 as ETag', async () => {
    const more = { ContentType: 'application/json', Metadata: { sha256: 'abc', 'run-id': '01J' } }
    const { ETag } = await put('a/b c+d.json', Buffer.from('{"n":1}'), more)
    const Key = 'a/b c+d.json'
    const head = await s3.send(new HeadObjectCommand({ Bucket: server.bucket, Key }))
    expect(ETag).toBe(`"${createHash('md5').update('{"n":1}').digest('hex')}"`)
    expect(head).toMatchObject({ ETag, ContentLength: 7, ...more })
    expect(await getText(Key)).toBe('{"n":1}')
    expect(server.objects().get(Key)).toMatchObject({
      body: Buffer.from('{"n":1}'),
      etag: ETag,
      metadata: more.Metadata,
    })
  })

  it('keeps an empty object and one that was replaced', async () => {
    await put('empty', Buffer.alloc(0))
    await put('k', 'first')
    await put('k', 'second')
    expect([await getText('empty'), await getText('k')]).toEqual(['', 'second'])
  })

  it('stores a stream of 200,000 bytes that arrives as aws-chunked with a trailer', async () => {
    const bytes = Buffer.alloc(200_000, 'abc')
    const stream = Readable.from([bytes.subarray(0, 100_000), bytes.subarray(100_000)])
    await put('stream', stream, { ContentLength: bytes.length })
    const stored = server.objects().get('stream')
    expect(stored?.body.equals(bytes)).toBe(true)
    expect(stored?.checksum?.value).toBe(digest('crc32', bytes))
    expect(stored?.headers).not.toHaveProperty('content-encoding')
  })

  it('returns the last 4 bytes for the range bytes=-4', async () => {
    await put('k', '0123456789')
    expect(await getText('k', { Range: 'bytes=-4' })).toBe('6789')
  })

  it('returns the SHA-256 that was sent when the checksum mode is enabled', async () => {
    await put('k', 'x', { ChecksumAlgorithm: 'SHA256' })
    const command = { Bucket: server.bucket, Key: 'k', ChecksumMode: 'ENABLED' } as const
    const head = await s3.send(new HeadObjectCommand(command))
    expect(head.ChecksumSHA256).toBe(digest('sha256', Buffer.from('x')))
  })

  it('lets the client find 1 flipped bit in what it gets', async () => {
    await put('k', 'payload')
    const body = server.objects().get('k')?.body
    body?.writeUInt8((body[0] ?? 0) ^ 1, 0)
    await expect(getText('k')).rejects.toThrow(/checksum mismatch/i)
  })

  it('answers NoSuchKey to GET and NotFound to HEAD for a missing key', async () => {
    const head = new HeadObjectCommand({ Bucket: server.bucket, Key: 'none' })
    await expect(getText('none')).rejects.toMatchObject({ name: 'NoSuchKey' })
    await expect(s3.send(head)).rejects.toMatchObject({ name: 'NotFound' })
  })

  it('answers 304 to a GET with If-None-Match and 412 to one with a stale If-Match', async () => {
    const { ETag } = await put('k', 'x')
    const status = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } })
    await expect(getText('k', { IfNoneMatch: ETag })).rejects.toMatchObject(status(304))
    await expect(getText('k', { IfMatch: '"stale"' })).rejects.toMatchObject(status(412))
    expect(await getText('k', { IfMatch: ETag })).toBe('x')
  })

  it('deletes 1 object, and 3 with one request, missing ones included', async () => {
    for (const key of ['a', 'b&<>\'"', 'c', 'kept']) await put(key, key)
    await s3.send(new DeleteObjectCommand({ Bucket: server.bucket, Key: 'a' }))
    const Objects = ['b&<>\'"', 'c', 'missing'].map((Key) => ({ Key }))
    const command = new DeleteObjectsCommand({ Bucket: server.bucket, Delete: { Objects } })
    expect((await s3.send(command)).Deleted).toEqual(Objects)
    expect([...server.objects().keys()]).toEqual(['kept'])
  })

  it('names no deleted key when asked to be quiet, and refuses 1,001 keys', async () => {
    await put('k', 'x')
    const remove = (Objects: { Key: string }[]) => {
      const Delete = { Objects, Quiet: true }
      return s3.send(new DeleteObjectsCommand({ Bucket: server.bucket, Delete }))
    }
    const tooMany = Array.from({ length: 1001 }, (_, index) => ({ Key: `${index}` }))
    await expect(remove(tooMany)).rejects.toMatchObject({ name: 'MalformedXML' })
    expect((await remove([{ Key: 'k' }])).Deleted).toBeUndefined()
    expect(server.objects().size).toBe(0)
  })

  it('answers 200 to HEAD of its bucket and 404 to that of another', async () => {
    await s3.send(new HeadBucketCommand({ Bucket: server.bucket }))
    await expect(s3.send(new HeadBucketCommand({ Bucket: 'other' }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 404 },
    })
  })
})

describe('listing', () => {
  async function list(input: object): Promise<{ keys: string[]; prefixes: string[] }> {
    const keys: string[] = []
    const prefixes: string[] = []
    const pages = paginateListObjectsV2({ client: s3 }, { Bucket: server.bucket, ...input })
    for await (const page of pages) {
      keys.push(...(page.Contents ?? []).map((object) => object.Key ?? ''))
      prefixes.push(...(page.CommonPrefixes ?? []).map((entry) => entry.Prefix ?? ''))
    }
    return { keys, prefixes }
  }

  it('groups 5 keys under a delimiter into 1 key and 2 common prefixes', async () => {
    for (const key of ['t/a/1', 't/a/2', 't/b/1', 't/c', 'u/1']) await put(key, 'x')
    expect(await list({ Prefix: 't/', Delimiter: '/' })).toEqual({
      keys: ['t/c'],
      prefixes: ['t/a/', 't/b/'],
    })
  })

  it('sorts keys by their UTF-8 bytes and starts after the key asked for', async () => {
    for (const key of ['b', '\u{1F600}', '\uFF5E', 'a', 'ä', 'a\n<b>']) await put(key, 'x')
    expect((await list({ StartAfter: 'a' })).keys).toEqual([
      'a\n<b>',
      'b',
      'ä',
      '\uFF5E',
      '\u{1F600}',
    ])
  })

  it('lists the same keys and prefixes at any page size', async () => {
    const keyOf = fc.array(fc.constantFrom('a', 'b', '/'), { minLength: 1, maxLength: 5 })
    const property = fc.asyncProperty(
      fc.uniqueArray(
        keyOf.map((letters) => `k${letters.join('')}`),
        { maxLength: 8 },
      ),
      fc.integer({ min: 1, max: 4 }),
      async (keys, MaxKeys) => {
        server.reset()
        for (const key of keys) await put(key, 'x')
        for (const input of [{}, { Delimiter: '/' }, { Prefix: 'ka', Delimiter: '/' }]) {
          expect(await list({ ...input, MaxKeys })).toEqual(await list(input))
        }
        expect((await list({ MaxKeys })).keys).toEqual(keys.toSorted())
      },
    )
    await fc.assert(property, { numRuns: 25 })
  })
})

describe('conditional writes', () => {
  const create = { IfNoneMatch: '*' }
  const lost = { name: 'PreconditionFailed', $metadata: { httpStatusCode: 412 } }

  it('creates with If-None-Match: * once and answers 412 to the second', async () => {
    await put('k', 'first', create)
    await expect(put('k', 'second', create)).rejects.toMatchObject(lost)
    expect(await getText('k')).toBe('first')
  })

  it.each([
    ['quoted', (etag: string) => etag],
    ['bare', (etag: string) => etag.slice(1, -1)],
  ])('replaces with the %s current ETag and answers 412 to a stale one', async (_how, spell) => {
    const { ETag = '' } = await put('k', 'first')
    await put('k', 'second', { IfMatch: spell(ETag) })
    await expect(put('k', 'third', { IfMatch: spell(ETag) })).rejects.toMatchObject(lost)
    expect(await getText('k')).toBe('second')
  })

  it('answers 404 to If-Match on a missing key', async () => {
    await expect(put('k', 'x', { IfMatch: '"abc"' })).rejects.toMatchObject({ name: 'NoSuchKey' })
  })

  it('lets exactly 1 of 12 concurrent creators win, and 1 of 12 concurrent replacers', async () => {
    // Every body differs: a second writer of the same bytes would rightly find the ETag it asks for.
    const race = async (name: string, condition: object) => {
      const bodies = Array.from({ length: 12 }, (_, index) => `${name} ${index}`)
      const writers = bodies.map((body) => put('k', body, condition))
      const settled = await Promise.allSettled(writers)
      return settled.filter((result) => result.status === 'fulfilled').length
    }
    expect(await race('creator', create)).toBe(1)
    expect(await race('replacer', { IfMatch: server.objects().get('k')?.etag })).toBe(1)
  })

  it('deletes only what still has the ETag asked for', async () => {
    await put('k', 'x')
    const command = { Bucket: server.bucket, Key: 'k' }
    const stale = new DeleteObjectCommand({ ...command, IfMatch: '"abc"' })
    await expect(s3.send(stale)).rejects.toMatchObject(lost)
    expect(server.objects().size).toBe(1)
  })

  it('ignores all conditions when told to ignore them', async () => {
    server = await start({ ignoreConditions: true })
    s3 = clientOf(server)
    await put('k', 'first', create)
    await put('k', 'second', create)
    await put('k', 'third', { IfMatch: '"stale"' })
    expect(await getText('k')).toBe('third')
  })

  it('accepts only the bare ETag when told to be an old radosgw', async () => {
    server = await start({ bareEtagOnly: true })
    s3 = clientOf(server)
    const { ETag = '' } = await put('k', 'first')
    await expect(put('k', 'second', { IfMatch: ETag })).rejects.toMatchObject(lost)
    await put('k', 'second', { IfMatch: ETag.slice(1, -1) })
    expect(await getText('k')).toBe('second')
  })
})

describe('clients with wrong credentials or clocks', () => {
  it('answers SignatureDoesNotMatch to the SDK with another secret', async () => {
    const credentials = { accessKeyId: server.accessKeyId, secretAccessKey: 'wrong' }
    s3 = clientOf(server, { credentials })
    await expect(put('k', 'x')).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' })
  })

  it('refuses the SDK once when its clock is 20 minutes behind; the SDK then corrects it', async () => {
    server = await start({ clock: { now: () => Date.now() + 20 * 60_000 } })
    s3 = clientOf(server)
    await put('k', 'x')
    expect(server.log().map((entry) => entry.code ?? entry.status)).toEqual([
      'RequestTimeTooSkewed',
      200,
    ])
  })
})
