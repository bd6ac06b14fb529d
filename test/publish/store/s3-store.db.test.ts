/** Tests of S3 only, including failing servers; the shared suite tests every store. */

import type { S3Client } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
  vi,
} from 'vitest'
import type { PublishError } from '../../../src/publish/errors.ts'
import { collectGarbage, parseKeep } from '../../../src/publish/retention.ts'
import { objectsOf, listSnapshots, readCurrent } from '../../../src/publish/manifest.ts'
import type { S3Options, StoreOptions } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { verifySnapshot } from '../../../src/publish/verify.ts'
import { realClock, type Clock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { silentLogger } from '../../../src/support/logger.ts'
import { MIB, MINUTE } from '../../../src/support/units.ts'
import type { BucketQuirks } from '../../helpers/s3-bucket.ts'
import { keepVersions, s3ClientOf, signInTo } from '../../helpers/s3-client.ts'
import { startS3Server, type S3Fault, type S3Server } from '../../helpers/s3-server.ts'
import { rounds } from '../../helpers/tier.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { publish, smallWarehouse } from '../fixtures.ts'
import { fileOf } from '../places.ts'

// Pauses between attempts take no time.
const clock: Clock = { ...realClock, sleep: async (_ms, signal) => signal?.throwIfAborted() }

const ROOT = 's3://test-bucket/root'
let server: S3Server
let s3: S3Client
beforeAll(async () => {
  server = await startS3Server()
  s3 = s3ClientOf(server)
})
beforeEach(() => {
  server.reset()
  signInTo(server)
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere')
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere')
})
afterEach(() => void vi.unstubAllEnvs())
afterAll(async () => {
  s3.destroy()
  await server.close()
})

const open = (s3Options: S3Options = {}, more: Partial<StoreOptions> = {}, address = ROOT) =>
  openStore(address, { clock, s3: { endpoint: server.endpoint, ...s3Options }, ...more })
const statuses = (operation: string) =>
  server.log().flatMap((entry) => (entry.operation === operation ? entry.status : []))
const requests = (operation: string) => statuses(operation).length

/** The message of a failed call; checks that it contains no secret. */
async function refusal(call: Promise<unknown>): Promise<PublishError> {
  const error = (await call.catch((reason: unknown) => reason)) as PublishError
  expect(error.exitCode).toBe(EXIT.publishFailed)
  const all = `${error.stack} ${error.hint} ${JSON.stringify(error)} ${String(error.cause)}`
  expect(all).not.toContain(server.secretAccessKey)
  return error
}

describe('the probe of conditional writes', () => {
  const openAt = async (quirks: BucketQuirks) => {
    const other = await startS3Server(quirks)
    onTestFinished(() => other.close())
    return open({ endpoint: other.endpoint })
  }

  it('creates its object, is refused with 412, replaces, is refused with 412; later ones write the same object 3 times', async () => {
    await open()
    expect(statuses('PutObject')).toEqual([200, 412, 200, 412])
    await open()
    expect(statuses('PutObject').slice(4)).toEqual([412, 200, 412])
    expect([...server.objects().keys()]).toEqual(['root/conditional-write-probe'])
  })

  it('needs no right to delete: 5 of them leave one object', async () => {
    server.setFaults([{ operation: 'DeleteObjects', action: 'status', status: 403, times: 99 }])
    for (let probe = 0; probe < 5; probe += 1) await open()
    expect([requests('DeleteObjects'), server.objects().size]).toEqual([0, 1])
  })

  it('refuses a server that ignores conditions, naming the header', async () => {
    expect((await refusal(openAt({ ignoreConditions: true }))).message).toContain(
      'does not honour conditional writes: it overwrote an object in spite of If-None-Match',
    )
  })

  it('detects that an older Ceph needs the bare ETag, and compares and swaps with it', async () => {
    const store = await openAt({ bareEtagOnly: true })
    expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
    const first = (await store.get('latest.json'))?.version ?? null
    expect(await store.replace('latest.json', Buffer.from('2'), first)).toBe(true)
    expect(await store.replace('latest.json', Buffer.from('3'), first)).toBe(false)
  })

  it.each([
    ['quoted', {}],
    ['bare', { bareEtagOnly: true }],
  ])(
    'lets 20 publishers start at the same moment where If-Match takes the ETag %s, and each swaps afterwards',
    async (_, quirks) => {
      const other = await startS3Server(quirks)
      onTestFinished(() => other.close())
      const opening = Array.from({ length: 20 }, () =>
        open({ endpoint: other.endpoint }, { clock: realClock }),
      )
      for (const [index, store] of (await Promise.all(opening)).entries()) {
        const key = `pointer-${index}`
        expect(await store.replace(key, Buffer.from('1'), null)).toBe(true)
        const { version = null } = (await store.get(key)) ?? {}
        expect(await store.replace(key, Buffer.from('2'), version)).toBe(true)
      }
    },
  )

  it('refuses each of 8 publishers that start at the same moment on a server that ignores conditions', async () => {
    const other = await startS3Server({ ignoreConditions: true })
    onTestFinished(() => other.close())
    const opening = Array.from({ length: 8 }, () => refusal(open({ endpoint: other.endpoint })))
    for (const { message } of await Promise.all(opening)) {
      expect(message).toContain('does not honour conditional writes')
    }
  })

  it('is not sent by a store opened for reading', async () => {
    await (await open()).put('a', Buffer.from('abc'))
    const writes = requests('PutObject')
    const store = await open({}, { access: 'read' })
    expect(String((await store.get('a'))?.bytes)).toBe('abc')
    expect(requests('PutObject')).toBe(writes)
  })
})

describe('a call that fails says what was not done, why, and what to do:', () => {
  it.each([
    [403, 'SignatureDoesNotMatch', /^Check AWS_ACCESS_KEY_ID/],
    [403, 'RequestTimeTooSkewed', /clock is more than 15 minutes off/],
    [403, 'AccessDenied', /^The AWS credentials need s3:PutObject/],
    [400, 'AuthorizationHeaderMalformed', /another region: set AWS_REGION/],
    [400, 'KMS.NotFoundException', undefined],
    [501, 'NotImplemented', /must support If-None-Match/],
  ])('%i %s', async (status, code, hint) => {
    server.setFaults([{ operation: 'PutObject', action: 'status', status, code, times: 99 }])
    const error = await refusal(open())
    expect(error.message).toBe(
      `${server.endpoint} did not write ${ROOT}/conditional-write-probe (${status} ${code})`,
    )
    if (hint === undefined) expect(error.hint).toBeUndefined()
    else expect(error.hint).toMatch(hint)
  })

  it('no credentials', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', '')
    expect((await refusal(open())).hint).toContain('Set AWS_ACCESS_KEY_ID and')
  })

  it('a missing bucket', async () => {
    const { message, hint } = await refusal(open({}, {}, 's3://no-such-bucket/x'))
    expect(message).toContain('s3://no-such-bucket/x/conditional-write-probe (404 NoSuchBucket)')
    expect(hint).toContain('There is no such bucket')
  })

  it('a server that is not there', async () => {
    const { message, hint } = await refusal(open({ endpoint: 'http://127.0.0.1:9' }))
    expect(message).toMatch(/127\.0\.0\.1:9 did not write s3:\/\/test-bucket.*\(ECONNREFUSED\)/)
    expect(hint).toContain('It could not be reached')
  })

  it('no region without an endpoint; us-east-1 with one', async () => {
    vi.stubEnv('AWS_REGION', '')
    const opening = openStore('s3://test-bucket/x', { clock })
    const message = 'the AWS region of s3://test-bucket is not known'
    expect((await refusal(opening)).message).toContain(message)
    await open()
    expect(server.log().at(-1)?.region).toBe('us-east-1')
  })
})

describe('options', () => {
  it('apply encryption to every object, and the storage class only to data', async () => {
    const store = await open({
      sse: 'aws:kms',
      kms_key_id: 'test-key',
      storage_class: 'STANDARD_IA',
    })
    await store.put('small', Buffer.from('x'))
    await store.putFile('large', fileOf(17 * MIB).path)
    await store.replace('latest.json', Buffer.from('1'), null)
    await (await open({}, {}, `${ROOT}/plain`)).put('a', Buffer.from('x'))
    expect(
      [...server.objects()].map(([key, object]) => [key, object.encryption, object.storageClass]),
    ).toEqual([
      ['root/conditional-write-probe', 'aws:kms test-key', 'STANDARD'],
      ['root/small', 'aws:kms test-key', 'STANDARD_IA'],
      ['root/large', 'aws:kms test-key', 'STANDARD_IA'],
      ['root/latest.json', 'aws:kms test-key', 'STANDARD'],
      ['root/plain/conditional-write-probe', '', 'STANDARD'],
      ['root/plain/a', '', 'STANDARD'],
    ])
  })

  it('yield to an endpoint from the environment; the region wins over AWS_REGION', async () => {
    vi.stubEnv('AWS_REGION', 'mars-1')
    const options = { endpoint: 'http://127.0.0.1:9', region: 'eu-central-1' }
    await open(options, { s3Endpoint: server.endpoint })
    expect(server.log().at(-1)?.region).toBe('eu-central-1')
  })

  it.each<[string, S3Options, string?]>([
    ['kms_key_id is given, but sse is none', { kms_key_id: 'k' }],
    ['kms_key_id is given, but sse is AES256', { kms_key_id: 'k', sse: 'AES256' }],
    ['"standard" is not a storage class', { storage_class: 'standard' }],
    ['class DEEP_ARCHIVE cannot be read at once', { storage_class: 'DEEP_ARCHIVE' }],
    ['the S3 endpoint is not http(s)', { endpoint: 'minio:9000' }],
    ['the S3 endpoint is not http(s)', { endpoint: 'https://user:secret@host' }],
    ['the S3 endpoint is not http(s)', { endpoint: 'https://host/path' }],
    ['path_style: false cannot be used with the address 127.0.0.1', { path_style: false }],
    ...[
      's3://',
      's3://key:secret@bucket/x',
      's3://UPPER/x',
      's3://bucket/a b',
      's3://bucket/../x',
      's3://bucket/a//b',
    ].map((address): [string, S3Options, string] => ['is not an S3 address', {}, address]),
  ])('are refused before anything is sent: %s %j %s', async (message, options, address) => {
    const error = (await open(options, {}, address).catch((reason: unknown) => reason)) as Error
    expect(error).toMatchObject({ exitCode: EXIT.usage, message: expect.stringContaining(message) })
    expect(JSON.stringify(error) + error.message).not.toContain('secret')
    expect(server.log()).toEqual([])
  })
})

describe('an upload', () => {
  it('of 17 MiB is 3 parts and of 1 MiB 1 request, at the root of a bucket without a prefix', async () => {
    const store = await open({}, {}, 's3://test-bucket')
    const puts = requests('PutObject')
    for (const size of [17 * MIB, MIB]) await store.putFile(`tables/${size}`, fileOf(size).path)
    expect(statuses('UploadPart')).toEqual([200, 200, 200])
    expect(requests('PutObject') - puts).toBe(1)
    expect([...server.objects().keys()].slice(1)).toEqual([`tables/${17 * MIB}`, `tables/${MIB}`])
    expect(store.urlOf('tables/a')).toBe('s3://test-bucket/tables/a')
  })

  it.each([
    ['500', { action: 'status', status: 500 }],
    ['a reset after the work was done', { action: 'reset-after-commit' }],
  ] as const)('survives %s on a put, a part, a completion and the pointer', async (_, fault) => {
    const store = await open()
    const begun = fault.action === 'reset-after-commit' ? { action: 'reset' as const } : fault
    server.setFaults([
      { operation: 'PutObject', key: 'small', ...fault },
      { operation: 'PutObject', key: 'latest.json', ...fault },
      { operation: 'UploadPart', nth: 2, ...fault },
      { operation: 'CreateMultipartUpload', ...begun },
      { operation: 'CompleteMultipartUpload', ...fault },
      { operation: 'HeadObject', ...fault },
    ])
    const [small, large] = [fileOf(1_000), fileOf(17 * MIB)]
    await store.putFile('small', small.path)
    await store.putFile('large', large.path)
    expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
    expect(server.objects().get('root/large')?.body.equals(large.content)).toBe(true)
    expect(server.objects().get('root/small')?.body.equals(small.content)).toBe(true)
    expect(server.uploads()).toEqual([])
  })

  it('whose completion answers 200 with an error survives it once, and fails when every one does', async () => {
    const store = await open()
    const fault = { operation: 'CompleteMultipartUpload', action: 'error-in-200' } as const
    const { path, content } = fileOf(17 * MIB)
    server.setFaults([fault])
    await store.putFile('large', path)
    expect(server.objects().get('root/large')?.body.equals(content)).toBe(true)
    server.setFaults([{ ...fault, times: 99 }])
    await refusal(store.putFile('other', path))
    expect(await store.head('other')).toBeNull()
    expect(server.uploads()).toEqual([])
  })

  it('gives up after 4 attempts when the server keeps answering 503', async () => {
    const store = await open()
    server.setFaults([{ operation: 'PutObject', action: 'status', status: 503, times: 99 }])
    const before = requests('PutObject')
    expect((await refusal(store.put('a', Buffer.from('a')))).message).toContain('503 SlowDown')
    expect(requests('PutObject') - before).toBe(4)
  })

  it('of 40 MiB stops when aborted, with the reason, and leaves no open upload', async () => {
    const store = await open()
    server.setFaults([{ operation: 'UploadPart', times: 99, action: 'slow', delayMs: 500 }])
    const reason = new Error('stopped by SIGTERM')
    const stop = new AbortController()
    setTimeout(() => stop.abort(reason), 200)
    const upload = store.putFile('large', fileOf(40 * MIB).path, stop.signal)
    await expect(upload).rejects.toBe(reason)
    expect(server.uploads()).toEqual([])
    expect(await store.head('large')).toBeNull()
  })
})

it('a publish with new coverage only writes 4 objects, one without news none, and opening the destination 3', async () => {
  const warehouse = await smallWarehouse()
  const address = `${ROOT}/counted`
  const writes = () =>
    ['PutObject', 'UploadPart', 'DeleteObjects'].reduce((sum, name) => sum + requests(name), 0)
  const publishing = async () => {
    const atFirst = writes()
    const store = await open({}, {}, address)
    const before = writes()
    await publish(warehouse, store)
    return [before - atFirst, writes() - before]
  }
  await publishing()
  expect(await publishing()).toEqual([3, 0])
  await warehouse.run(
    `update ops.coverage set covered_to = timestamptz '2024-06-03 00:00:00+00' where organization_id = 'org_2'`,
  )
  // Views, manifest, pointer, and current/snapshot.json.
  expect(await publishing()).toEqual([3, 4])
  warehouse.close()
})

it('the pointer is read again after a 409, and 4 consecutive ones count as lost', async () => {
  const store = await open()
  const conflict = { operation: 'PutObject', action: 'status', status: 409 } as const
  server.setFaults([{ ...conflict, times: 3 }])
  expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
  const version = (await store.get('latest.json'))?.version ?? null
  server.setFaults([{ ...conflict, times: 4 }])
  expect(await store.replace('latest.json', Buffer.from('2'), version)).toBe(false)
})

describe('a download', () => {
  async function stored(bytes: number) {
    const store = await open()
    const content = randomBytes(bytes)
    await store.put('data', content)
    const path = join(temporaryFolder(), 'copy')
    return { store, content, path, left: () => readdirSync(dirname(path)) }
  }

  it('of 3 MiB begins again when the connection breaks in the middle, 3 times, and gives up after 4', async () => {
    const { store, content, path, left } = await stored(3 * MIB)
    const before = requests('GetObject')
    const cut = { operation: 'GetObject', action: 'cut' } as const
    server.setFaults([{ ...cut, times: 99 }])
    const message = `${ROOT}/data could not be read to its end`
    expect((await refusal(store.download('data', path))).message).toBe(message)
    expect(left()).toEqual([])
    server.setFaults([{ ...cut, times: 3 }])
    expect(await store.download('data', path)).toBe(true)
    expect(readFileSync(path).equals(content)).toBe(true)
    expect(requests('GetObject') - before).toBe(8)
  })

  it('with 1 flipped bit is found by the checksum and leaves no file', async () => {
    const { store, path, left } = await stored(1_000)
    const body = server.objects().get('root/data')?.body
    body?.writeUInt8((body[0] ?? 0) ^ 1, 0)
    expect((await refusal(store.download('data', path))).hint).toMatch(/checksum mismatch/i)
    expect(left()).toEqual([])
    await refusal(store.get('data'))
  })

  it('stops when aborted, with the reason, and leaves no file', async () => {
    const { store, path, left } = await stored(1_000)
    server.setFaults([{ operation: 'GetObject', action: 'slow', delayMs: 5_000 }])
    const stop = new AbortController()
    const reason = new Error('stopped by SIGTERM')
    setTimeout(() => stop.abort(reason), 100)
    await expect(store.download('data', path, stop.signal)).rejects.toBe(reason)
    expect(left()).toEqual([])
  })
})

describe('a removal', () => {
  const refuse = { operation: 'DeleteObjects', action: 'refuse-keys', failing: 'k3' } as const
  const threeObjects = async () => {
    const store = await open()
    const keys = ['k1', 'k2', 'k3']
    for (const key of keys) await store.put(key, Buffer.from(key))
    return { store, keys }
  }

  it('retries after a 503 and after a reset', async () => {
    const { store, keys } = await threeObjects()
    const before = requests('DeleteObjects')
    server.setFaults([
      { operation: 'DeleteObjects', action: 'status', status: 503 },
      { operation: 'DeleteObjects', nth: 2, action: 'reset-after-commit' },
    ])
    await store.remove(keys)
    expect(requests('DeleteObjects') - before).toBe(3)
    expect(await store.list('k')).toEqual([])
  })

  it('says which of 3 keys it may not remove, having removed the others', async () => {
    const { store, keys } = await threeObjects()
    server.setFaults([{ ...refuse, code: 'AccessDenied', times: 99 }])
    const { message, hint } = await refusal(store.remove(keys))
    expect(message).toBe(`${ROOT}/k3 could not be removed (AccessDenied)`)
    expect(hint).toContain('s3:DeleteObject')
    expect((await store.list('k')).map(({ key }) => key)).toEqual(['k3'])
  })
})

describe('a listing', () => {
  it('of 7 objects and of 9 versions is read in pages of 2', async () => {
    const paged = await startS3Server({ pageSize: 2 })
    const client = s3ClientOf(paged)
    await keepVersions(client, paged.bucket)
    const store = await open({ endpoint: paged.endpoint })
    await store.purge({ versions: true, uploadsBegunBefore: 0 })
    const keys = Array.from({ length: 7 }, (_, index) => `many/${index}`)
    for (const key of [...keys, 'many/6', 'many/6']) await store.put(key, Buffer.from('x'))
    expect((await store.list('many/')).map(({ key }) => key)).toEqual(keys)
    expect(await store.purge({ versions: true, uploadsBegunBefore: 0 })).toBe(2)
    expect(await store.list('many/')).toHaveLength(7)
    client.destroy()
    await paged.close()
  })

  // If part of a listing passed for all of it, garbage collection would delete what the rest names.
  it('that never ends is refused after 2 requests', async () => {
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

describe('a purge of versions', () => {
  const refuse = { operation: 'DeleteObjects', action: 'refuse-keys' } as const
  const versionedStore = async () => {
    await keepVersions(s3, server.bucket)
    const store = await open()
    const purge = () => store.purge({ versions: true, uploadsBegunBefore: 0 })
    await purge()
    return { store, purge }
  }

  it('that cannot remove an old version keeps the marker, so that nothing comes back', async () => {
    const { store, purge } = await versionedStore()
    await store.put('person', Buffer.from('name'))
    await store.remove(['person'])
    server.setFaults([{ ...refuse, failing: 'person', code: 'AccessDenied', times: 99 }])
    await expect(purge()).rejects.toThrow('person could not be removed (AccessDenied)')
    expect(await store.get('person')).toBeNull()
    expect(server.versionsOf('root/person')).toHaveLength(2)
  })

  it('removes the version, never the object, when it is repeated after an internal error', async () => {
    const { store, purge } = await versionedStore()
    await store.put('person', Buffer.from('1'))
    await store.put('person', Buffer.from('2'))
    server.setFaults([{ ...refuse, failing: 'person', code: 'InternalError' }])
    await expect(purge()).rejects.toThrow('person could not be removed (InternalError)')
    expect(await purge()).toBe(1)
    expect(String((await store.get('person'))?.bytes)).toBe('2')
    expect(server.versionsOf('root/person')).toHaveLength(1)
  })
})

const UPLOADING = ['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload']
const OTHERS = ['GetObject', 'HeadObject', 'AbortMultipartUpload', 'DeleteObjects']
const someFault = fc
  .record({
    operation: fc.constantFrom(...UPLOADING, ...OTHERS),
    nth: fc.integer({ min: 1, max: 4 }),
    times: fc.constantFrom(1, 2, 3, 99),
    action: fc.constantFrom('status', 'reset', 'reset-after-commit', 'cut'),
    status: fc.constantFrom(403, 409, 500, 503),
  })
  .map((fault) => fault as S3Fault)
const specialFault = fc.constantFrom<S3Fault>(
  { operation: 'CompleteMultipartUpload', action: 'error-in-200' },
  { operation: 'CompleteMultipartUpload', action: 'error-in-200', times: 99 },
  { operation: 'DeleteObjects', action: 'refuse-keys', failing: 'gone', code: 'InternalError' },
)
const faults = fc.array(
  fc.oneof({ arbitrary: someFault, weight: 4 }, { arbitrary: specialFault, weight: 1 }),
  { minLength: 1, maxLength: 4 },
)

it('under any 1 to 4 faults no object is partial, no result is wrong, and a repeat without faults succeeds', async () => {
  const store = await open()
  const stored = (key: string) => server.objects().get(`root/${key}`)?.body
  const { path, content: large } = fileOf(17 * MIB)
  const small = Buffer.from('small')
  const outcome = <T>(call: Promise<T>) => call.catch(() => 'failed' as const)
  await fc.assert(
    fc.asyncProperty(faults, async (injected) => {
      server.reset()
      const copy = join(temporaryFolder(), 'large')
      await store.put('gone', small)
      expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
      const version = (await store.get('latest.json'))?.version ?? null
      server.setFaults(injected)

      const pointer = await outcome(store.replace('latest.json', Buffer.from('2'), version))
      const first = await outcome(store.put('small', small))
      const upload = await outcome(store.putFile('large', path))
      const removal = await outcome(store.remove(['gone']))
      const download = await outcome(store.download('large', copy))

      expect(['1', '2']).toContain(String(stored('latest.json')))
      if (pointer !== 'failed') expect(String(stored('latest.json'))).toBe(pointer ? '2' : '1')
      expect([undefined, 'small']).toContain(stored('small')?.toString())
      if (first !== 'failed') expect(stored('small')).toEqual(small)
      expect(stored('large')?.equals(large) ?? true).toBe(true)
      if (upload !== 'failed') expect(stored('large')?.equals(large)).toBe(true)
      if (removal !== 'failed') expect(stored('gone')).toBeUndefined()
      expect(readdirSync(dirname(copy))).toEqual(download === true ? ['large'] : [])
      if (download === true) expect(readFileSync(copy).equals(large)).toBe(true)

      server.setFaults([])
      await store.purge({ uploadsBegunBefore: realClock.now() + MINUTE })
      expect(server.uploads()).toEqual([])
      await store.put('small', small)
      await store.putFile('large', path)
      await store.remove(['gone'])
      expect(await store.download('large', copy)).toBe(true)
      expect((await store.list('')).map(({ key, bytes }) => [key, bytes])).toEqual([
        ['large', 17 * MIB],
        ['latest.json', 1],
        ['small', 5],
      ])
    }),
    { numRuns: rounds('JOBTIDE_S3_FAULTS', 4, 40), endOnFailure: true },
  )
}, 300_000)

const ROUNDS = rounds('JOBTIDE_FAULTY_PUBLISHES', 3, 150)

const publishFaults = fc.array(
  fc
    .tuple(
      fc.record({
        operation: fc.constantFrom('PutObject', 'GetObject', 'ListObjectsV2', 'DeleteObjects'),
        nth: fc.integer({ min: 1, max: 20 }),
        times: fc.constantFrom(1, 4, 99),
      }),
      fc.oneof(
        fc.record({ action: fc.constant('status'), status: fc.constantFrom(403, 409, 500, 503) }),
        fc.record({ action: fc.constantFrom('reset', 'reset-after-commit', 'cut') }),
      ),
    )
    .map(([where, what]) => ({ ...where, ...what })),
  { minLength: 1, maxLength: 3 },
) as fc.Arbitrary<S3Fault[]>

it(`${ROUNDS} publishes with 1 to 3 kinds of faults leave every snapshot whole, and the publish after each is verified`, async () => {
  const [warehouse, store] = [await smallWarehouse(), await open()]
  // The objects that a snapshot names and the store lacks.
  const missing = async () => {
    const there = new Set((await store.list('tables/')).map(({ key }) => key))
    const named = (await listSnapshots(store)).flatMap(objectsOf).map(({ key }) => key)
    return named.filter((key) => !there.has(key))
  }
  await publish(warehouse, store, { clock })
  const gc = { store, keep: parseKeep(2), olderThanMs: 0, logger: silentLogger }
  const seen = { failed: 0, published: 0 }
  let round = 0
  const change = () => {
    round += 1
    return warehouse.run(
      `update job_change_events set detection_lag_days = ${round} where event_type = 'left'`,
    )
  }
  await fc.assert(
    fc.asyncProperty(publishFaults, async (injected) => {
      await change()
      server.setFaults(injected)
      await publish(warehouse, store, { clock })
        .then(() => collectGarbage(gc))
        .then(
          () => (seen.published += 1),
          () => (seen.failed += 1),
        )
      server.setFaults([])
      expect(await missing()).toEqual([])

      await change()
      const report = await publish(warehouse, store, { clock })
      expect((await readCurrent(store))?.pointer.snapshot_id).toBe(report.snapshotId)
      await collectGarbage(gc)
      expect(await missing()).toEqual([])
      const scratchFolder = join(temporaryFolder(), 'verify')
      const { findings, rows } = await verifySnapshot({ store, snapshotId: null, scratchFolder })
      expect({ findings, rows }).toEqual({ findings: [], rows: 320 })
    }),
    { numRuns: ROUNDS, endOnFailure: true },
  )
  expect(seen.failed + seen.published).toBe(ROUNDS)
  warehouse.close()
}, 1_200_000)
