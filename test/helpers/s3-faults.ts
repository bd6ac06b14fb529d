/** Faults as data: which requests to the S3 server of these tests go wrong, and how. */

/** An operation of the S3 API that the server carries out. */
export type S3Operation =
  | 'ListObjectsV2'
  | 'ListObjectVersions'
  | 'ListMultipartUploads'
  | 'PutBucketVersioning'
  | 'DeleteObjects'
  | 'GetObject'
  | 'HeadObject'
  | 'PutObject'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'

/** Which requests a fault hits: the `nth` one that matches (from 1, default 1) and the following, `times` in all (default 1). */
interface FaultTarget {
  /** `any`: every request counts, whatever it asks for. */
  readonly operation: S3Operation | 'any'
  /** A part of the key; without it every key matches. DeleteObjects and listings have no key. */
  readonly key?: string
  readonly nth?: number
  readonly times?: number
}

/**
 * What happens to them.
 * `status`: an error document; nothing is done. `reset`: nothing is done, the connection is reset. `slow`: the answer starts
 * `delayMs` later. `error-in-200`: 200 with an error in the body, and nothing is done. `reset-after-commit`: the request is
 * carried out, then the connection is reset. `cut`: the connection is reset in the middle of the answer's body.
 * `refuse-keys`: DeleteObjects answers 200, but with `code` for each key that has `failing` in it.
 */
export type S3Fault = FaultTarget &
  (
    | { readonly action: 'status'; readonly status: 403 | 409 | 500 | 503 }
    | { readonly action: 'reset' | 'reset-after-commit' | 'error-in-200' | 'cut' }
    | { readonly action: 'slow'; readonly delayMs: number }
    | { readonly action: 'refuse-keys'; readonly failing: string; readonly code: string }
  )

/** Counts matching requests from the moment it is made, and tells which faults hit each. */
export function faultPicker(
  faults: readonly S3Fault[],
): (operation: S3Operation, key: string) => S3Fault[] {
  const seen = faults.map(() => 0)
  return (operation, key) =>
    faults.filter((fault, index) => {
      const isMatch = fault.operation === operation || fault.operation === 'any'
      if (!isMatch || !key.includes(fault.key ?? '')) return false
      const count = (seen[index] ?? 0) + 1
      seen[index] = count
      const nth = fault.nth ?? 1
      return count >= nth && count < nth + (fault.times ?? 1)
    })
}
