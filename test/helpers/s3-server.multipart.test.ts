import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { compositeDigest, digest } from './s3-checksums.ts'
import { s3ClientOf } from './s3-client.ts'
import type { S3Server } from './s3-server.ts'
import { startS3Server } from './s3-server.ts'

const MIB = 1024 * 1024
const PART = Buffer.alloc(5 * MIB, 'p')

let server: S3Server
let s3: S3Client

beforeAll(async () => {
  server = await startS3Server()
  s3 = s3ClientOf(server)
})
beforeEach(() => server.reset())
afterAll(async () => {
  s3.destroy()
  await server.close()
})

describe('multipart uploads', () => {
  const target = () => ({ Bucket: server.bucket, Key: 'big' })

  async function open(bodies: readonly Buffer[]) {
    const created = { ...target(), ChecksumAlgorithm: 'CRC32' } as const
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(created))
    const upload = { ...target(), UploadId }
    const Parts = []
    for (const [index, Body] of bodies.entries()) {
      const part = { ...upload, PartNumber: index + 1, Body }
      const { ETag, ChecksumCRC32 } = await s3.send(new UploadPartCommand(part))
      Parts.push({ ETag, ChecksumCRC32, PartNumber: index + 1 })
    }
    return { upload, Parts }
  }

  function complete(upload: { UploadId: string | undefined }, Parts: object[], more: object = {}) {
    const input = { ...target(), ...upload, MultipartUpload: { Parts }, ...more }
    return s3.send(new CompleteMultipartUploadCommand(input))
  }

  it.each(['CRC32', 'SHA256', undefined] as const)(
    'stores 12 MiB that Upload sends in 3 parts with the checksum %s',
    async (ChecksumAlgorithm) => {
      const client = s3ClientOf(server, {
        requestChecksumCalculation: ChecksumAlgorithm ? 'WHEN_SUPPORTED' : 'WHEN_REQUIRED',
      })
      const bytes = Buffer.concat([PART, PART, PART.subarray(0, 2 * MIB)])
      const params = {
        ...target(),
        Body: Readable.from([bytes]),
        ContentType: 'application/vnd.apache.parquet',
        Metadata: { rows: '9' },
        ...(ChecksumAlgorithm && { ChecksumAlgorithm }),
      }
      await new Upload({ client, params }).done()
      client.destroy()
      const stored = server.objects().get('big')
      expect(stored?.body.equals(bytes)).toBe(true)
      expect(stored?.etag).toMatch(/^"[0-9a-f]{32}-3"$/)
      expect(stored?.headers['content-type']).toBe(params.ContentType)
      expect(stored?.metadata).toEqual({ rows: '9' })
      expect(stored?.checksum?.algorithm).toBe(ChecksumAlgorithm?.toLowerCase())
      expect(server.uploads()).toEqual([])
      expect(server.log().filter((entry) => entry.operation === 'UploadPart')).toHaveLength(3)
    },
  )

  it('returns the checksum of the 2 part checksums', async () => {
    const { upload, Parts } = await open([PART, Buffer.from('end')])
    const sums = [PART, Buffer.from('end')].map((part) => digest('crc32', part))
    const completed = await complete(upload, Parts)
    expect(completed.ChecksumCRC32).toBe(compositeDigest('crc32', sums))
    expect(completed.ChecksumCRC32).toMatch(/-2$/)
  })

  it('refuses a completion that expects 4 bytes of an upload of 3', async () => {
    const { upload, Parts } = await open([Buffer.from('end')])
    await expect(complete(upload, Parts, { MpuObjectSize: 4 })).rejects.toMatchObject({
      name: 'InvalidRequest',
    })
    await complete(upload, Parts, { MpuObjectSize: 3 })
    expect(server.objects().get('big')?.body.toString()).toBe('end')
  })

  it('verifies the CRC-32 of the whole object when the type is FULL_OBJECT', async () => {
    const whole = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const
    const created = new CreateMultipartUploadCommand({ ...target(), ...whole })
    const { UploadId } = await s3.send(created)
    const part = { ...target(), UploadId, PartNumber: 1, Body: 'x' }
    const { ETag } = await s3.send(new UploadPartCommand(part))
    const finish = (text: string) =>
      complete({ UploadId }, [{ PartNumber: 1, ETag }], {
        ChecksumCRC32: digest('crc32', Buffer.from(text)),
        ChecksumType: 'FULL_OBJECT',
      })
    await expect(finish('y')).rejects.toMatchObject({ name: 'BadDigest' })
    expect((await finish('x')).ChecksumType).toBe('FULL_OBJECT')
  })

  it.each([
    ['EntityTooSmall', 'a first part under 5 MiB', PART.subarray(1), (parts: object[]) => parts],
    ['InvalidPartOrder', 'parts out of order', PART, (parts: object[]) => parts.toReversed()],
    [
      'InvalidPart',
      'another ETag',
      PART,
      ([first, second]: object[]) => [first ?? {}, { ...second, ETag: '"abc"' }],
    ],
    [
      'InvalidPart',
      'the checksum of another part',
      PART,
      ([first, second]: object[]) => [
        first ?? {},
        { ...second, ChecksumCRC32: digest('crc32', PART) },
      ],
    ],
    [
      'InvalidPart',
      'a part that was not sent',
      PART,
      (parts: object[]) => [...parts, { ...parts[1], PartNumber: 3 }],
    ],
    [
      'InvalidRequest',
      'a part without its checksum',
      PART,
      ([first, second]: object[]) => [{ ...first, ChecksumCRC32: undefined }, second ?? {}],
    ],
    ['MalformedXML', 'no parts', PART, () => []],
  ])(
    'answers %s to a completion with %s and keeps the upload',
    async (name, _what, first, edit) => {
      const { upload, Parts } = await open([first, Buffer.from('end')])
      await expect(complete(upload, edit(Parts))).rejects.toMatchObject({ name })
      expect(server.objects().size).toBe(0)
      expect(server.uploads()).toHaveLength(1)
    },
  )

  it.each(['CRC32', undefined] as const)(
    'refuses a part with a SHA-256 in an upload that was created with the algorithm %s',
    async (ChecksumAlgorithm) => {
      const created = { ...target(), ...(ChecksumAlgorithm && { ChecksumAlgorithm }) }
      const { UploadId } = await s3.send(new CreateMultipartUploadCommand(created))
      const input = { ...target(), UploadId, PartNumber: 1, Body: 'x' }
      const part = new UploadPartCommand({ ...input, ChecksumAlgorithm: 'SHA256' })
      await expect(s3.send(part)).rejects.toThrow('Checksum Type mismatch occurred')
    },
  )

  it('answers NoSuchUpload to a part sent under another key than the upload was created for', async () => {
    const { upload } = await open([])
    const part = new UploadPartCommand({ ...upload, Key: 'other', PartNumber: 1, Body: 'x' })
    await expect(s3.send(part)).rejects.toMatchObject({ name: 'NoSuchUpload' })
  })

  it('answers 412 to a conditional completion over an object, and NoSuchUpload to a second one', async () => {
    await s3.send(new PutObjectCommand({ ...target(), Body: 'first' }))
    const { upload, Parts } = await open([Buffer.from('second')])
    await expect(complete(upload, Parts, { IfNoneMatch: '*' })).rejects.toMatchObject({
      name: 'PreconditionFailed',
    })
    const { etag } = server.objects().get('big') ?? {}
    await complete(upload, Parts, { IfMatch: etag })
    expect(server.objects().get('big')?.body.toString()).toBe('second')
    await expect(complete(upload, Parts)).rejects.toMatchObject({ name: 'NoSuchUpload' })
  })

  it('lists 2 open uploads and 2 parts page by page, and forgets an aborted one', async () => {
    const { upload } = await open([PART, Buffer.from('end')])
    await open([])
    const first = await s3.send(
      new ListMultipartUploadsCommand({ Bucket: server.bucket, MaxUploads: 1 }),
    )
    const second = await s3.send(
      new ListMultipartUploadsCommand({
        Bucket: server.bucket,
        KeyMarker: first.NextKeyMarker,
        UploadIdMarker: first.NextUploadIdMarker,
      }),
    )
    expect([first.IsTruncated, second.IsTruncated]).toEqual([true, false])
    expect([first, second].map((page) => page.Uploads?.length)).toEqual([1, 1])
    const parts = await s3.send(new ListPartsCommand({ ...upload, MaxParts: 1 }))
    const rest = await s3.send(
      new ListPartsCommand({ ...upload, PartNumberMarker: parts.NextPartNumberMarker }),
    )
    expect([parts, rest].map((page) => page.Parts?.[0]?.Size)).toEqual([5 * MIB, 3])
    expect(server.uploads()[0]).toMatchObject({ key: 'big', partNumbers: [1, 2] })
    await s3.send(new AbortMultipartUploadCommand(upload))
    expect(server.uploads()).toHaveLength(1)
    await expect(s3.send(new AbortMultipartUploadCommand(upload))).rejects.toMatchObject({
      name: 'NoSuchUpload',
    })
  })
})
