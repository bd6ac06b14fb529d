/** Shared suite: listings, and the removal of many. */

import {
  DeleteObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { beforeAll, describe, expect } from 'vitest'
import { clientOf, status } from './conformance-client.ts'
import type { Conformance } from './store-conformance.ts'

// Each is a key that some server was seen to mangle in a request, a listing or a removal.
const ODD_KEYS = [
  'A',
  'a',
  'a b',
  'a+b',
  "a'b",
  'a"b',
  'a&b',
  'a<b>',
  'a%20b',
  'a/',
  'a//b',
  'a/b',
  'a=b?c#d',
  '~(*)!',
  'ä',
  'ﬀ',
  '中',
  '😀',
]

/** Describes listings. */
export function describeListings({ bucket, check }: Conformance): void {
  describe('listings', () => {
    const target = bucket()
    const s3 = clientOf(target)
    beforeAll(async () => {
      for (const Key of ODD_KEYS) {
        const at = { Bucket: target().bucket, Key: `odd/${Key}` }
        await s3().send(new PutObjectCommand({ ...at, Body: Key }))
      }
    })
    const inOrder = ODD_KEYS.map((key) => `odd/${key}`).toSorted((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    )
    async function list(more: object): Promise<{ keys: string[]; prefixes: string[] }> {
      const keys: string[] = []
      const prefixes: string[] = []
      const query = { Bucket: target().bucket, Prefix: 'odd/', ...more }
      for await (const page of paginateListObjectsV2({ client: s3() }, query)) {
        keys.push(...(page.Contents ?? []).map(({ Key = '' }) => Key))
        prefixes.push(...(page.CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix))
      }
      return { keys, prefixes }
    }

    for (const MaxKeys of [1, 5, 1000]) {
      check(`tell 18 odd keys in the order of their bytes, ${MaxKeys} a page`, async () => {
        expect((await list({ MaxKeys })).keys).toEqual(inOrder)
      })
    }
    check('tell each object with its size', async () => {
      const query = new ListObjectsV2Command({ Bucket: target().bucket, Prefix: 'odd/' })
      const { Contents = [], KeyCount } = await s3().send(query)
      expect(KeyCount).toBe(18)
      expect(Contents.map(({ Size }) => Size)).toEqual(
        inOrder.map((key) => Buffer.byteLength(key) - 4),
      )
    })
    check('begin after a key', async () => {
      expect((await list({ StartAfter: inOrder[10] })).keys).toEqual(inOrder.slice(11))
    })
    check('fold keys at a slash', async () => {
      const { keys, prefixes } = await list({ Delimiter: '/', MaxKeys: 4 })
      expect(prefixes).toEqual(['odd/a/'])
      expect(keys).toEqual(inOrder.filter((key) => !key.startsWith('odd/a/')))
    })
    check('tell names encoded where the client asks for it', async () => {
      const query = { Bucket: target().bucket, Prefix: 'odd/a+', EncodingType: 'url' } as const
      const { Contents = [] } = await s3().send(new ListObjectsV2Command(query))
      const [name = ''] = Contents.map(({ Key }) => Key)
      expect(name).toMatch(/a%2Bb$/)
      expect(decodeURIComponent(name)).toBe('odd/a+b')
    })
    check('1 removal of many takes 18 odd keys and 2 that are not there', async () => {
      const Objects = [...inOrder, 'none-1', 'none-2'].map((Key) => ({ Key }))
      const { Deleted = [], Errors = [] } = await s3().send(
        new DeleteObjectsCommand({ Bucket: target().bucket, Delete: { Objects } }),
      )
      expect(Errors).toEqual([])
      expect(new Set(Deleted.map(({ Key }) => Key))).toEqual(new Set(Objects.map(({ Key }) => Key)))
      expect((await list({})).keys).toEqual([])
    })
    check('1 removal of 1,001 keys answers 400', async () => {
      const Objects = Array.from({ length: 1001 }, (_, index) => ({ Key: `k${index}` }))
      const remove = new DeleteObjectsCommand({ Bucket: target().bucket, Delete: { Objects } })
      await expect(s3().send(remove)).rejects.toMatchObject(status(400))
    })
  })
}
