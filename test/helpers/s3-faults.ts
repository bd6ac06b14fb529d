/** Faults as data: which requests go wrong, and how. Picking them is pure counting; the server acts on them. */
import { S3Error } from './s3-errors.ts'
import type { S3ErrorCode } from './s3-errors.ts'
import type { S3Operation } from './s3-routes.ts'

/** Which requests a fault hits: the `nth` one that matches (from 1, default 1) and the following, `times` in all (default 1). */
export interface FaultTarget {
  /** `any`: every request counts, whatever it asks for. */
  readonly operation: S3Operation | 'any'
  /** A part of the key; without it every key matches. DeleteObjects and listings have no key. */
  readonly key?: string
  readonly nth?: number
  readonly times?: number
}

/**
 * What happens to them.
 * `status`: an error document; nothing is done. `reset`: the body is read, nothing is done, the connection is reset.
 * `slow`: the answer starts `delayMs` later. `error-in-200`: CompleteMultipartUpload answers 200 with an error in the body and
 * nothing is done. `reset-after-commit`: the request is carried out, then the connection is reset. `cut`: the connection
 * is reset in the middle of the body of GetObject. `refuse-keys`: DeleteObjects answers 200, but says `code` of each key
 * that has `failing` in it.
 */
export type S3Fault =
  | (FaultTarget & { readonly action: 'status'; readonly status: FaultStatus })
  | (FaultTarget & { readonly action: 'reset' | 'reset-after-commit' })
  | (FaultTarget & { readonly action: 'slow'; readonly delayMs: number })
  | (FaultTarget & {
      readonly operation: 'CompleteMultipartUpload'
      readonly action: 'error-in-200'
    })
  | (FaultTarget & { readonly operation: 'GetObject'; readonly action: 'cut' })
  | (FaultTarget & {
      readonly operation: 'DeleteObjects'
      readonly action: 'refuse-keys'
      readonly failing: string
      readonly code: 'AccessDenied' | 'InternalError'
    })

/** The statuses a fault can answer with: AccessDenied, ConditionalRequestConflict, InternalError, SlowDown. */
export type FaultStatus = 403 | 409 | 500 | 503

const STATUS_ERRORS: Readonly<Record<FaultStatus, readonly [S3ErrorCode, string]>> = {
  403: ['AccessDenied', 'Access Denied'],
  409: [
    'ConditionalRequestConflict',
    'The conditional request cannot succeed due to a conflicting operation against this resource.',
  ],
  500: ['InternalError', 'We encountered an internal error. Please try again.'],
  503: ['SlowDown', 'Please reduce your request rate.'],
}

/** The error that a `status` fault answers with. */
export function faultError(status: FaultStatus): S3Error {
  const [code, message] = STATUS_ERRORS[status]
  return new S3Error(code, message)
}

/** Counts matching requests from the moment it is made, and tells which faults hit each. */
export function faultPicker(
  faults: readonly S3Fault[],
): (operation: S3Operation, key: string | undefined) => S3Fault[] {
  const seen = faults.map(() => 0)
  return (operation, key) =>
    faults.filter((fault, index) => {
      const isKeyMatch = fault.key === undefined || (key?.includes(fault.key) ?? false)
      const isMatch = fault.operation === operation || fault.operation === 'any'
      if (!isMatch || !isKeyMatch) return false
      const count = (seen[index] ?? 0) + 1
      seen[index] = count
      const nth = fault.nth ?? 1
      return count >= nth && count < nth + (fault.times ?? 1)
    })
}
