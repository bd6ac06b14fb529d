/**
 * The shared suite of stores: a folder, and S3 on the server of these tests, or on a real one named by
 * JOBTIDE_TEST_S3_ENDPOINT and related variables (`test/s3/radosgw.sh` sets them).
 */

import {
  CreateMultipartUploadCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openFolderStore } from '../../../src/publish/store/folder-store.ts'
import { PublishError } from '../../../src/publish/errors.ts'
import type { ObjectStore, S3Options } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { packageRoot } from '../../../src/support/assets.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { MIB, MINUTE, SECOND } from '../../../src/support/units.ts'
import {
  keepVersions,
  realBucket,
  realServer,
  s3ClientOf,
  signInTo,
  type S3Target,
} from '../../helpers/s3-client.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { fileOf } from '../places.ts'

const IS_REAL = realServer('ENDPOINT') !== ''
const SERVER = IS_REAL ? realServer('SERVER') : 'the S3 server of these tests'
const KMS_KEY = IS_REAL ? realServer('KMS_KEY') : 'test-key'
// They ignore conditional writes in a bucket that keeps versions, and our store refuses to open such a bucket.
const KEEPS_NO_CONDITIONS = /^radosgw 1[68]\./
const servers: S3Server[] = []

afterAll(async () => {
  vi.unstubAllEnvs()
  for (const server of servers) await server.close()
})

/** An empty bucket, with its credentials in the environment. */
async function newBucket(): Promise<S3Target> {
  const server = IS_REAL ? null : await startS3Server()
  if (server !== null) servers.push(server)
  const target = server ?? (await realBucket())
  signInTo(target)
  return target
}

const openIn = ({ bucket, endpoint, region }: S3Target, s3: S3Options = {}) =>
  openStore(`s3://${bucket}/some/prefix`, { clock: realClock, s3: { endpoint, region, ...s3 } })

const places = [
  { place: 'a folder', open: () => openStore(temporaryFolder(), { clock: realClock }) },
  { place: SERVER, open: async () => openIn(await newBucket()) },
]

describe.each(places)('a store in $place', ({ open }) => {
  it('stores 17 MiB and 1,000 bytes over older objects, and downloads them over older files', async () => {
    const store = await open()
    for (const size of [17 * MIB, 1_000]) {
      const { path, content } = fileOf(size)
      const key = `tables/${size}`
      await store.put(key, Buffer.from('older'))
      await store.putFile(key, path)
      expect(await store.head(key)).toEqual({ bytes: size })
      const copy = `${path}.copy`
      writeFileSync(copy, 'older')
      expect(await store.download(key, copy)).toBe(true)
      expect(readFileSync(copy).equals(content)).toBe(true)
      expect(readdirSync(dirname(path)).toSorted()).toEqual(['file', 'file.copy'])
      const stored = await store.get(key)
      expect(content.equals(stored?.bytes ?? Buffer.alloc(0))).toBe(true)
    }
  })

  it('finds nothing in an empty place, and then leaves the target of a download unchanged', async () => {
    const store = await open()
    const copy = join(temporaryFolder(), 'copy')
    writeFileSync(copy, 'older')
    expect(await store.get('none')).toBeNull()
    expect(await store.head('none')).toBeNull()
    expect(await store.list('none/')).toEqual([])
    expect(await store.download('none', copy)).toBe(false)
    expect(readFileSync(copy, 'utf8')).toBe('older')
    await store.remove(['none'])
  })

  it('copies an object, and refuses to copy a missing one', async () => {
    const store = await open()
    await store.put('copied/from', Buffer.from('told twice'))
    await store.copy('copied/from', 'copied/a=b/to')
    const copied = await store.get('copied/a=b/to')
    expect(Buffer.from(copied?.bytes ?? []).toString()).toBe('told twice')
    await expect(store.copy('copied/none', 'copied/other')).rejects.toThrow(PublishError)
    expect(await store.head('copied/other')).toBeNull()
  })

  it('lists the objects under a prefix, with size and time, in order', async () => {
    const store = await open()
    for (const key of ['tables/ab/1', 'tables/a/2/3', 'tables/a/1', 'other']) {
      await store.put(key, Buffer.from(key))
    }
    const found = await store.list('tables/a')
    expect(found.map(({ key, bytes }) => [key, bytes])).toEqual([
      ['tables/a/1', 10],
      ['tables/a/2/3', 12],
      ['tables/ab/1', 11],
    ])
    for (const { modifiedAt } of found) {
      expect(Math.abs(modifiedAt - Date.now())).toBeLessThan(MINUTE)
    }
  })

  it('removes 2,001 objects, 2,000 of them missing', async () => {
    const store = await open()
    await store.put('many/2000', Buffer.from('x'))
    await store.put('kept', Buffer.from('x'))
    await store.remove(Array.from({ length: 2001 }, (_, index) => `many/${index}`))
    expect((await store.list('k')).map(({ key }) => key)).toEqual(['kept'])
  })

  it('lets 1 of 8 writers replace the pointer, 3 times in a row, and none that expects an older one or none', async () => {
    const store = await open()
    let expected: string | null = null
    for (let round = 0; round < 3; round += 1) {
      const before: string | null = expected
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, writer) =>
          store.replace('latest.json', Buffer.from(`${round} ${writer}`), before),
        ),
      )
      expect(outcomes.filter((won) => won)).toHaveLength(1)
      const stored = await store.get('latest.json')
      expect(String(stored?.bytes)).toBe(`${round} ${outcomes.indexOf(true)}`)
      expected = stored?.version ?? null
      expect(await store.replace('latest.json', Buffer.from('late'), before)).toBe(false)
      expect(await store.replace('latest.json', Buffer.from('first'), null)).toBe(false)
    }
  })
})

describe(SERVER, () => {
  it('encrypts small and large objects and the pointer with aws:kms', async () => {
    const store = await openIn(await newBucket(), { sse: 'aws:kms', kms_key_id: KMS_KEY })
    const large = fileOf(17 * MIB)
    await store.put('small', Buffer.from('abc'))
    await store.putFile('large', large.path)
    expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
    const version = (await store.get('latest.json'))?.version ?? ''
    expect(await store.replace('latest.json', Buffer.from('2'), version)).toBe(true)
    const copy = `${large.path}.copy`
    expect(await store.download('large', copy)).toBe(true)
    expect(readFileSync(copy).equals(large.content)).toBe(true)
  })

  it('abandons 2 older uploads, none of another prefix, and purges no object', async () => {
    const target = await newBucket()
    const store = await openIn(target)
    await store.put('alone', Buffer.from('x'))
    for (const Key of ['some/prefix/big', 'some/prefix/big', 'other/big']) {
      const begin = new CreateMultipartUploadCommand({ Bucket: target.bucket, Key })
      await s3ClientOf(target).send(begin)
    }
    const purge = (uploadsBegunBefore: number) =>
      store.purge({ versions: true, uploadsBegunBefore })
    expect(await purge(realClock.now() - MINUTE)).toBe(0)
    expect(await purge(realClock.now() + MINUTE)).toBe(2)
    expect(await purge(realClock.now() + MINUTE)).toBe(0)
    expect(await store.head('alone')).toEqual({ bytes: 1 })
  })

  const check = KEEPS_NO_CONDITIONS.test(SERVER) ? it.fails : it
  check('purges old versions and markers of a prefix, and no bytes that are there', async () => {
    const target = await newBucket()
    const Bucket = target.bucket
    const client = s3ClientOf(target)
    await keepVersions(client, Bucket)
    const store: ObjectStore = await openIn(target)
    for (const Body of ['1', '2']) {
      await client.send(
        new PutObjectCommand({ Bucket, Key: 'other/kept', Body, ChecksumAlgorithm: 'SHA256' }),
      )
    }
    let version: string | null = null
    for (const body of ['1', '2', '3']) {
      expect(await store.replace('latest.json', Buffer.from(body), version)).toBe(true)
      version = (await store.get('latest.json'))?.version ?? null
    }
    await store.put('removed', Buffer.from('person'))
    await store.remove(['removed'])
    // 2 old pointers, the removed object and its marker; the probe left an old version.
    expect(await store.purge({ versions: true, uploadsBegunBefore: 0 })).toBe(5)
    const left = await client.send(new ListObjectVersionsCommand({ Bucket }))
    expect(left.Versions?.map(({ Key }) => Key)).toEqual([
      'other/kept',
      'other/kept',
      'some/prefix/conditional-write-probe',
      'some/prefix/latest.json',
    ])
    expect(left.DeleteMarkers ?? []).toEqual([])
    expect(String((await store.get('latest.json'))?.bytes)).toBe('3')
  })
})

describe('the pointer of a folder', () => {
  const module = (path: string) => JSON.stringify(join(packageRoot, 'dist', path))
  const run = (script: string) => ['--input-type=module', '-e', script]

  it('counts to 12 when 3 processes add 1 each 4 times', async () => {
    const folder = temporaryFolder()
    const script = `
      const { openFolderStore } = await import(${module('publish/store/folder-store.js')})
      const { realClock } = await import(${module('support/clock.js')})
      const store = openFolderStore(${JSON.stringify(folder)}, realClock)
      for (let added = 0; added < 4; ) {
        const now = await store.get('count')
        const next = Number(now === null ? 0 : Buffer.from(now.bytes).toString()) + 1
        if (await store.replace('count', Buffer.from(String(next)), now?.version ?? null)) added += 1
      }`
    const process_ = () => promisify(execFile)(process.execPath, run(script))
    await Promise.all([process_(), process_(), process_()])
    expect(readFileSync(join(folder, 'count'), 'utf8')).toBe('12')
    expect(readdirSync(join(folder, '.incoming'))).toEqual(['pointer.lock'])
  })

  it('is locked for 10 seconds by another process, and free as soon as that is killed', async () => {
    const folder = temporaryFolder()
    // Each check takes a second.
    let slept = 0
    const sleep = async () => void (slept += SECOND)
    const store = openFolderStore(folder, { ...realClock, monotonic: () => slept, sleep })
    await store.replace('latest.json', Buffer.from('1'), null)
    const version = (await store.get('latest.json'))?.version ?? null
    const script = `
      const { tryProcessLock } = await import(${module('warehouse/process-lock.js')})
      const lock = await tryProcessLock(${JSON.stringify(join(folder, '.incoming', 'pointer.lock'))})
      console.log(lock === null ? 'refused' : 'held')
      setInterval(() => {}, 1000)`
    const holder = spawn(process.execPath, run(script))
    onTestFinished(() => void holder.kill('SIGKILL'))
    expect(String(await once(holder.stdout, 'data'))).toBe('held\n')
    await expect(store.replace('latest.json', Buffer.from('2'), version)).rejects.toMatchObject({
      exitCode: EXIT.publishFailed,
      message: expect.stringMatching(/another publisher holds the lock of the pointer: .*\.lock$/),
    })
    expect(slept).toBe(10_000)
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    expect(await store.replace('latest.json', Buffer.from('2'), version)).toBe(true)
  })
})
