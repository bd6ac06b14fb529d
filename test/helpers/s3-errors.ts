/** The errors of the S3 API: code, HTTP status and the extra facts that S3 puts beside the message. */

const STATUS = {
  AccessControlListNotSupported: 400,
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  BadDigest: 400,
  ConditionalRequestConflict: 409,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidChunkSizeError: 403,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidStorageClass: 400,
  InvalidToken: 400,
  InvalidURI: 400,
  'KMS.NotFoundException': 400,
  KeyTooLongError: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
  XAmzContentSHA256Mismatch: 400,
} as const

/** An error code of the S3 API. */
export type S3ErrorCode = keyof typeof STATUS

/** A refusal, as S3 words it. */
export class S3Error extends Error {
  override readonly name = 'S3Error'
  readonly code: S3ErrorCode
  readonly status: number
  /** Further elements of the error document, such as `MinSizeAllowed`. */
  readonly details: Readonly<Record<string, string | number>>

  constructor(
    code: S3ErrorCode,
    message: string,
    details: Readonly<Record<string, string | number>> = {},
  ) {
    super(message)
    this.code = code
    this.status = STATUS[code]
    this.details = details
  }
}

/** Refuses what this server does not do, so that nothing a client asks for is silently left undone. */
export function notImplemented(subject: string): S3Error {
  return new S3Error('NotImplemented', `This server does not implement ${subject}.`, {
    Header: subject,
  })
}
