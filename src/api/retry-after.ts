/**
 * Reads the times that the service sends, in milliseconds from now. Pure. `Retry-After` wins over `X-RateLimit-Reset`
 * (draft-ietf-httpapi-ratelimit-headers); dates are compared with the answer's own `Date`, never with our clock alone.
 */

import { HOUR, MINUTE, SECOND } from '../support/units.ts'
import { obeyedWait } from '../support/waits.ts'

/** Header names in lower case; a repeated header is an array. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The plan's rate limit, as the service reports it (`X-RateLimit-*`). */
export type RateReport = Readonly<ReturnType<typeof rateReport>>

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
 * Milliseconds from the receipt of the answer, 1 s or more: the longest `Retry-After`, else `X-RateLimit-Reset`.
 * Undefined if it says nothing that we understand. @param nowMs our own time, for answers without a `Date`
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

/** Hours, minutes and seconds, as Go (`1h0m5s`) or ISO 8601 (`PT1H`) writes them. */
const DURATION = /^(?:PT)?(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,7}(?:\.\d+)?)s)?$/i

/**
 * `Retry-After` and `X-RateLimit-Reset` as found in the wild: seconds from now (below 1e7), epoch seconds (1e9 to
 * 1e10), epoch milliseconds (1e12 to 1e13), a duration with units, a date; anything else is ignored.
 */
function parseWait(text: string | undefined, serverNow: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) {
    const value = Number(text)
    if (value < 1e7) return value * SECOND
    if (value >= 1e9 && value < 1e10) return notPast(value * SECOND, serverNow)
    if (value >= 1e12 && value < 1e13) return notPast(value, serverNow)
    return undefined
  }
  const duration = DURATION.exec(text)
  if (duration !== null) {
    const [hours = 0, minutes = 0, seconds = 0] = duration.slice(1).map((part) => Number(part ?? 0))
    return hours * HOUR + minutes * MINUTE + seconds * SECOND
  }
  return notPast(parseDate(text), serverNow)
}

// A time in the past is ignored: it does not say how long to wait.
function notPast(at: number | undefined, serverNow: number): number | undefined {
  return at === undefined || at < serverNow ? undefined : at - serverNow
}

// Date.parse accepts nearly any text with a number in it ("wait 2030"), and reads a date without a zone as local time.
// So it gets only known shapes, always with a zone.
const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?/
const NAMED_DATES = [
  // The preferred form of RFC 9110 §5.6.7 and the obsolete one of RFC 850.
  /^[a-z]{3,9}, \d{1,2}[ -][a-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2}/i,
  // The form of asctime, and that of JavaScript.
  /^[a-z]{3} [a-z]{3} {1,2}\d{1,2} \d{2}:\d{2}:\d{2} \d{4}/i,
  /^[a-z]{3} [a-z]{3} \d{2} \d{4} \d{2}:\d{2}:\d{2}/i,
]
const ZONE = /^ ?(Z|UTC|GMT|(?:GMT)?[+-]\d{2}:?\d{2})(?: \([^)]*\))?$/i

function parseDate(text: string): number | undefined {
  const isoDate = ISO_DATE.exec(text)?.[0]
  const date = isoDate ?? NAMED_DATES.map((shape) => shape.exec(text)?.[0]).find(Boolean)
  if (date === undefined) return undefined
  const afterDate = text.slice(date.length)
  const zone = afterDate === '' ? 'UTC' : ZONE.exec(afterDate)?.[1]
  if (zone === undefined) return undefined
  const at = Date.parse(`${isoDate === undefined ? date : date.replace(/T/i, ' ')} ${zone}`)
  return Number.isNaN(at) ? undefined : at
}

/** Milliseconds, without a header: our guess, well below the longest wait. @param inARow consecutive orders, from 1 */
export function unsaidWait(inARow: number): number {
  return inARow > 1 ? 2 * MINUTE : MINUTE
}

/** Requests per window, requests left in it, milliseconds until the next one; null where the service says nothing. */
export function rateReport(headers: Headers, nowMs: number) {
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
