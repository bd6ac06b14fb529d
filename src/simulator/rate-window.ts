/** The plan's rate limit: at most so many requests of one key within any window, however the window is laid. */

/** A plan's limit. */
export interface RateLimit {
  /** Requests per window; 1 or more. */
  readonly requests: number
  readonly windowMs: number
}

/**
 * Asks for one request of a key at a time of the monotonic clock; a refused one does not count. The headers are
 * `X-RateLimit-*`; the reset is in seconds from now until the oldest request leaves the window and makes room.
 */
export type RateWindow = (
  key: string,
  monotonicMs: number,
) => { readonly isAdmitted: boolean; readonly headers: Readonly<Record<string, string>> }

export function rateWindow({ requests, windowMs }: RateLimit): RateWindow {
  const admittedAt = new Map<string, number[]>()
  return (key, monotonicMs) => {
    const times = (admittedAt.get(key) ?? []).filter((at) => at > monotonicMs - windowMs)
    const isAdmitted = times.length < requests
    if (isAdmitted) times.push(monotonicMs)
    admittedAt.set(key, times)
    const [oldest = monotonicMs] = times
    const headers = {
      'X-RateLimit-Limit': String(requests),
      'X-RateLimit-Remaining': String(requests - times.length),
      'X-RateLimit-Reset': String(Math.ceil((oldest + windowMs - monotonicMs) / 1_000)),
    }
    return { isAdmitted, headers }
  }
}
