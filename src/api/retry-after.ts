/**
 * Reads the times that the service sends, in milliseconds from now. Pure. `Retry-After` wins over `X-RateLimit-Reset`
 * (draft-ietf-httpapi-ratelimit-headers); dates are compared with the answer's own `Date`, never with our clock alone.
 */

import { MINUTE, SECOND } from '../support/units.ts'
import { obeyedWait } from '../support/waits.ts'

/** Header names in lower case; a repeated header is an array. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The plan's rate limit, as the service reports it (`X-RateLimit-*`). */
export interface RateReport {
  /** Requests per window, when it said so. */
  readonly limit: number | null
  /** Requests left in this window, when it said so. */
  readonly remaining: number | null
  /** Milliseconds until the next window begins, when it said so. */
  readonly resetMs: number | null
}

// The shortest wait, so that a service that says "0 seconds" does not get a storm.
const SHORTEST_WAIT_MS = SECOND

export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name]
  const first = typeof value === 'string' ? value : value?.[0]
  return first?.trim()
}

/** The answer's `Date`, milliseconds since 1970 UTC; null if it is missing or unreadable. */
export function statedDate(headers: Headers): number | null {
  return parseDate(headerOf(headers, 'date') ?? '') ?? null
}

/**
 * How long the service wants us to wait: `Retry-After`, the longest if a gateway added its own, else
 * `X-RateLimit-Reset`, each in any shape that `parseWait` knows. Undefined if it says nothing that we understand.
 * @param nowMs our own time, for answers without a `Date`
 * @returns milliseconds from the receipt of the answer, 1 s or more; see obeyedWait
 */
export function waitWanted(headers: Headers, nowMs: number): number | undefined {
  const serverNow = statedDate(headers) ?? nowMs
  const ordered = [headers['retry-after'] ?? []]
    .flat()
    // Several numbers in one header are several headers that a gateway joined.
    .flatMap((text) => (/^[\d.,\s]+$/.test(text) ? text.split(',') : [text]))
    .flatMap((text) => parseWait(text.trim(), serverNow) ?? [])
  const wait =
    (ordered.length > 0 ? Math.max(...ordered) : undefined) ??
    parseWait(headerOf(headers, 'x-ratelimit-reset'), serverNow)
  return wait === undefined ? undefined : Math.max(wait, SHORTEST_WAIT_MS)
}

/**
 * `Retry-After` and `X-RateLimit-Reset` as found in the wild: seconds from now (below 1e7), epoch seconds (1e9 to
 * 1e10), epoch milliseconds (1e12 to 1e13), a date; anything else is ignored, and so is a time in the past.
 */
function parseWait(text: string | undefined, serverNow: number): number | undefined {
  const value = /^\d+(\.\d+)?$/.test(text ?? '') ? Number(text) : null
  if (value !== null && value < 1e7) return value * SECOND
  const at = value === null ? parseDate(text ?? '') : parseEpoch(value)
  return at === undefined || at < serverNow ? undefined : at - serverNow
}

function parseEpoch(value: number): number | undefined {
  if (value >= 1e9 && value < 1e10) return value * SECOND
  return value >= 1e12 && value < 1e13 ? value : undefined
}

// Date.parse accepts nearly any text with a number in it ("wait 2030"), so it gets only dates as HTTP writes them, and
// ISO 8601 with a zone.
const DATES = [
  /^[a-z]{3}, \d{2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/i,
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i,
]

function parseDate(text: string): number | undefined {
  const at = DATES.some((shape) => shape.test(text)) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/**
 * The wait after a 429 or 503 without a header: 60 s, then 2 min. It is our guess rather than an order, so it stays
 * well below the time after which a run gives up.
 * @param inARow consecutive orders to wait, including this one
 */
export function unsaidWait(inARow: number): number {
  return inARow > 1 ? 2 * MINUTE : MINUTE
}

export function rateReport(headers: Headers, nowMs: number): RateReport {
  const reset = headerOf(headers, 'x-ratelimit-reset')
  const resetMs = parseWait(reset, statedDate(headers) ?? nowMs)
  return {
    limit: countOf(headerOf(headers, 'x-ratelimit-limit')),
    remaining: countOf(headerOf(headers, 'x-ratelimit-remaining')),
    resetMs: resetMs === undefined ? null : obeyedWait(resetMs),
  }
}

function countOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null
}
