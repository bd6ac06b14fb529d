/** The plan's rate limit: at most so many requests of one key within any window, however the window is laid. */

/** A plan's limit. */
export interface RateLimit {
  /** Requests per window; 1 or more. */
  readonly requests: number
  readonly windowMs: number
}

/** What the limit says to one request. */
export interface Admission {
  readonly isAdmitted: boolean
  /** `X-RateLimit-*`; the reset is in seconds from now until the oldest request leaves the window and makes room. */
  readonly headers: Readonly<Record<string, string>>
}

/** Counts the requests of each key. */
export class RateWindow {
  readonly #limit: RateLimit
  readonly #admittedAt = new Map<string, number[]>()

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** Asks for one request of `key` at `monotonicMs`; a refused request does not count. */
  admit(key: string, monotonicMs: number): Admission {
    const { requests, windowMs } = this.#limit
    const times = (this.#admittedAt.get(key) ?? []).filter((at) => at > monotonicMs - windowMs)
    const isAdmitted = times.length < requests
    if (isAdmitted) times.push(monotonicMs)
    this.#admittedAt.set(key, times)
    const [oldest = monotonicMs] = times
    const headers = {
      'X-RateLimit-Limit': String(requests),
      'X-RateLimit-Remaining': String(requests - times.length),
      'X-RateLimit-Reset': String(Math.ceil((oldest + windowMs - monotonicMs) / 1_000)),
    }
    return { isAdmitted, headers }
  }
}
