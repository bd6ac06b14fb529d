/**
 * AWS Signature Version 4 in the Authorization header, checked the way S3 checks it.
 * Knows nothing of objects: it sees one request and says yes or throws.
 * S3 differs from other services in one point: the path is encoded once and never normalised.
 */
import { createHash, createHmac } from 'node:crypto'
import { S3Error } from './s3-errors.ts'

const ALGORITHM = 'AWS4-HMAC-SHA256'
const MAX_SKEW_MS = 15 * 60 * 1000

/** What is signed of a request. Header names are lower-case; repeated headers are joined by a comma. */
export interface SignedRequest {
  readonly method: string
  /** The path, decoded. */
  readonly path: string
  /** The query parameters, decoded, in the order sent. */
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly headers: ReadonlyMap<string, string>
}

/** Who may sign, and for which region. */
export interface SigningIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

interface Authorization {
  readonly accessKeyId: string
  /** `20261120/eu-test-1/s3/aws4_request` */
  readonly scope: string
  readonly scopeDate: string
  readonly region: string
  readonly signedHeaders: readonly string[]
  readonly signature: string
}

/**
 * Checks that `identity` signed `request` within 15 minutes of `nowMs`.
 * @throws S3Error when it did not, with the code that S3 gives
 */
export function verifySignature(
  request: SignedRequest,
  identity: SigningIdentity,
  nowMs: number,
): void {
  const authorization = parseAuthorization(request.headers.get('authorization'))
  const timestamp = request.headers.get('x-amz-date') ?? ''
  checkScope(authorization, identity, timestamp)
  checkTime(timestamp, nowMs)
  checkSignedHeaders(request.headers, authorization.signedHeaders)

  const canonicalRequest = canonicalise(request, authorization.signedHeaders)
  const stringToSign = [ALGORITHM, timestamp, authorization.scope, sha256Hex(canonicalRequest)]
  const signature = hmac(signingKey(identity, authorization.scopeDate), stringToSign.join('\n'))
  if (signature.toString('hex') !== authorization.signature) {
    throw new S3Error(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
      {
        AWSAccessKeyId: authorization.accessKeyId,
        StringToSign: stringToSign.join('\n'),
        CanonicalRequest: canonicalRequest,
      },
    )
  }
}

/** RFC 3986 encoding as Signature V4 defines it; `/` stays when `keepSlash` is true. */
export function awsUriEncode(text: string, keepSlash: boolean): string {
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return keepSlash ? encoded.replaceAll('%2F', '/') : encoded
}

function parseAuthorization(header: string | undefined): Authorization {
  if (header === undefined) throw new S3Error('AccessDenied', 'Access Denied')
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$/.exec(
      header,
    )
  const [accessKeyId, scopeDate, region, service, terminator, ...rest] =
    match?.[1]?.split('/') ?? []
  if (
    accessKeyId === undefined ||
    scopeDate === undefined ||
    region === undefined ||
    service !== 's3' ||
    terminator !== 'aws4_request' ||
    rest.length > 0
  ) {
    throw malformed('the header must hold Credential=<key>/<date>/<region>/s3/aws4_request')
  }
  return {
    accessKeyId,
    scope: [scopeDate, region, service, terminator].join('/'),
    scopeDate,
    region,
    signedHeaders: match?.[2]?.split(';') ?? [],
    signature: match?.[3] ?? '',
  }
}

function checkScope(
  authorization: Authorization,
  identity: SigningIdentity,
  timestamp: string,
): void {
  if (authorization.accessKeyId !== identity.accessKeyId) {
    throw new S3Error(
      'InvalidAccessKeyId',
      'The AWS Access Key Id you provided does not exist in our records.',
      { AWSAccessKeyId: authorization.accessKeyId },
    )
  }
  if (authorization.region !== identity.region) {
    throw malformed(
      `the region '${authorization.region}' is wrong; expecting '${identity.region}'`,
      { Region: identity.region },
    )
  }
  if (!timestamp.startsWith(authorization.scopeDate)) {
    throw malformed(`the credential date '${authorization.scopeDate}' is not that of x-amz-date`)
  }
}

function checkTime(timestamp: string, nowMs: number): void {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(timestamp)
  const [year, month, day, hour, minute, second] = (match ?? []).slice(1).map(Number)
  const signedAtMs = Date.UTC(year ?? NaN, (month ?? NaN) - 1, day, hour, minute, second)
  if (Number.isNaN(signedAtMs)) {
    throw new S3Error('AccessDenied', 'AWS authentication requires a valid x-amz-date header')
  }
  if (Math.abs(nowMs - signedAtMs) > MAX_SKEW_MS) {
    throw new S3Error(
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
      {
        RequestTime: timestamp,
        ServerTime: new Date(nowMs).toISOString(),
        MaxAllowedSkewMilliseconds: MAX_SKEW_MS,
      },
    )
  }
}

// S3 requires `host` and every x-amz-* header that was sent to be signed; an unsigned one could have been added on the way.
function checkSignedHeaders(
  headers: ReadonlyMap<string, string>,
  signedHeaders: readonly string[],
): void {
  const unsigned = [...headers.keys()].filter(
    (name) => (name === 'host' || name.startsWith('x-amz-')) && !signedHeaders.includes(name),
  )
  if (unsigned.length > 0) {
    throw new S3Error(
      'AccessDenied',
      'There were headers present in the request which were not signed',
      { HeadersNotSigned: unsigned.join(', ') },
    )
  }
}

function canonicalise(request: SignedRequest, signedHeaders: readonly string[]): string {
  const query = request.query
    .map(([name, value]) => [awsUriEncode(name, false), awsUriEncode(value, false)] as const)
    .toSorted((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
  const headers = signedHeaders.map((name) => {
    const value = request.headers.get(name) ?? ''
    return `${name}:${value.trim().replace(/ +/g, ' ')}\n`
  })
  return [
    request.method,
    awsUriEncode(request.path, true),
    query.join('&'),
    headers.join(''),
    signedHeaders.join(';'),
    request.headers.get('x-amz-content-sha256') ?? '',
  ].join('\n')
}

function signingKey(identity: SigningIdentity, scopeDate: string): Buffer {
  const dateKey = hmac(`AWS4${identity.secretAccessKey}`, scopeDate)
  return hmac(hmac(hmac(dateKey, identity.region), 's3'), 'aws4_request')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function malformed(reason: string, details: Readonly<Record<string, string>> = {}): S3Error {
  return new S3Error(
    'AuthorizationHeaderMalformed',
    `The authorization header is malformed; ${reason}`,
    details,
  )
}
