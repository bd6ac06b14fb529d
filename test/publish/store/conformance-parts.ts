/** Shared suite: uploads in parts. */

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  type CompletedPart,
} from '@aws-sdk/client-s3'
import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { MIB, MINUTE } from '../../../src/support/units.ts'
import { clientOf, status, statusOf } from './conformance-client.ts'
import type { Conformance } from './store-conformance.ts'

/** Describes uploads in parts. */
export function describeParts({ bucket, check }: Conformance): void {
  describe('uploads in parts', () => {
    const target = bucket()
    const s3 = clientOf(target)
    const part = Buffer.alloc(5 * MIB, 'p')
    const small = Buffer.from('the last part')

    async function open(Key: string, bodies: readonly Buffer[]) {
      const at = { Bucket: target().bucket, Key }
      const created = new CreateMultipartUploadCommand({ ...at, ChecksumAlgorithm: 'SHA256' })
      const { UploadId } = await s3().send(created)
      const upload = { ...at, UploadId }
      const Parts: CompletedPart[] = []
      for (const [index, Body] of bodies.entries()) {
        const PartNumber = index + 1
        const sent = await s3().send(
          new UploadPartCommand({ ...upload, PartNumber, Body, ChecksumAlgorithm: 'SHA256' }),
        )
        Parts.push({ PartNumber, ETag: sent.ETag, ChecksumSHA256: sent.ChecksumSHA256 })
      }
      const complete = (listed: CompletedPart[] = Parts, more: object = {}) =>
        s3().send(
          new CompleteMultipartUploadCommand({
            ...upload,
            MultipartUpload: { Parts: listed },
            ...more,
          }),
        )
      return { upload, Parts, complete }
    }
    const head = (Key: string) => s3().send(new HeadObjectCommand({ Bucket: target().bucket, Key }))

    check('become an object of all bytes when they are completed, and not before', async () => {
      const { complete } = await open('whole', [part, small])
      await expect(head('whole')).rejects.toMatchObject(status(404))
      await complete()
      const answer = await s3().send(
        new GetObjectCommand({ Bucket: target().bucket, Key: 'whole' }),
      )
      const bytes = Buffer.from((await answer.Body?.transformToByteArray()) ?? [])
      expect(bytes.equals(Buffer.concat([part, small]))).toBe(true)
      expect((await head('whole')).ETag).toMatch(/^"[0-9a-f]{32}-2"$/)
    })
    check('refuse a part with the sha256 of other bytes', async () => {
      const { upload } = await open('wrong-part', [])
      const ChecksumSHA256 = createHash('sha256').update('other').digest('base64')
      const wrong = new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'x', ChecksumSHA256 })
      await expect(s3().send(wrong)).rejects.toMatchObject(status(400))
    })
    check('answer 400 EntityTooSmall to a first part of 13 bytes', async () => {
      const { complete } = await open('small', [small, small])
      await expect(complete()).rejects.toMatchObject({ name: 'EntityTooSmall', ...status(400) })
    })
    check('answer 400 InvalidPart to the ETag of another part', async () => {
      const { Parts, complete } = await open('other', [small])
      const listed = Parts.map((each) => ({ ...each, ETag: `"${'0'.repeat(32)}"` }))
      await expect(complete(listed)).rejects.toMatchObject({ name: 'InvalidPart', ...status(400) })
      await expect(head('other')).rejects.toMatchObject(status(404))
    })
    check('answer 400 InvalidPartOrder to parts that are listed backwards', async () => {
      const { Parts, complete } = await open('order', [part, small])
      const refusal = { name: 'InvalidPartOrder', ...status(400) }
      await expect(complete(Parts.toReversed())).rejects.toMatchObject(refusal)
    })
    check('answer 412 to a completion with If-None-Match: * where there is an object', async () => {
      await s3().send(new PutObjectCommand({ Bucket: target().bucket, Key: 'there', Body: 'x' }))
      const { complete } = await open('there', [small])
      const conditional = complete(undefined, { IfNoneMatch: '*' })
      await expect(conditional).rejects.toMatchObject(status(412))
      expect((await head('there')).ContentLength).toBe(1)
    })
    check('are gone when they are aborted: ListParts answers 404', async () => {
      const { upload } = await open('aborted', [small])
      const listParts = new ListPartsCommand(upload)
      expect((await s3().send(listParts)).Parts).toHaveLength(1)
      await s3().send(new AbortMultipartUploadCommand(upload))
      await expect(s3().send(listParts)).rejects.toMatchObject(status(404))
    })
    check('answer 404 NoSuchUpload to a completion after they were aborted', async () => {
      const { upload, complete } = await open('aborted-first', [small])
      await s3().send(new AbortMultipartUploadCommand(upload))
      const gone = { name: 'NoSuchUpload', ...status(404) }
      await expect(complete()).rejects.toMatchObject(gone)
    })
    check(
      'leave the object whole when they are completed again, as after a lost answer',
      async () => {
        const { complete } = await open('twice', [part, small])
        await complete()
        const again = await complete().then(() => 200, statusOf)
        expect([200, 404]).toContain(again)
        expect((await head('twice')).ContentLength).toBe(part.length + small.length)
      },
    )
    check('3 open ones are listed 1 by 1 with the time they were begun', async () => {
      for (const name of ['b', 'a', 'c']) await open(`open/${name}`, [small])
      const found: string[] = []
      let markers: object = {}
      for (let isMore = true; isMore && found.length < 5;) {
        const query = { Bucket: target().bucket, Prefix: 'open/', MaxUploads: 1, ...markers }
        const page = await s3().send(new ListMultipartUploadsCommand(query))
        for (const { Key = '', Initiated } of page.Uploads ?? []) {
          found.push(Key)
          expect(Math.abs((Initiated?.getTime() ?? 0) - Date.now())).toBeLessThan(MINUTE)
        }
        isMore = page.IsTruncated === true
        markers = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
      }
      expect(found).toEqual(['open/a', 'open/b', 'open/c'])
    })
  })
}
