/**
 * Where a release of a real server does not do what S3 does. A check that is listed here must fail on that server: one
 * that passes meanwhile has to leave the list.
 */

/** Checks of the shared suite by name, each with the reason why a server does not pass it. */
export type Deviations = Readonly<Record<string, string>>

const RADOSGW: Deviations = {
  'a PUT signed for another region answers 400': 'it takes any region that the signature names',
  'a wrong crc32 answers 400 also where no algorithm is announced':
    'it looks at a checksum only where x-amz-sdk-checksum-algorithm announces it; the SDK does',
  'DeleteObjects without a checksum answers 400': 'it asks for none',
  'DeleteObjects with the sha256 of another body answers 400 and removes nothing':
    'it does not look at it; the hash in the signature still covers the body',
  'refuse an ACL with 400 AccessControlListNotSupported': 'it has ACLs; we send none',
  'answer 400 InvalidPartOrder to parts that are listed backwards': 'it sorts them',
  'answer 404 NoSuchUpload to a completion after they were aborted':
    'it answers 500: for all it knows the upload is just being completed',
  'AES256 is confirmed by PUT and HEAD':
    'its keys for that come from a Vault, which is not set up here',
}

const NEWER = 'it knows the checksums of 2022 and later not yet'
const BARE = 'it wants the ETag bare; the probe finds that out'

const RADOSGW_UP_TO_18: Deviations = {
  ...RADOSGW,
  'a PUT with an x-amz header that is not signed answers 403 AccessDenied': 'it takes it',
  ...Object.fromEntries(
    ['crc32', 'crc32c', 'sha1', 'sha256'].flatMap((algorithm) => [
      [`a PUT with the ${algorithm} of other bytes answers 400 and stores nothing`, NEWER],
      [`a PUT with its ${algorithm} is taken, and a HEAD tells it`, NEWER],
    ]),
  ),
  'refuse a part with the sha256 of other bytes': NEWER,
  'If-Match replaces with the quoted ETag, then answers 412 to it': BARE,
  'of 12 writers that replace the same ETag, 1 wins': BARE,
  'If-Match on what is not there answers 404 NoSuchKey':
    'it answers 412; either way the write is lost',
  'answer 412 to a completion with If-None-Match: * where there is an object':
    'it ignores the condition; we complete without one',
  'purges old versions and markers of a prefix, and no bytes that are there':
    'it ignores conditional writes in a bucket that keeps versions; our store refuses to open that',
}

const KNOWN: readonly (readonly [server: RegExp, deviations: Deviations])[] = [
  [/^radosgw 20\./, RADOSGW],
  [
    /^radosgw 18\./,
    {
      ...RADOSGW_UP_TO_18,
      'an aws-chunked body with the crc32 of other bytes answers 400 and is not stored': NEWER,
    },
  ],
  [
    /^radosgw 16\./,
    {
      ...RADOSGW_UP_TO_18,
      'an aws-chunked body with its crc32 is stored without its framing':
        'it refuses trailers; we send none',
      'aws:kms with a key that there is not answers 400': 'it answers 403 InvalidAccessKeyId',
    },
  ],
]

/** What is known of a server, such as `radosgw 20.2.4`; of most there is nothing. */
export function deviationsOf(server: string): Deviations {
  const found = KNOWN.filter(([pattern]) => pattern.test(server)).map(([, known]) => known)
  return Object.assign({}, ...found) as Deviations
}
