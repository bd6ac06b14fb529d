/** Shared suite: single objects, their ranges, conditional writes. */

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { MINUTE } from '../../../src/support/units.ts'
import { clientOf, status, statusOf } from './conformance-client.ts'
import type { Conformance } from './store-conformance.ts'

/** Describes single objects and conditional writes. */
export function describeObjects(conformance: Conformance): void {
  describeSingleObjects(conformance)
  describeConditions(conformance)
}

function describeSingleObjects({ bucket, check }: Conformance): void {
  describe('objects', () => {
    const target = bucket()
    const s3 = clientOf(target)
    const put = (Key: string, Body: string | Buffer, more: object = {}) =>
      s3().send(new PutObjectCommand({ Bucket: target().bucket, Key, Body, ...more }))
    const get = async (Key: string, more: object = {}) =>
      s3().send(new GetObjectCommand({ Bucket: target().bucket, Key, ...more }))

    check('come back with bytes, length, metadata, and the MD5 as ETag', async () => {
      const { ETag } = await put('k', 'payload', { Metadata: { rows: '7' } })
      const answer = await get('k')
      expect(ETag).toBe(`"${createHash('md5').update('payload').digest('hex')}"`)
      expect(answer).toMatchObject({ ETag, ContentLength: 7, Metadata: { rows: '7' } })
      expect(await answer.Body?.transformToString()).toBe('payload')
    })
    check('of 0 bytes come back empty', async () => {
      await put('empty', Buffer.alloc(0))
      expect(await (await get('empty')).Body?.transformToString()).toBe('')
    })
    check('that are not there answer 404 NoSuchKey to a GET and 404 to a HEAD', async () => {
      const head = new HeadObjectCommand({ Bucket: target().bucket, Key: 'none' })
      await expect(get('none')).rejects.toMatchObject({ name: 'NoSuchKey', ...status(404) })
      await expect(s3().send(head)).rejects.toMatchObject(status(404))
    })
    check('bear the time of the server, to less than 1 minute', async () => {
      await put('timed', 'x')
      const { LastModified } = await get('timed')
      expect(Math.abs((LastModified?.getTime() ?? 0) - Date.now())).toBeLessThan(MINUTE)
    })
    check('answer 304 to If-None-Match of their ETag and 412 to a stale If-Match', async () => {
      const { ETag } = await put('conditional', 'x')
      await expect(get('conditional', { IfNoneMatch: ETag })).rejects.toMatchObject(status(304))
      const stale = `"${'0'.repeat(32)}"`
      await expect(get('conditional', { IfMatch: stale })).rejects.toMatchObject(status(412))
    })

    for (const [Range, expected, contentRange] of [
      ['bytes=0-3', '0123', 'bytes 0-3/10'],
      ['bytes=8-', '89', 'bytes 8-9/10'],
      ['bytes=-3', '789', 'bytes 7-9/10'],
      ['bytes=-30', '0123456789', 'bytes 0-9/10'],
      ['bytes=9-99', '9', 'bytes 9-9/10'],
    ] as const) {
      check(`answer ${Range} of 10 bytes with 206 and ${expected}`, async () => {
        await put('range', '0123456789')
        const answer = await get('range', { Range })
        expect(answer).toMatchObject({ ContentRange: contentRange, ...status(206) })
        expect(await answer.Body?.transformToString()).toBe(expected)
      })
    }
    check('answer 416 to bytes=10- of 10 bytes', async () => {
      await put('range', '0123456789')
      await expect(get('range', { Range: 'bytes=10-' })).rejects.toMatchObject(status(416))
    })
    check('are removed, and removing what is not there answers 204', async () => {
      await put('gone', 'x')
      const remove = new DeleteObjectCommand({ Bucket: target().bucket, Key: 'gone' })
      expect(await s3().send(remove)).toMatchObject(status(204))
      expect(await s3().send(remove)).toMatchObject(status(204))
      await expect(get('gone')).rejects.toMatchObject(status(404))
    })
    check('refuse an ACL with 400 AccessControlListNotSupported', async () => {
      await expect(put('acl', 'x', { ACL: 'public-read' })).rejects.toMatchObject({
        name: 'AccessControlListNotSupported',
        ...status(400),
      })
    })
  })
}

function describeConditions({ bucket, check }: Conformance): void {
  describe('conditional writes', () => {
    const target = bucket()
    const s3 = clientOf(target)
    const put = (Key: string, Body: string, more: object = {}) =>
      s3().send(new PutObjectCommand({ Bucket: target().bucket, Key, Body, ...more }))
    const text = async (Key: string) => {
      const answer = await s3().send(new GetObjectCommand({ Bucket: target().bucket, Key }))
      return answer.Body?.transformToString()
    }

    check('If-None-Match: * creates once, then answers 412', async () => {
      await put('create', '1', { IfNoneMatch: '*' })
      await expect(put('create', '2', { IfNoneMatch: '*' })).rejects.toMatchObject(status(412))
      expect(await text('create')).toBe('1')
    })
    check('If-Match replaces with the quoted ETag, then answers 412 to it', async () => {
      const { ETag } = await put('replace', '1')
      await put('replace', '2', { IfMatch: ETag })
      await expect(put('replace', '3', { IfMatch: ETag })).rejects.toMatchObject(status(412))
      expect(await text('replace')).toBe('2')
    })
    check('If-Match replaces with the bare ETag, then answers 412 to it', async () => {
      const IfMatch = (await put('bare', '1')).ETag?.replaceAll('"', '')
      await put('bare', '2', { IfMatch })
      await expect(put('bare', '3', { IfMatch })).rejects.toMatchObject(status(412))
    })
    check('If-Match on what is not there answers 404 NoSuchKey', async () => {
      const IfMatch = `"${'0'.repeat(32)}"`
      const missing = { name: 'NoSuchKey', ...status(404) }
      await expect(put('missing', '1', { IfMatch })).rejects.toMatchObject(missing)
    })

    /** How many of 12 writers with one condition win; the others must be told 409 or 412. */
    async function winners(key: string, condition: object): Promise<number> {
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, (_, writer) =>
          put(key, `writer ${writer}`, condition).then(() => 200, statusOf),
        ),
      )
      expect(outcomes.filter((outcome) => ![200, 409, 412].includes(outcome))).toEqual([])
      return outcomes.filter((outcome) => outcome === 200).length
    }
    check('of 12 writers that create the same key, 1 wins', async () => {
      for (const round of [1, 2, 3]) {
        expect(await winners(`race-${round}`, { IfNoneMatch: '*' })).toBe(1)
      }
    })
    check('of 12 writers that replace the same ETag, 1 wins', async () => {
      for (const round of [1, 2, 3]) {
        const { ETag } = await put('swap', `round ${round}`)
        expect(await winners('swap', { IfMatch: ETag })).toBe(1)
      }
    })
  })
}
