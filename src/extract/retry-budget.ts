/**
 * How often a run may ask again. Retries are free of charge, but a service in trouble is not helped by more than a tenth
 * on top (Google SRE, ch. 21). It counts over the whole run, also when that is taken up again.
 */

import { UnavailableError } from '../api/errors.ts'

const RETRY_SHARE = 0.1
const RETRIES_ALWAYS_ALLOWED = 20

/** Counts what a run asked, and asked again. */
export interface RetryBudget {
  /** A request leaves. */
  sent(): void
  /**
   * A request failed and is to be sent again; `reason` is what the service or the network said.
   * @throws UnavailableError when too many have failed
   */
  spend(reason: string): void
}

/** The retry budget of a run. @param before what the run had asked when it was taken up */
export function createRetryBudget(before: {
  readonly requests: number
  readonly failures: number
}): RetryBudget {
  let { requests, failures } = before
  return {
    sent() {
      requests += 1
    },
    spend(reason) {
      failures += 1
      if (failures <= Math.max(RETRIES_ALWAYS_ALLOWED, requests * RETRY_SHARE)) return
      throw new UnavailableError(
        `the service fails too often (${failures} of ${requests} requests): ${reason}`,
        null,
      )
    },
  }
}
