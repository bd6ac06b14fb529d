/**
 * What the service says about time, in milliseconds from now. Pure. `Retry-After` wins over `X-RateLimit-Reset`
 * (draft-ietf-httpapi-ratelimit-headers); dates are compared with the answer's own `Date`, never with our clock alone.
 */

import type { RateReport } from './pacer.ts'
import { DAY, HOUR, SECOND } from '../support/units.ts'

/** Header names in lower case; a repeated header is an array. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

// A wait that long is not a rate limit but a mistake in a header.
const LONGEST_WAIT_MS = 30 * DAY
// "0 seconds" is taken as a moment, so that a service that says it does not get a storm.
const SHORTEST_WAIT_MS = SECOND

/** The first value of a header, trimmed, or undefined. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name]
  const first = typeof value === 'string' ? value : value?.[0]
  return first?.trim()
}

/** The time of the answer by the service's clock; `fallbackMs` where `Date` is missing or unreadable. */
export function serverTime(headers: Headers, fallbackMs: number): number {
  const parsed = Date.parse(headerOf(headers, 'date') ?? '')
  return Number.isNaN(parsed) ? fallbackMs : parsed
}

/**
 * How long the service wants us to wait: `Retry-After` as whole seconds or a date (RFC 9110 §10.2.3), else
 * `X-RateLimit-Reset` in any of its shapes. Undefined when it says nothing that can be understood.
 * @param nowMs our own time, for answers without a `Date`
 * @returns milliseconds from the receipt of the answer, 1 s to 30 days
 */
export function waitWanted(headers: Headers, nowMs: number): number | undefined {
  const serverNow = serverTime(headers, nowMs)
  const wait =
    parseRetryAfter(headerOf(headers, 'retry-after'), serverNow) ??
    parseReset(headerOf(headers, 'x-ratelimit-reset'), serverNow)
  return wait === undefined
    ? undefined
    : Math.min(Math.max(wait, SHORTEST_WAIT_MS), LONGEST_WAIT_MS)
}

function parseRetryAfter(text: string | undefined, serverNow: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text) * SECOND
  return millisecondsUntilDate(text, serverNow)
}

/**
 * `X-RateLimit-Reset` as found in the wild: seconds from now (below 1e7), epoch seconds (1e9 to 1e10), epoch
 * milliseconds (1e12 to 1e13), a date; anything else is no answer.
 */
export function parseReset(text: string | undefined, serverNow: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) {
    const value = Number(text)
    if (value < 1e7) return value * SECOND
    if (value >= 1e9 && value < 1e10) return Math.max(0, value * SECOND - serverNow)
    if (value >= 1e12 && value < 1e13) return Math.max(0, value - serverNow)
    return undefined
  }
  return millisecondsUntilDate(text, serverNow)
}

// Only texts with letters or dashes in them are dates: Date.parse would read "5.5" or "-5" as one.
function millisecondsUntilDate(text: string, serverNow: number): number | undefined {
  if (!/[a-z]{3}|\d{4}-\d{2}-\d{2}/i.test(text)) return undefined
  const at = Date.parse(text.replace(/\s*\([^)]*\)$/, ''))
  if (Number.isNaN(at) || at <= serverNow) return undefined
  return at - serverNow
}

/** The wait after a 429 without any header, doubled for each one in a row: 60 s up to an hour. */
export function unsaidWait(inARow: number): number {
  return Math.min(60 * SECOND * 2 ** Math.max(0, inARow - 1), HOUR)
}

/** The plan's limit as the answer states it; see RateReport. */
export function rateReport(headers: Headers, nowMs: number): RateReport {
  return {
    limit: countOf(headerOf(headers, 'x-ratelimit-limit')),
    remaining: countOf(headerOf(headers, 'x-ratelimit-remaining')),
    resetMs: parseReset(headerOf(headers, 'x-ratelimit-reset'), serverTime(headers, nowMs)) ?? null,
  }
}

function countOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null
}
