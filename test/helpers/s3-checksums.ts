/** The checksums a client may send with a body, and what S3 does with them. CRC64NVME is refused, not ignored. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { S3Error, notImplemented } from './s3-errors.ts'

const PREFIX = 'x-amz-checksum-'

/** A checksum algorithm, as header names spell it. */
export type ChecksumAlgorithm = 'crc32' | 'crc32c' | 'sha1' | 'sha256'

/** COMPOSITE is the checksum of the parts' checksums, FULL_OBJECT that of the bytes. */
export type ChecksumType = 'COMPOSITE' | 'FULL_OBJECT'

/** A checksum in base64; a composite one ends in `-<number of parts>`. */
export interface Checksum {
  readonly algorithm: ChecksumAlgorithm
  readonly value: string
  readonly type: ChecksumType
}

const DIGEST: Readonly<Record<ChecksumAlgorithm, (data: Buffer) => Buffer>> = {
  crc32: (data) => bigEndian(crc32(data)),
  crc32c: (data) => bigEndian(crc32c(data)),
  sha1: (data) => createHash('sha1').update(data).digest(),
  sha256: (data) => createHash('sha256').update(data).digest(),
}

/** The checksum of `data` in base64. */
export function digest(algorithm: ChecksumAlgorithm, data: Buffer): string {
  return DIGEST[algorithm](data).toString('base64')
}

/** The checksum of an object made of parts: the digest of the parts' digests, with their number. */
export function compositeDigest(algorithm: ChecksumAlgorithm, parts: readonly string[]): string {
  const digests = Buffer.concat(parts.map((part) => Buffer.from(part, 'base64')))
  return `${digest(algorithm, digests)}-${parts.length}`
}

/**
 * An algorithm named in a header such as `x-amz-checksum-algorithm`.
 * @throws S3Error when this server does not know it
 */
export function parseAlgorithm(name: string): ChecksumAlgorithm {
  const lower = name.toLowerCase()
  if (!isAlgorithm(lower)) throw notImplemented(`the checksum algorithm ${name}`)
  return lower
}

/**
 * Verifies Content-MD5 and the checksum in headers or trailers against `body`.
 * @returns the checksum the client sent, or undefined when it sent none
 * @throws S3Error BadDigest on a mismatch, InvalidDigest or InvalidRequest when it is no checksum at all
 */
export function verifyChecksums(
  headers: ReadonlyMap<string, string>,
  trailers: ReadonlyMap<string, string>,
  body: Buffer,
): Checksum | undefined {
  verifyContentMd5(headers.get('content-md5'), body)
  const sent = sentChecksum(headers, trailers)
  if (sent === undefined) return undefined
  const { algorithm, value } = sent
  if (!isBase64(value, digest(algorithm, Buffer.alloc(0)).length)) {
    throw new S3Error('InvalidRequest', `Value for ${PREFIX}${algorithm} header is invalid.`)
  }
  if (digest(algorithm, body) !== value) {
    throw new S3Error(
      'BadDigest',
      `The ${algorithm.toUpperCase()} you specified did not match the calculated checksum.`,
    )
  }
  return sent
}

/** The one checksum that headers or trailers claim, unverified. */
export function sentChecksum(
  headers: ReadonlyMap<string, string>,
  trailers: ReadonlyMap<string, string>,
): Checksum | undefined {
  const sent = [...headers, ...trailers].filter(
    ([name]) => name.startsWith(PREFIX) && !/-(?:algorithm|type|mode)$/.test(name),
  )
  const [first, second] = sent
  if (second !== undefined) {
    throw new S3Error(
      'InvalidRequest',
      `Expecting a single ${PREFIX} header. Multiple checksum Types are not allowed.`,
    )
  }
  const announced = headers.get('x-amz-sdk-checksum-algorithm')
  if (first === undefined) {
    if (announced === undefined) return undefined
    throw new S3Error(
      'InvalidRequest',
      `x-amz-sdk-checksum-algorithm specified, but no corresponding ${PREFIX}* or x-amz-trailer headers were found.`,
    )
  }
  const algorithm = parseAlgorithm(first[0].slice(PREFIX.length))
  if (announced !== undefined && parseAlgorithm(announced) !== algorithm) {
    throw new S3Error('InvalidRequest', 'Value for x-amz-sdk-checksum-algorithm header is invalid.')
  }
  return { algorithm, value: first[1], type: 'FULL_OBJECT' }
}

function verifyContentMd5(value: string | undefined, body: Buffer): void {
  if (value === undefined) return
  if (!isBase64(value, 24)) {
    throw new S3Error('InvalidDigest', 'The Content-MD5 you specified was invalid.')
  }
  if (createHash('md5').update(body).digest('base64') !== value) {
    throw new S3Error(
      'BadDigest',
      'The Content-MD5 you specified did not match what we received.',
      { ExpectedDigest: value },
    )
  }
}

function isAlgorithm(name: string): name is ChecksumAlgorithm {
  return Object.hasOwn(DIGEST, name)
}

function isBase64(value: string, length: number): boolean {
  return value.length === length && Buffer.from(value, 'base64').toString('base64') === value
}

function bigEndian(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(value)
  return buffer
}

// CRC-32C (Castagnoli), reflected polynomial 0x82f63b78 (RFC 3720 appendix B.4): node:zlib has only CRC-32.
const CRC32C_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  return value
})

function crc32c(data: Buffer): number {
  let value = 0xffffffff
  for (const byte of data) value = (value >>> 8) ^ (CRC32C_TABLE[(value ^ byte) & 0xff] ?? 0)
  return (value ^ 0xffffffff) >>> 0
}
