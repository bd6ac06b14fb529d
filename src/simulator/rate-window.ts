/** The plan's rate limit: at most so many requests of one key within any window, however the window is laid. */

/** A plan's limit, and how `X-RateLimit-Reset` spells the time until another request is let in. */
export interface RateLimit {
  /** Requests per window; 1 or more. */
  readonly requests: number
  readonly windowMs: number
  /** Default `seconds` (from now, rounded up). The specification does not say which one the service uses. */
  readonly reset?: 'seconds' | 'epoch_seconds' | 'epoch_ms'
}

/** What the limit says to one request. */
export interface Admission {
  readonly isAdmitted: boolean
  /** How many more requests would be let in now. */
  readonly remaining: number
  /** Milliseconds until the oldest request leaves the window: then one more is let in. */
  readonly resetMs: number
}

/** Counts the requests of each key. */
export interface RateWindow {
  /** Asks for one request of `key` at `monotonicMs`; a refused request does not count. */
  admit(key: string, monotonicMs: number): Admission
}

/** A window without requests. */
export function createRateWindow(limit: RateLimit): RateWindow {
  const admittedAt = new Map<string, number[]>()
  return {
    admit(key, monotonicMs) {
      const times = (admittedAt.get(key) ?? []).filter((at) => at > monotonicMs - limit.windowMs)
      const isAdmitted = times.length < limit.requests
      if (isAdmitted) times.push(monotonicMs)
      admittedAt.set(key, times)
      const [oldest = monotonicMs] = times
      return {
        isAdmitted,
        remaining: limit.requests - times.length,
        resetMs: oldest + limit.windowMs - monotonicMs,
      }
    },
  }
}

/** The `X-RateLimit-*` headers for an admission at wall-clock time `nowMs`. */
export function rateLimitHeaders(
  limit: RateLimit,
  admission: Admission,
  nowMs: number,
): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit.requests),
    'X-RateLimit-Remaining': String(admission.remaining),
    'X-RateLimit-Reset': String(resetValue(limit, admission.resetMs, nowMs)),
  }
}

function resetValue(limit: RateLimit, resetMs: number, nowMs: number): number {
  switch (limit.reset ?? 'seconds') {
    case 'seconds':
      return Math.ceil(resetMs / 1_000)
    case 'epoch_seconds':
      return Math.ceil((nowMs + resetMs) / 1_000)
    case 'epoch_ms':
      return Math.ceil(nowMs + resetMs)
  }
}
