/** Whatever goes wrong on the way, the store ends with whole objects or with none, and the next attempt finishes. */

import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ObjectStore } from '../../../src/publish/store/object-store.ts'
import { openStore } from '../../../src/publish/store/open-store.ts'
import { realClock, type Clock } from '../../../src/support/clock.ts'
import { MIB, MINUTE } from '../../../src/support/units.ts'
import type { S3Fault } from '../../helpers/s3-faults.ts'
import { startS3Server, type S3Server } from '../../helpers/s3-server.ts'
import { newFolder } from '../fixtures.ts'

const clock: Clock = { ...realClock, sleep: async (_ms, signal) => signal?.throwIfAborted() }

const target = fc.record({
  operation: fc.constantFrom(
    'PutObject',
    'GetObject',
    'HeadObject',
    'ListObjectsV2',
    'CreateMultipartUpload',
    'UploadPart',
    'CompleteMultipartUpload',
    'AbortMultipartUpload',
    'DeleteObjects',
  ),
  nth: fc.integer({ min: 1, max: 4 }),
  times: fc.constantFrom(1, 2, 3, 99),
})
const action = fc.oneof(
  fc.record({ action: fc.constant('status'), status: fc.constantFrom(403, 409, 500, 503) }),
  fc.record({ action: fc.constantFrom('reset', 'reset-after-commit') }),
)
const special = fc.constantFrom(
  { operation: 'GetObject', action: 'cut' },
  { operation: 'GetObject', action: 'cut', times: 99 },
  { operation: 'CompleteMultipartUpload', action: 'error-in-200' },
  { operation: 'CompleteMultipartUpload', action: 'error-in-200', times: 99 },
  { operation: 'DeleteObjects', action: 'refuse-keys', failing: 'gone', code: 'InternalError' },
)
const faults = fc.array(
  fc.oneof(
    {
      arbitrary: fc.tuple(target, action).map(([where, what]) => ({ ...where, ...what })),
      weight: 4,
    },
    { arbitrary: special, weight: 1 },
  ),
  { minLength: 1, maxLength: 4 },
) as fc.Arbitrary<S3Fault[]>

describe('under any 1 to 4 faults', () => {
  let server: S3Server
  let store: ObjectStore
  beforeAll(async () => {
    server = await startS3Server()
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.accessKeyId)
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.secretAccessKey)
    const s3 = { endpoint: server.endpoint, region: server.region }
    store = await openStore(`s3://${server.bucket}/root`, { clock, s3 })
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await server.close()
  })
  const stored = (key: string) => server.objects().get(`root/${key}`)?.body

  it('no object is half, no answer is untrue, and the same again without faults is done', async () => {
    const folder = newFolder()
    const path = join(folder, 'large')
    const large = randomBytes(17 * MIB)
    writeFileSync(path, large)
    const small = Buffer.from('small')
    await fc.assert(
      fc.asyncProperty(faults, async (injected) => {
        server.reset()
        const copies = newCopies()
        await store.put('gone', small)
        expect(await store.replace('latest.json', Buffer.from('1'), null)).toBe(true)
        const version = (await store.get('latest.json'))?.version ?? null
        server.setFaults(injected)

        const pointer = await outcome(store.replace('latest.json', Buffer.from('2'), version))
        const first = await outcome(store.put('small', small))
        const upload = await outcome(store.putFile('large', path))
        const removal = await outcome(store.remove(['gone']))
        const download = await outcome(store.download('large', copies.path))

        expect(['1', '2']).toContain(String(stored('latest.json')))
        if (pointer !== 'failed') expect(String(stored('latest.json'))).toBe(pointer ? '2' : '1')
        expect([undefined, 'small']).toContain(stored('small')?.toString())
        if (first !== 'failed') expect(stored('small')).toEqual(small)
        expect(stored('large')?.equals(large) ?? true).toBe(true)
        if (upload !== 'failed') expect(stored('large')?.equals(large)).toBe(true)
        if (removal !== 'failed') expect(stored('gone')).toBeUndefined()
        expect(copies.files()).toEqual(download === true ? ['large'] : [])
        if (download === true) expect(readFileSync(copies.path).equals(large)).toBe(true)

        server.setFaults([])
        await store.purge({ uploadsBegunBefore: realClock.now() + MINUTE })
        expect(server.uploads()).toEqual([])
        await store.put('small', small)
        await store.putFile('large', path)
        await store.remove(['gone'])
        expect(await store.download('large', copies.path)).toBe(true)
        expect((await store.list('')).map(({ key, bytes }) => [key, bytes])).toEqual([
          ['large', 17 * MIB],
          ['latest.json', 1],
          ['small', 5],
        ])
      }),
      { numRuns: 8, endOnFailure: true },
    )
  }, 300_000)
})

/** What came of a call; `failed` where it threw. */
function outcome<T>(call: Promise<T>): Promise<T | 'failed'> {
  return call.catch(() => 'failed' as const)
}

/** An empty folder for downloads. */
function newCopies(): { readonly path: string; files(): string[] } {
  const folder = newFolder()
  return { path: join(folder, 'large'), files: () => readdirSync(folder) }
}
