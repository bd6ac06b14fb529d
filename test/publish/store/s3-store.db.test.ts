import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openStore } from '../../../src/publish/store/open-store.ts'
import type { PublishError } from '../../../src/publish/errors.ts'
import { realClock } from '../../../src/support/clock.ts'
import { EXIT } from '../../../src/support/errors.ts'
import { MIB } from '../../../src/support/units.ts'
import { signInTo } from '../../helpers/s3-credentials.ts'
import { startS3Server, type S3Server, type S3ServerOptions } from '../../helpers/s3-server.ts'
import { newFolder } from '../fixtures.ts'

const SECRET = 'very/secret+access/key0'
let server: S3Server

async function start(options: S3ServerOptions = {}): Promise<void> {
  await server?.close()
  server = await startS3Server({ secretAccessKey: SECRET, ...options })
  signInTo(server)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
}

beforeEach(async () => start())
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

const open = (destination = `s3://${server.bucket}/some/prefix`, s3Endpoint = server.endpoint) =>
  openStore(destination, { clock: realClock, s3Endpoint })

/** Opens, expects a refusal, and gives it back; proves that no secret is in it. */
async function refusal(opening: Promise<unknown>): Promise<PublishError> {
  const error = (await opening
    .then(() => new Error('not refused'))
    .catch((reason: unknown) => reason)) as PublishError
  expect(error.exitCode).toBe(EXIT.publishFailed)
  expect(
    `${error.stack} ${error.hint} ${JSON.stringify(error)} ${String(error.cause)}`,
  ).not.toContain(SECRET)
  return error
}

function fileOf(bytes: number): { path: string; content: Buffer } {
  const path = join(newFolder(), 'file')
  const content = randomBytes(bytes)
  writeFileSync(path, content)
  return { path, content }
}

const statuses = (operation: string) =>
  server
    .log()
    .filter((entry) => entry.operation === operation)
    .map((entry) => entry.status)

describe('the probe of conditional writes', () => {
  it('creates, is refused with 412, replaces, is refused with 412, and removes its object', async () => {
    await open()
    expect(statuses('PutObject')).toEqual([200, 412, 200, 412])
    expect(server.objects().size).toBe(0)
  })

  it('refuses a server that ignores conditions, naming the header', async () => {
    await start({ ignoreConditions: true })
    expect((await refusal(open())).message).toContain(
      'does not honour conditional writes: it overwrote an object in spite of If-None-Match',
    )
  })

  it('finds that an older Ceph wants the bare ETag, and compares and swaps with it', async () => {
    await start({ bareEtagOnly: true })
    const store = await open()
    expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
    const first = (await store.get('latest.json'))?.version ?? null
    expect(await store.replace('latest.json', Buffer.from('2'), first)).toBe(true)
    expect(await store.replace('latest.json', Buffer.from('3'), first)).toBe(false)
  })

  it('leaves 1 object and never 2 where the credentials may not delete', async () => {
    server.setFaults([{ operation: 'DeleteObjects', action: 'status', status: 403, times: 2 }])
    await open()
    await open()
    expect([...server.objects().keys()]).toEqual(['some/prefix/conditional-write-probe'])
  })

  it('lets 4 publishers start at the same moment', async () => {
    const stores = await Promise.all([open(), open(), open(), open()])
    expect(stores).toHaveLength(4)
  })
})

describe('one sentence for each cause', () => {
  it('a wrong secret', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', `${SECRET}1`)
    const error = await refusal(open())
    expect(error.message).toBe(
      `${server.endpoint} does not accept the AWS credentials (SignatureDoesNotMatch)`,
    )
  })

  it('an unknown key id', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'SOMEBODYELSE')
    expect((await refusal(open())).message).toContain('(InvalidAccessKeyId)')
  })

  it('no credentials', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', '')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', '')
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere')
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere')
    expect((await refusal(open())).message).toContain('there are no AWS credentials')
  })

  it('a missing bucket', async () => {
    expect((await refusal(open('s3://no-such-bucket/x'))).message).toBe(
      `there is no bucket no-such-bucket at ${server.endpoint}`,
    )
  })

  it('a server that is not there', async () => {
    const { endpoint } = server
    await server.close()
    const error = await refusal(open('s3://test-bucket/x', endpoint))
    expect(error.message).toMatch(
      /could not be reached to write s3:\/\/test-bucket.*\(ECONNREFUSED\)/,
    )
  })

  it('the wrong region', async () => {
    vi.stubEnv('AWS_REGION', 'mars-1')
    expect((await refusal(open())).message).toContain('in another region')
  })

  it('no region, where no endpoint says which server it is', async () => {
    vi.stubEnv('AWS_REGION', '')
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere')
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere')
    const opening = openStore('s3://test-bucket/x', { clock: realClock })
    expect((await refusal(opening)).message).toContain(
      'the AWS region of s3://test-bucket is not known',
    )
  })

  it('credentials that may not write', async () => {
    server.setFaults([{ operation: 'PutObject', action: 'status', status: 403 }])
    const error = await refusal(open())
    expect(error.message).toContain('may not write')
    expect(error.hint).toContain('s3:PutObject')
  })

  it.each(['s3://', 's3://UPPER/x', 's3://bucket/a b', 's3://bucket/../x', 's3://bucket/a//b'])(
    'the address %j',
    async (destination) => {
      await expect(open(destination)).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringContaining('is not an S3 address'),
      })
      expect(server.log()).toEqual([])
    },
  )
})

describe('objects in S3', () => {
  it('lie in us-east-1 where an endpoint is given and no region', async () => {
    await start({ region: 'us-east-1' })
    vi.stubEnv('AWS_REGION', '')
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere')
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere')
    const store = await open()
    await store.put('a', Buffer.from('abc'))
    expect(await store.head('a')).toEqual({ bytes: 3 })
  })

  it('lie at the root of a bucket that is named without a prefix', async () => {
    const store = await open(`s3://${server.bucket}`)
    await store.put('tables/a', Buffer.from('abc'))
    expect([...server.objects().keys()]).toEqual(['tables/a'])
    expect(store.urlOf('tables/a')).toBe(`s3://${server.bucket}/tables/a`)
    expect(await store.list('')).toMatchObject([{ key: 'tables/a', bytes: 3 }])
  })

  it('stores 17 MiB in 3 parts and 1 MiB in 1 request, with SHA-256 checksums, once', async () => {
    const store = await open()
    for (const size of [17 * MIB, MIB]) {
      const { path, content } = fileOf(size)
      await store.putFile(`tables/${size}`, path)
      const stored = server.objects().get(`some/prefix/tables/${size}`)
      expect(stored?.body.equals(content)).toBe(true)
      expect(stored?.sha256).toBeTruthy()
    }
    expect(statuses('UploadPart')).toEqual([200, 200, 200])
    expect(await store.list('tables/')).toMatchObject([
      { key: `tables/${MIB}`, bytes: MIB },
      { key: `tables/${17 * MIB}`, bytes: 17 * MIB },
    ])
  })

  it.each([
    ['500', { action: 'status', status: 500 }],
    ['503', { action: 'status', status: 503 }],
    ['a reset', { action: 'reset' }],
    ['a reset after the work was done', { action: 'reset-after-commit' }],
    ['300 ms of silence', { action: 'slow', delayMs: 300 }],
  ] as const)('survives %s on a put, a part, a completion and the pointer', async (_, fault) => {
    const store = await open()
    server.setFaults([
      { operation: 'PutObject', key: 'small', ...fault },
      { operation: 'PutObject', key: 'latest.json', ...fault },
      { operation: 'UploadPart', nth: 2, ...fault },
      {
        operation: 'CreateMultipartUpload',
        ...(fault.action === 'reset-after-commit' ? { action: 'reset' as const } : fault),
      },
      { operation: 'CompleteMultipartUpload', ...fault },
      { operation: 'HeadObject', ...fault },
    ])
    const small = fileOf(1_000)
    const large = fileOf(17 * MIB)
    await store.putFile('small', small.path)
    await store.putFile('large', large.path)
    expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
    const sha256 = (bytes: Buffer | undefined) =>
      createHash('sha256')
        .update(bytes ?? '')
        .digest('hex')
    expect(sha256(server.objects().get('some/prefix/large')?.body)).toBe(sha256(large.content))
    expect(sha256(server.objects().get('some/prefix/small')?.body)).toBe(sha256(small.content))
    expect(server.uploads()).toEqual([])
  })

  it('survives one completion that answers 200 with an error', async () => {
    const store = await open()
    server.setFaults([{ operation: 'CompleteMultipartUpload', action: 'error-in-200' }])
    const { path, content } = fileOf(17 * MIB)
    await store.putFile('large', path)
    expect(server.objects().get('some/prefix/large')?.body.equals(content)).toBe(true)
  })

  it('fails when every completion answers 200 with an error, and leaves no open upload', async () => {
    const store = await open()
    server.setFaults([{ operation: 'CompleteMultipartUpload', action: 'error-in-200', times: 99 }])
    await refusal(store.putFile('large', fileOf(17 * MIB).path))
    expect(await store.head('large')).toBeNull()
    expect(server.uploads()).toEqual([])
  })

  it('gives up after 4 attempts when the server keeps answering 503', async () => {
    const store = await open()
    server.setFaults([{ operation: 'PutObject', action: 'status', status: 503, times: 99 }])
    const before = statuses('PutObject').length
    expect((await refusal(store.put('a', Buffer.from('a')))).message).toContain('503 SlowDown')
    expect(statuses('PutObject').length - before).toBe(4)
  })

  it('asks again after a 409 on the pointer, and counts 4 in a row as lost', async () => {
    const store = await open()
    const conflict = {
      operation: 'PutObject',
      key: 'latest.json',
      action: 'status',
      status: 409,
    } as const
    server.setFaults([{ ...conflict, times: 3 }])
    expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
    const version = (await store.get('latest.json'))?.version ?? null
    server.setFaults([{ ...conflict, times: 4 }])
    expect(await store.replace('latest.json', Buffer.from('2'), version)).toBe(false)
  })

  it('stops an upload of 40 MiB when it is told to, with the reason, and leaves no open upload', async () => {
    const store = await open()
    server.setFaults([{ operation: 'UploadPart', nth: 1, times: 99, action: 'slow', delayMs: 500 }])
    const { path } = fileOf(40 * MIB)
    const stop = new AbortController()
    const reason = new Error('stopped by SIGTERM')
    setTimeout(() => stop.abort(reason), 200)
    await expect(store.putFile('large', path, stop.signal)).rejects.toBe(reason)
    expect(server.uploads()).toEqual([])
    expect(await store.head('large')).toBeNull()
  })

  it('lets exactly one of 8 writers with the same expectation win', async () => {
    const store = await open()
    let expected: string | null = null
    for (let round = 0; round < 3; round += 1) {
      const expectation = expected
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, writer) =>
          store.replace('latest.json', Buffer.from(`${round} ${writer}`), expectation),
        ),
      )
      expect(outcomes.filter((won) => won)).toHaveLength(1)
      const stored = await store.get('latest.json')
      expect(Buffer.from(stored?.bytes ?? []).toString()).toBe(`${round} ${outcomes.indexOf(true)}`)
      expected = stored?.version ?? null
    }
  })
})
