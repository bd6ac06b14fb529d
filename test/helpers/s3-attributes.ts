/** What an object is besides its bytes: user metadata, headers, encryption, storage class; and the headers that tell of it. */
import { createHash } from 'node:crypto'
import type { Checksum } from './s3-checksums.ts'
import { S3Error } from './s3-errors.ts'
import type { Encryption, ObjectAttributes } from './s3-store.ts'

const MAX_METADATA_BYTES = 2048
const STORAGE_CLASSES = [
  'STANDARD',
  'REDUCED_REDUNDANCY',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER',
  'DEEP_ARCHIVE',
  'GLACIER_IR',
]
const KEPT_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
]

/**
 * What a client says of an object besides its bytes. `aws-chunked` is how the bytes travelled, not what they are.
 * @throws S3Error MetadataTooLarge over 2 KiB; InvalidStorageClass, InvalidArgument or KMS.NotFoundException for what
 * there is not
 */
export function readAttributes(
  headers: ReadonlyMap<string, string>,
  kmsKeyIds: readonly string[],
): ObjectAttributes {
  const metadata: Record<string, string> = {}
  for (const [name, value] of headers) {
    if (name.startsWith('x-amz-meta-')) metadata[name.slice('x-amz-meta-'.length)] = value
  }
  const size = Buffer.byteLength(Object.entries(metadata).flat().join(''))
  if (size > MAX_METADATA_BYTES) {
    throw new S3Error(
      'MetadataTooLarge',
      'Your metadata headers exceed the maximum allowed metadata size',
      { Size: size, MaxSizeAllowed: MAX_METADATA_BYTES },
    )
  }
  const kept: Record<string, string> = { 'content-type': 'binary/octet-stream' }
  for (const name of KEPT_HEADERS) {
    const value = headers.get(name)
    if (value !== undefined) kept[name] = value
  }
  const encodings = (kept['content-encoding'] ?? '')
    .split(',')
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'aws-chunked')
  if (encodings.length > 0) kept['content-encoding'] = encodings.join(',')
  else delete kept['content-encoding']
  const storageClass = headers.get('x-amz-storage-class') ?? 'STANDARD'
  if (!STORAGE_CLASSES.includes(storageClass)) {
    throw new S3Error('InvalidStorageClass', 'The storage class you specified is not valid', {
      StorageClassRequested: storageClass,
    })
  }
  return { metadata, headers: kept, encryption: readEncryption(headers, kmsKeyIds), storageClass }
}

function readEncryption(
  headers: ReadonlyMap<string, string>,
  kmsKeyIds: readonly string[],
): Encryption | undefined {
  const algorithm = headers.get('x-amz-server-side-encryption')
  const kmsKeyId = headers.get('x-amz-server-side-encryption-aws-kms-key-id')
  if (algorithm === undefined && kmsKeyId === undefined) return undefined
  if (algorithm === 'aws:kms') {
    if (kmsKeyId !== undefined && !kmsKeyIds.includes(kmsKeyId)) {
      throw new S3Error('KMS.NotFoundException', `Key '${kmsKeyId}' does not exist`)
    }
    return { algorithm, kmsKeyId: kmsKeyId ?? 'the-key-of-the-account' }
  }
  if (algorithm === 'AES256' && kmsKeyId === undefined) return { algorithm, kmsKeyId }
  throw new S3Error(
    'InvalidArgument',
    'The encryption method specified is not supported, or a key is named without aws:kms',
    { ArgumentName: 'x-amz-server-side-encryption', ArgumentValue: algorithm ?? '' },
  )
}

/** The headers that tell a checksum. */
export function checksumHeaders(checksum: Checksum | undefined): Record<string, string> {
  if (checksum === undefined) return {}
  return {
    [`x-amz-checksum-${checksum.algorithm}`]: checksum.value,
    'x-amz-checksum-type': checksum.type,
  }
}

/** The MD5 of `data` in hexadecimal, which is what S3 makes ETags from. */
export function md5Hex(data: Buffer): string {
  return createHash('md5').update(data).digest('hex')
}

/** The headers that tell how an object lies encrypted. */
export function encryptionHeaders({
  encryption,
}: Pick<ObjectAttributes, 'encryption'>): Record<string, string> {
  if (encryption === undefined) return {}
  const { algorithm, kmsKeyId } = encryption
  return {
    'x-amz-server-side-encryption': algorithm,
    ...(kmsKeyId === undefined ? {} : { 'x-amz-server-side-encryption-aws-kms-key-id': kmsKeyId }),
  }
}

/** An ETag with its quotes: the MD5 of `content`, but not where that would tell about what is encrypted with a key. */
export function etagOf(
  content: Buffer,
  { encryption }: Pick<ObjectAttributes, 'encryption'>,
): string {
  const isMd5 = encryption?.algorithm !== 'aws:kms'
  return `"${md5Hex(isMd5 ? content : Buffer.concat([content, Buffer.from('with a key')]))}"`
}
