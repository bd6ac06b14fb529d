/** Shared suite: who may ask, and whether what arrived is what was sent. */

import { createHash, randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { digest } from '../../helpers/s3-checksums.ts'
import {
  awsChunked,
  sendRaw,
  sendUnsigned,
  signedHeaders,
  type RawRequest,
} from '../../helpers/s3-raw-request.ts'
import { MINUTE } from '../../../src/support/units.ts'
import type { Conformance } from './store-conformance.ts'

/** Describes signatures, payload hashes, trailers and checksums. */
export function describeRequests({ bucket, check }: Conformance): void {
  describe('requests', () => {
    const target = bucket()

    /** Puts, and expects a refusal that stores nothing. */
    async function refused(raw: Omit<RawRequest, 'method' | 'key'>, status: number, code: string) {
      const key = `refused-${randomUUID()}`
      const answer = await sendRaw(target(), { method: 'PUT', key, body: 'x', ...raw })
      expect([answer.status, answer.code]).toEqual([status, code])
      expect((await sendRaw(target(), { method: 'GET', key })).status).toBe(404)
    }

    check('a PUT signed with another secret answers 403 SignatureDoesNotMatch', async () =>
      refused({ secretAccessKey: 'wrong' }, 403, 'SignatureDoesNotMatch'),
    )
    check('a PUT of an unknown key id answers 403 InvalidAccessKeyId', async () =>
      refused({ accessKeyId: 'WRONG' }, 403, 'InvalidAccessKeyId'),
    )
    check('a PUT signed 16 minutes ago answers 403 RequestTimeTooSkewed', async () =>
      refused({ signedAtMs: Date.now() - 16 * MINUTE }, 403, 'RequestTimeTooSkewed'),
    )
    check('a PUT signed 14 minutes ago is taken', async () => {
      const signedAtMs = Date.now() - 14 * MINUTE
      const answer = await sendRaw(target(), { method: 'PUT', key: 'old', body: 'x', signedAtMs })
      expect(answer.status).toBe(200)
    })
    check('a PUT signed for another region answers 400', async () =>
      refused({ region: 'mars-1' }, 400, 'AuthorizationHeaderMalformed'),
    )
    check('a PUT with an x-amz header that is not signed answers 403 AccessDenied', async () =>
      refused({ unsignedHeaders: { 'x-amz-meta-a': 'b' } }, 403, 'AccessDenied'),
    )
    check('a GET without a signature answers 403 AccessDenied', async () => {
      const path = `/${target().bucket}/nothing`
      const answer = await sendUnsigned(target(), { method: 'GET', path })
      expect([answer.status, answer.code]).toEqual([403, 'AccessDenied'])
    })
    check('a PUT into a bucket that is not there answers 404 NoSuchBucket', async () => {
      const path = `/no-such-bucket-${randomUUID()}/k`
      const answer = await sendRaw(target(), { method: 'PUT', path, body: 'x' })
      expect([answer.status, answer.code]).toEqual([404, 'NoSuchBucket'])
    })
    check('a PUT whose bytes are not those that were signed answers 400', async () =>
      refused({ contentSha256: 'f'.repeat(64) }, 400, 'XAmzContentSHA256Mismatch'),
    )
    check('a PUT of which half the bytes arrive stores nothing', async () => {
      await sendHalf('half')
      expect((await sendRaw(target(), { method: 'GET', key: 'half' })).status).toBe(404)
    })

    /** Announces 2,000 bytes, sends 1,000, goes away, and leaves the server 300 ms to notice. */
    async function sendHalf(key: string): Promise<void> {
      const { hostname, port } = new URL(target().endpoint)
      const body = Buffer.alloc(2000)
      const headers = signedHeaders(target(), { method: 'PUT', key, body })
      const path = `/${target().bucket}/${key}`
      await new Promise<void>((resolve) => {
        const outgoing = httpRequest({ hostname, port, method: 'PUT', path, headers, agent: false })
        outgoing.on('error', () => resolve())
        outgoing.write(body.subarray(0, 1000), () => outgoing.destroy())
        outgoing.on('close', () => resolve())
      })
      await pause(300)
    }
  })

  describe('checksums', () => {
    const target = bucket()
    const put = (headers: Record<string, string>, key: string = randomUUID()) =>
      sendRaw(target(), { method: 'PUT', key, body: 'x', headers })

    for (const algorithm of ['crc32', 'crc32c', 'sha1', 'sha256'] as const) {
      const headers = (text: string) => ({
        'x-amz-sdk-checksum-algorithm': algorithm.toUpperCase(),
        [`x-amz-checksum-${algorithm}`]: digest(algorithm, Buffer.from(text)),
      })
      check(
        `a PUT with the ${algorithm} of other bytes answers 400 and stores nothing`,
        async () => {
          const key = `other-${algorithm}`
          expect((await put(headers('y'), key)).status).toBe(400)
          expect((await sendRaw(target(), { method: 'GET', key })).status).toBe(404)
        },
      )
      check(`a PUT with its ${algorithm} is taken, and a HEAD tells it`, async () => {
        const key = `right-${algorithm}`
        expect((await put(headers('x'), key)).status).toBe(200)
        const mode = { 'x-amz-checksum-mode': 'ENABLED' }
        const head = await sendRaw(target(), { method: 'HEAD', key, headers: mode })
        const name = `x-amz-checksum-${algorithm}`
        expect(head.headers[name]).toBe(digest(algorithm, Buffer.from('x')))
      })
    }
    check('a wrong crc32 answers 400 also where no algorithm is announced', async () => {
      const sum = digest('crc32', Buffer.from('y'))
      expect((await put({ 'x-amz-checksum-crc32': sum })).status).toBe(400)
    })
    check('a PUT with the Content-MD5 of other bytes answers 400 BadDigest', async () => {
      const md5 = createHash('md5').update('y').digest('base64')
      const answer = await put({ 'content-md5': md5 })
      expect([answer.status, answer.code]).toEqual([400, 'BadDigest'])
    })

    const chunked = (key: string, sumOf: string) =>
      sendRaw(target(), {
        method: 'PUT',
        key,
        contentSha256: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
        headers: {
          'content-encoding': 'aws-chunked',
          'x-amz-decoded-content-length': '5',
          'x-amz-sdk-checksum-algorithm': 'CRC32',
          'x-amz-trailer': 'x-amz-checksum-crc32',
        },
        body: awsChunked(['hello'], {
          'x-amz-checksum-crc32': digest('crc32', Buffer.from(sumOf)),
        }),
      })
    check('an aws-chunked body with its crc32 is stored without its framing', async () => {
      expect((await chunked('chunked', 'hello')).status).toBe(200)
      expect((await sendRaw(target(), { method: 'GET', key: 'chunked' })).body).toBe('hello')
    })
    check(
      'an aws-chunked body with the crc32 of other bytes answers 400 and is not stored',
      async () => {
        expect((await chunked('chunked-wrong', 'jello')).status).toBe(400)
        expect((await sendRaw(target(), { method: 'GET', key: 'chunked-wrong' })).status).toBe(404)
      },
    )
    check('DeleteObjects without a checksum answers 400', async () => {
      const body = '<Delete><Object><Key>k</Key></Object></Delete>'
      const answer = await sendRaw(target(), { method: 'POST', query: 'delete=', body })
      expect(answer.status).toBe(400)
    })
    check(
      'DeleteObjects with the sha256 of another body answers 400 and removes nothing',
      async () => {
        await sendRaw(target(), { method: 'PUT', key: 'kept', body: 'x' })
        const body = '<Delete><Object><Key>kept</Key></Object></Delete>'
        const headers = {
          'x-amz-sdk-checksum-algorithm': 'SHA256',
          'x-amz-checksum-sha256': digest('sha256', Buffer.from('other')),
        }
        const answer = await sendRaw(target(), { method: 'POST', query: 'delete=', body, headers })
        expect(answer.status).toBe(400)
        expect((await sendRaw(target(), { method: 'GET', key: 'kept' })).status).toBe(200)
      },
    )
  })
}
