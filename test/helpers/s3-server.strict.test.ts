import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { digest } from './s3-checksums.ts'
import { awsChunked, sendRaw, sendUnsigned } from './s3-raw-request.ts'
import type { S3Server } from './s3-server.ts'
import { startS3Server } from './s3-server.ts'
import { verifySignature } from './s3-signature.ts'

const MINUTE_MS = 60_000
let server: S3Server

beforeAll(async () => {
  server = await startS3Server()
})
beforeEach(() => server.reset())
afterAll(() => server.close())

describe('signature', () => {
  // The worked examples of "Authenticating Requests: Using the Authorization Header" in the S3 API reference.
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  const identity = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
  }
  const examples = [
    {
      name: 'GET of a range',
      path: '/test.txt',
      query: [],
      headers: { range: 'bytes=0-9', 'x-amz-content-sha256': empty },
      signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    },
    {
      name: 'GET of the bucket lifecycle',
      path: '/',
      query: [['lifecycle', '']] as const,
      headers: { 'x-amz-content-sha256': empty },
      signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    },
    {
      name: 'GET of a list of objects',
      path: '/',
      query: [['prefix', 'J'] as const, ['max-keys', '2'] as const],
      headers: { 'x-amz-content-sha256': empty },
      signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    },
  ]

  it.each(examples)(
    'accepts the published example: $name',
    ({ path, query, headers, signature }) => {
      const all = new Map([
        ...Object.entries(headers),
        ['host', 'examplebucket.s3.amazonaws.com'],
        ['x-amz-date', '20130524T000000Z'],
      ] as [string, string][])
      const names = [...all.keys()].toSorted().join(';')
      const signed = (value: string) =>
        new Map([
          ...all,
          [
            'authorization',
            `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${value}`,
          ],
        ])
      const nowMs = Date.parse('2013-05-24T00:00:00Z')
      const check = (value: string) => () =>
        verifySignature({ method: 'GET', path, query, headers: signed(value) }, identity, nowMs)
      expect(check(signature)).not.toThrow()
      expect(check(signature.replace(/^./, 'b'))).toThrow('signature we calculated')
    },
  )

  it.each([
    'plain',
    'a/b/c.json',
    'space%20and%2Bplus',
    'quote%27s%28%29%2A%21',
    '%C3%BC%E4%B8%AD%F0%9F%98%80',
    'double//slash',
    'a%26b%3Dc%3Fd%23e%25f',
  ])('accepts a signed PUT of the encoded key %s and stores it decoded', async (key) => {
    const response = await sendRaw(server, { method: 'PUT', key, body: 'x' })
    expect(response.status).toBe(200)
    expect([...server.objects().keys()]).toEqual([decodeURIComponent(key)])
  })

  it('accepts a bucket request signed over the path with its trailing slash', async () => {
    const query = 'list-type=2&prefix=a%2Fb%20c'
    expect((await sendRaw(server, { method: 'GET', query })).status).toBe(200)
  })

  it.each([
    [403, 'AccessDenied', 'no signature at all', {}],
    [400, 'AuthorizationHeaderMalformed', 'version 2', { authorization: 'AWS AKIA:abc=' }],
  ])('answers %i %s to a request with %s', async (status, code, _what, headers) => {
    const path = `/${server.bucket}/k`
    const response = await sendUnsigned(server, { method: 'GET', path, headers })
    expect([response.status, response.code]).toEqual([status, code])
  })

  it.each([
    [403, 'SignatureDoesNotMatch', 'another secret', { secretAccessKey: 'wrong' }],
    [403, 'InvalidAccessKeyId', 'an unknown key id', { accessKeyId: 'WRONG' }],
    [400, 'AuthorizationHeaderMalformed', 'another region', { region: 'us-east-1' }],
    [400, 'InvalidToken', 'a session token', { headers: { 'x-amz-security-token': 'made-up' } }],
    [403, 'AccessDenied', 'an unsigned x-amz header', { unsignedHeaders: { 'x-amz-meta-a': 'b' } }],
    [403, 'RequestTimeTooSkewed', '16 minutes ago', { signedAtMs: Date.now() - 16 * MINUTE_MS }],
    [403, 'RequestTimeTooSkewed', '16 minutes ahead', { signedAtMs: Date.now() + 16 * MINUTE_MS }],
  ])(
    'answers %i %s to a PUT signed with %s and stores nothing',
    async (status, code, _what, wrong) => {
      const response = await sendRaw(server, { method: 'PUT', key: 'k', body: 'x', ...wrong })
      expect([response.status, response.code]).toEqual([status, code])
      expect(server.objects().size).toBe(0)
    },
  )

  it('takes an empty session token for none, as radosgw does', async () => {
    const headers = { 'x-amz-security-token': '' }
    expect((await sendRaw(server, { method: 'PUT', key: 'k', headers })).status).toBe(200)
  })

  it('accepts a signature that is 14 minutes old', async () => {
    const signedAtMs = Date.now() - 14 * MINUTE_MS
    expect((await sendRaw(server, { method: 'PUT', key: 'k', signedAtMs })).status).toBe(200)
  })

  it('answers with a Date that follows its own clock', async () => {
    const nowMs = Date.parse('2026-11-20T02:15:00Z')
    const other = await startS3Server({ clock: { now: () => nowMs } })
    const response = await sendRaw(other, { method: 'PUT', key: 'k', signedAtMs: nowMs })
    await other.close()
    expect([response.status, response.headers['date']]).toEqual([
      200,
      'Fri, 20 Nov 2026 02:15:00 GMT',
    ])
  })

  it('refuses a header that was changed after signing', async () => {
    const unsignedHeaders = { 'x-amz-date': '20200101T000000Z' }
    const response = await sendRaw(server, { method: 'GET', key: 'k', unsignedHeaders })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.code).toBe('AuthorizationHeaderMalformed')
  })
})

describe('payload', () => {
  it('accepts UNSIGNED-PAYLOAD', async () => {
    const contentSha256 = 'UNSIGNED-PAYLOAD'
    await sendRaw(server, { method: 'PUT', key: 'k', body: 'hello', contentSha256 })
    expect(server.objects().get('k')?.body.toString()).toBe('hello')
  })

  it.each([
    [400, 'XAmzContentSHA256Mismatch', 'f'.repeat(64)],
    [400, 'InvalidArgument', 'not a hash'],
    [501, 'NotImplemented', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'],
  ])('answers %i %s to x-amz-content-sha256: %s', async (status, code, contentSha256) => {
    const response = await sendRaw(server, { method: 'PUT', key: 'k', body: 'x', contentSha256 })
    expect([response.status, response.code]).toEqual([status, code])
    expect(server.objects().size).toBe(0)
  })

  const sum = digest('crc32', Buffer.from('hello'))
  const chunkedPut = (overrides: {
    chunks?: readonly (string | Buffer)[]
    trailers?: Record<string, string>
    headers?: Record<string, string>
    body?: Buffer
  }) =>
    sendRaw(server, {
      method: 'PUT',
      key: 'k',
      contentSha256: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      headers: {
        'content-encoding': 'aws-chunked',
        'x-amz-decoded-content-length': '5',
        'x-amz-trailer': 'x-amz-checksum-crc32',
        ...overrides.headers,
      },
      body:
        overrides.body ??
        awsChunked(
          overrides.chunks ?? ['hello'],
          overrides.trailers ?? { 'x-amz-checksum-crc32': sum },
        ),
    })

  it('stores the 5 bytes inside an aws-chunked body, without its framing or content encoding', async () => {
    expect((await chunkedPut({})).status).toBe(200)
    const stored = server.objects().get('k')
    expect(stored?.body.toString()).toBe('hello')
    expect(stored?.headers).toEqual({ 'content-type': 'binary/octet-stream' })
    expect(stored?.checksum).toEqual({ algorithm: 'crc32', value: sum, type: 'FULL_OBJECT' })
  })

  it('joins 2 chunks of which the first has 8,192 bytes', async () => {
    const chunks = [Buffer.alloc(8192, 'a'), 'b']
    const trailers = { 'x-amz-checksum-sha1': digest('sha1', Buffer.from('a'.repeat(8192) + 'b')) }
    const headers = {
      'x-amz-decoded-content-length': '8193',
      'x-amz-trailer': 'x-amz-checksum-sha1',
    }
    expect((await chunkedPut({ chunks, trailers, headers })).status).toBe(200)
    expect(server.objects().get('k')?.body.length).toBe(8193)
  })

  it.each([
    ['BadDigest', 'a trailer of other bytes', { chunks: ['hellO'] }],
    [
      'InvalidRequest',
      'a trailer that is no checksum',
      { trailers: { 'x-amz-checksum-crc32': 'x' } },
    ],
    ['IncompleteBody', 'fewer bytes than announced', { chunks: ['hell'] }],
    ['IncompleteBody', 'a body that is not framed', { body: Buffer.from('hello') }],
    ['IncompleteBody', 'a body cut in the middle', { body: Buffer.from('5\r\nhel') }],
    ['MalformedTrailerError', 'no trailer although one is announced', { trailers: {} }],
    ['MalformedTrailerError', 'no final line end', { body: Buffer.from('5\r\nhello\r\n0\r\n') }],
    ['InvalidChunkSizeError', 'a first chunk of 2 bytes', { chunks: ['he', 'llo'] }],
    ['MissingContentLength', 'no length', { headers: { 'x-amz-decoded-content-length': '' } }],
  ])('answers %s to an aws-chunked body with %s', async (code, _what, overrides) => {
    expect((await chunkedPut(overrides)).code).toBe(code)
    expect(server.objects().size).toBe(0)
  })
})

describe('checksums', () => {
  it.each([
    ['crc32', 'cbf43926'],
    ['crc32c', 'e3069283'],
    ['sha1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
    ['sha256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
  ] as const)('computes the published %s of 123456789', (algorithm, hex) => {
    const sum = digest(algorithm, Buffer.from('123456789'))
    expect(Buffer.from(sum, 'base64').toString('hex')).toBe(hex)
  })

  it.each(['crc32', 'crc32c', 'sha1', 'sha256'] as const)(
    'keeps a right x-amz-checksum-%s and answers BadDigest to that of other bytes',
    async (algorithm) => {
      const put = (sum: string) => {
        const headers = { [`x-amz-checksum-${algorithm}`]: sum }
        return sendRaw(server, { method: 'PUT', key: 'k', body: 'x', headers })
      }
      expect((await put(digest(algorithm, Buffer.from('y')))).code).toBe('BadDigest')
      expect(server.objects().size).toBe(0)
      const right = digest(algorithm, Buffer.from('x'))
      expect((await put(right)).headers[`x-amz-checksum-${algorithm}`]).toBe(right)
    },
  )

  const md5 = (text: string) => createHash('md5').update(text).digest('base64')
  it.each([
    [200, undefined, { 'content-md5': md5('x') }],
    [400, 'BadDigest', { 'content-md5': md5('y') }],
    [400, 'InvalidDigest', { 'content-md5': 'no base64 of 16 bytes' }],
    [400, 'InvalidRequest', { 'x-amz-checksum-crc32': 'AAAA' }],
    [400, 'InvalidRequest', { 'x-amz-sdk-checksum-algorithm': 'CRC32' }],
    [
      400,
      'InvalidRequest',
      { 'x-amz-sdk-checksum-algorithm': 'SHA1', 'x-amz-checksum-crc32': 'jNwWgw==' },
    ],
    [400, 'InvalidRequest', { 'x-amz-checksum-crc32': 'AAAAAA==', 'x-amz-checksum-sha1': 'A' }],
    [501, 'NotImplemented', { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' }],
  ])('answers %i %s to a PUT with %o', async (status, code, headers) => {
    const response = await sendRaw(server, { method: 'PUT', key: 'k', body: 'x', headers })
    expect([response.status, response.code]).toEqual([status, code])
  })

  it('answers InvalidRequest to DeleteObjects without any checksum', async () => {
    const body = '<Delete><Object><Key>k</Key></Object></Delete>'
    const response = await sendRaw(server, { method: 'POST', query: 'delete=', body })
    expect([response.status, response.code]).toEqual([400, 'InvalidRequest'])
  })
})

describe('requests that S3 refuses', () => {
  const put = { method: 'PUT', key: 'k' }
  const tooMuchMetadata = { 'x-amz-meta-a': 'a'.repeat(2048) }
  it.each([
    [404, 'NoSuchBucket', 'another bucket', { method: 'GET', path: '/other-bucket/k' }],
    [404, 'NoSuchKey', 'a missing key', { method: 'GET', key: 'missing' }],
    [404, 'NoSuchUpload', 'an unknown upload', { ...put, query: 'partNumber=1&uploadId=none' }],
    [405, 'MethodNotAllowed', 'DELETE on the bucket', { method: 'DELETE' }],
    [400, 'KeyTooLongError', 'a key of 1,025 bytes', { ...put, key: 'k'.repeat(1025) }],
    [400, 'InvalidURI', 'a key that is no UTF-8', { ...put, key: '%ff' }],
    [400, 'InvalidArgument', 'max-keys -1', { method: 'GET', query: 'list-type=2&max-keys=-1' }],
    [
      400,
      'InvalidArgument',
      'a made-up token',
      { method: 'GET', query: 'continuation-token=x&list-type=2' },
    ],
    [
      400,
      'InvalidArgument',
      'part number 10,001',
      { ...put, query: 'partNumber=10001&uploadId=u' },
    ],
    [400, 'MetadataTooLarge', '2,049 bytes of metadata', { ...put, headers: tooMuchMetadata }],
    [
      501,
      'NotImplemented',
      'If-None-Match with an ETag',
      { ...put, headers: { 'if-none-match': '"a"' } },
    ],
    [501, 'NotImplemented', 'a copy', { ...put, headers: { 'x-amz-copy-source': '/b/k' } }],
    [404, 'NoSuchVersion', 'a version', { method: 'GET', key: 'k', query: 'versionId=1' }],
    [
      400,
      'AccessControlListNotSupported',
      'an ACL',
      { ...put, headers: { 'x-amz-acl': 'private' } },
    ],
    [
      400,
      'AccessControlListNotSupported',
      'a grant',
      { ...put, headers: { 'x-amz-grant-read': 'id=1' } },
    ],
    [
      400,
      'InvalidStorageClass',
      'the storage class ATTIC',
      { ...put, headers: { 'x-amz-storage-class': 'ATTIC' } },
    ],
    [
      400,
      'InvalidArgument',
      'a KMS key without aws:kms',
      { ...put, headers: { 'x-amz-server-side-encryption-aws-kms-key-id': 'test-key' } },
    ],
    [
      400,
      'InvalidArgument',
      'an encryption header on GET',
      { method: 'GET', key: 'k', headers: { 'x-amz-server-side-encryption': 'AES256' } },
    ],
    [501, 'NotImplemented', 'the first version of listing', { method: 'GET' }],
  ])('answers %i %s to %s', async (status, code, _what, raw) => {
    const response = await sendRaw(server, raw)
    expect([response.status, response.code]).toEqual([status, code])
    expect(response.headers['content-type']).toBe('application/xml')
  })

  it.each([
    'not xml',
    '<Other><Object><Key>k</Key></Object></Other>',
    '<Delete></Delete>',
    '<Delete><Object><Key>k</Key></Object>',
    '<Delete><Object><Key>k</Name></Object></Delete>',
    '<Delete><Object><Key></Key></Object></Delete>',
  ])('answers MalformedXML to DeleteObjects with the body %s', async (body) => {
    const headers = { 'x-amz-checksum-crc32': digest('crc32', Buffer.from(body)) }
    const response = await sendRaw(server, { method: 'POST', query: 'delete=', body, headers })
    expect([response.status, response.code]).toEqual([400, 'MalformedXML'])
  })

  it('answers 501 to a chunked transfer whose length is not announced', async () => {
    const headers = { 'transfer-encoding': 'chunked' }
    const response = await sendRaw(server, { method: 'PUT', key: 'k', body: 'x', headers })
    expect([response.status, response.code]).toEqual([501, 'NotImplemented'])
    expect(server.objects().size).toBe(0)
  })
})

describe('ranges', () => {
  it.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=9-99', 206, '9', 'bytes 9-9/10'],
    ['bytes=5-4', 200, '0123456789', undefined],
    ['bytes=0-1,3-4', 200, '0123456789', undefined],
    ['items=0-1', 200, '0123456789', undefined],
  ])('answers Range: %s with %i and %s', async (range, status, body, contentRange) => {
    await sendRaw(server, { method: 'PUT', key: 'k', body: '0123456789' })
    const response = await sendRaw(server, { method: 'GET', key: 'k', headers: { range } })
    expect([response.status, response.body]).toEqual([status, body])
    expect(response.headers['content-range']).toBe(contentRange)
  })

  it.each(['bytes=10-', 'bytes=-0'])('answers 416 to Range: %s of 10 bytes', async (range) => {
    await sendRaw(server, { method: 'PUT', key: 'k', body: '0123456789' })
    const response = await sendRaw(server, { method: 'GET', key: 'k', headers: { range } })
    expect([response.status, response.code]).toEqual([416, 'InvalidRange'])
    expect(response.body).toContain('<ActualObjectSize>10</ActualObjectSize>')
  })
})
