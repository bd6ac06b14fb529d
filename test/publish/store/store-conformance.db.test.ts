/**
 * What our store does on any S3 server: on the one of these tests, or on a real one where JOBTIDE_TEST_S3_ENDPOINT and its
 * companions say which (`test/s3/radosgw.sh` sets them).
 */

import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import type { S3Options } from '../../../src/publish/store/object-store.ts'
import { realClock } from '../../../src/support/clock.ts'
import { MIB, MINUTE } from '../../../src/support/units.ts'
import { s3ClientOf, type S3Target } from '../../helpers/s3-client.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

function open(target: S3Target, s3: S3Options = {}): Promise<ObjectStore> {
  vi.stubEnv('AWS_ACCESS_KEY_ID', target.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', target.secretAccessKey)
  const { endpoint, region } = target
  const destination = `s3://${target.bucket}/some/prefix`
  return openStore(destination, { clock: realClock, s3: { endpoint, region, ...s3 } })
}

function fileOf(bytes: number): { path: string; content: Buffer } {
  const path = join(temporaryFolder(), 'file')
  const content = randomBytes(bytes)
  writeFileSync(path, content)
  return { path, content }
}

const REAL = process.env['JOBTIDE_TEST_S3_ENDPOINT']
const setting = (name: string) => process.env[`JOBTIDE_TEST_S3_${name}`] ?? ''
const SERVER = REAL === undefined ? 'the server of these tests' : setting('SERVER')
const KMS_KEY = REAL === undefined ? 'test-key' : setting('KMS_KEY')
// They ignore conditional writes in a bucket that keeps versions, and our store refuses to open that.
const KEEPS_NO_CONDITIONS = /^radosgw 1[68]\./
const servers: S3Server[] = []

beforeAll(() => void vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true'))
afterAll(async () => {
  vi.unstubAllEnvs()
  for (const server of servers) await server.close()
})

/** An empty bucket, from the first check of a part on. */
function bucket(): () => S3Target {
  let target: S3Target | undefined
  beforeAll(async () => {
    target = await newBucket()
  })
  return () => {
    if (target === undefined) throw new Error('there is no bucket before the first check')
    return target
  }
}

async function newBucket(): Promise<S3Target> {
  if (REAL === undefined) {
    const server = await startS3Server()
    servers.push(server)
    return server
  }
  const target = {
    endpoint: REAL,
    region: setting('REGION'),
    accessKeyId: setting('ACCESS_KEY_ID'),
    secretAccessKey: setting('SECRET_ACCESS_KEY'),
    bucket: `jobtide-${randomUUID()}`,
  }
  const client = s3ClientOf(target)
  await client.send(new CreateBucketCommand({ Bucket: target.bucket }))
  client.destroy()
  return target
}

describe(SERVER, () => {
  describeObjects()
  describeUpkeep()
  describe('our store with options', () => {
    const target = bucket()
    it('encrypts small and large objects and the pointer with aws:kms', async () => {
      const store = await open(target(), { sse: 'aws:kms', kmsKeyId: KMS_KEY })
      const large = fileOf(17 * MIB)
      await store.put('small', Buffer.from('abc'))
      await store.putFile('large', large.path)
      expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
      const version = (await store.get('latest.json'))?.version ?? ''
      expect(await store.replace('latest.json', Buffer.from('2'), version)).toBe(true)
      const copy = join(dirname(large.path), 'copy')
      expect(await store.download('large', copy)).toBe(true)
      expect(readFileSync(copy).equals(large.content)).toBe(true)
    })
  })
})

function describeObjects(): void {
  describe('our store', () => {
    const target = bucket()
    let store: ObjectStore
    beforeAll(async () => {
      store = await open(target())
    })

    it('puts 17 MiB in parts and 1,000 bytes at once, and finds both there', async () => {
      for (const size of [17 * MIB, 1_000]) {
        const { path, content } = fileOf(size)
        const key = `tables/${size}`
        await store.putFile(key, path)
        expect(await store.head(key)).toEqual({ bytes: size })
        const copy = `${path}.copy`
        expect(await store.download(key, copy)).toBe(true)
        expect(readFileSync(copy).equals(content)).toBe(true)
        expect(readdirSync(dirname(path)).toSorted()).toEqual(['file', 'file.copy'])
      }
    })
    it('lists what is there with size and time, in order', async () => {
      for (const name of ['b', 'a', 'c/d']) await store.put(`listed/${name}`, Buffer.from(name))
      const found = await store.list('listed/')
      expect(found.map(({ key, bytes }) => [key, bytes])).toEqual([
        ['listed/a', 1],
        ['listed/b', 1],
        ['listed/c/d', 3],
      ])
      for (const { modifiedAt } of found) {
        expect(Math.abs(modifiedAt - Date.now())).toBeLessThan(MINUTE)
      }
    })
    it('finds nothing where nothing is', async () => {
      const copy = join(temporaryFolder(), 'copy')
      expect(await store.get('none')).toBeNull()
      expect(await store.head('none')).toBeNull()
      expect(await store.download('none', copy)).toBe(false)
      expect(readdirSync(dirname(copy))).toEqual([])
      expect(store.localPath('none')).toBeNull()
    })
    it('of 8 writers of the pointer 1 wins, 3 times in a row', async () => {
      let expected: string | null = null
      for (let round = 0; round < 3; round += 1) {
        const expectation: string | null = expected
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, (_, writer) =>
            store.replace('latest.json', Buffer.from(`${round} ${writer}`), expectation),
          ),
        )
        expect(outcomes.filter((won) => won)).toHaveLength(1)
        const stored = await store.get('latest.json')
        expect(String(stored?.bytes)).toBe(`${round} ${outcomes.indexOf(true)}`)
        expected = stored?.version ?? null
      }
    })
  })
}

function describeUpkeep(): void {
  describe('our store, cleaning up', () => {
    const target = bucket()
    const kept = bucket()

    it('removes 2,001 keys, of which 2,000 are not there', async () => {
      const store = await open(target())
      await store.put('many/2000', Buffer.from('x'))
      await store.remove(Array.from({ length: 2001 }, (_, index) => `many/${index}`))
      expect(await store.list('many/')).toEqual([])
    })
    it('purges nothing where no versions are kept', async () => {
      const store = await open(target())
      await store.put('alone', Buffer.from('x'))
      expect(
        await store.purge({ versions: true, uploadsBegunBefore: realClock.now() - MINUTE }),
      ).toBe(0)
      expect(await store.head('alone')).toEqual({ bytes: 1 })
    })
    it('abandons 2 uploads that were begun before, and none of another prefix', async () => {
      const store = await open(target())
      const at = { Bucket: target().bucket }
      const s3 = s3ClientOf(target())
      for (const Key of ['some/prefix/big', 'some/prefix/big', 'other/big']) {
        await s3.send(new CreateMultipartUploadCommand({ ...at, Key }))
      }
      expect(await store.purge({ uploadsBegunBefore: realClock.now() - MINUTE })).toBe(0)
      expect(await store.purge({ uploadsBegunBefore: realClock.now() + MINUTE })).toBe(2)
      expect(await store.purge({ uploadsBegunBefore: realClock.now() + MINUTE })).toBe(0)
    })
    const check = KEEPS_NO_CONDITIONS.test(SERVER) ? it.fails : it
    check('purges old versions and markers of a prefix, and no bytes that are there', async () => {
      const Bucket = kept().bucket
      const client = s3ClientOf(kept())
      await client.send(
        new PutBucketVersioningCommand({
          Bucket,
          VersioningConfiguration: { Status: 'Enabled' },
        }),
      )
      const store = await open(kept())
      await client.send(new PutObjectCommand({ Bucket, Key: 'other/kept', Body: '1' }))
      await client.send(new PutObjectCommand({ Bucket, Key: 'other/kept', Body: '2' }))
      let version: string | null = null
      for (const body of ['1', '2', '3']) {
        expect(await store.replace('latest.json', Buffer.from(body), version)).toBe(true)
        version = (await store.get('latest.json'))?.version ?? null
      }
      await store.put('removed', Buffer.from('person'))
      await store.remove(['removed'])
      // 2 old pointers, the removed object and its marker; the probe left 2 versions and a marker.
      expect(
        await store.purge({ versions: true, uploadsBegunBefore: realClock.now() - MINUTE }),
      ).toBe(7)
      const left = await client.send(new ListObjectVersionsCommand({ Bucket }))
      expect(left.Versions?.map(({ Key }) => Key)).toEqual([
        'other/kept',
        'other/kept',
        'some/prefix/latest.json',
      ])
      expect(left.DeleteMarkers ?? []).toEqual([])
      expect(String((await store.get('latest.json'))?.bytes)).toBe('3')
      client.destroy()
    })
  })
}
