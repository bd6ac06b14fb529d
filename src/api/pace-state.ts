/**
 * What all workers of all processes that share one key must know of each other to keep one pace: plain data, so that it
 * fits into a file. All times are milliseconds on the monotonic clock, except where it says wall clock. What may be done
 * with it is in pace-rules.ts.
 */

import { z } from 'zod'

const ownerSchema = z.object({
  pid: z.int().positive(),
  host: z.string(),
  boot_id: z.string(),
  started: z.string(),
})

const openTurnSchema = z.object({
  id: z.string(),
  /** The pacer that gave the turn. */
  pacer: z.string(),
  /** The process of that pacer. */
  owner: ownerSchema,
  sentAt: z.number(),
  /** The only request in flight, sent to find out whether the service answers again. */
  isHalfOpen: z.boolean(),
})

const countReportSchema = z.object({
  receivedAt: z.number(),
  /** Requests in a window, when it said so. */
  limit: z.number().nullable(),
  /** How far its count reaches back, milliseconds; null when that cannot be told. */
  reachMs: z.number().nullable(),
  /** Requests that the service would still take. */
  remaining: z.number(),
  /** When the service takes more. */
  endsAt: z.number(),
})

const paceStateSchema = z.object({
  /** For each request that has ended and may still be in a window: when it can have been counted at the latest; in order. */
  counted: z.array(z.number()).readonly(),
  /** The longest window of anybody who shares the pace: older requests need not be remembered. */
  longestWindowMs: z.number(),
  /** Turns that have not ended; oldest first. */
  open: z.array(openTurnSchema).readonly(),
  /** When the last turn was due in a row of evenly spaced ones; null before the first. */
  lastDueAt: z.number().nullable(),
  pausedUntil: z.number().nullable(),
  /** The same on the wall clock, for after a restart of the machine. */
  pausedUntilWall: z.number().nullable(),
  /** After a pause: the next turn is alone, and the others follow when it was answered. */
  isProbeWanted: z.boolean(),
  failuresInARow: z.int(),
  /** The share of requests that failed lately, 0 to 1; the newest count most. */
  failureShare: z.number(),
  /** While the circuit breaker is open: when the next probe may leave. */
  brokenUntil: z.number().nullable(),
  /** The service's own counts, those that no later question has overtaken; none when it does not tell. */
  reports: z.array(countReportSchema).readonly(),
  /** The shortest round trips, milliseconds: of the current 1,000 requests and of those before. */
  roundTrips: z.object({
    count: z.int(),
    fastest: z.number().nullable(),
    fastestBefore: z.number().nullable(),
  }),
  /** What is left of the margin for late requests, milliseconds; null while nothing was taken. */
  marginMs: z.number().nullable(),
  /** The share of its window that each request adds to it. */
  marginShare: z.number(),
  /** Nightly pacers that wait for a turn, and until when they are believed to. */
  nightlyWaits: z
    .array(z.object({ pacer: z.string(), owner: ownerSchema, until: z.number() }))
    .readonly(),
})

/** Where the pace stands. */
export type PaceState = Readonly<z.infer<typeof paceStateSchema>>
/** A request in flight. */
export type OpenTurn = Readonly<z.infer<typeof openTurnSchema>>
/** What the service said of its count. */
export type CountReport = Readonly<z.infer<typeof countReportSchema>>

/** What each request adds to the margin, as a share of its window, while the service refuses nothing. */
export const LEAST_MARGIN_SHARE = 0.02

/** The state before the first request. */
export const FRESH_PACE: PaceState = {
  counted: [],
  longestWindowMs: 0,
  open: [],
  lastDueAt: null,
  pausedUntil: null,
  pausedUntilWall: null,
  isProbeWanted: false,
  failuresInARow: 0,
  failureShare: 0,
  brokenUntil: null,
  reports: [],
  roundTrips: { count: 0, fastest: null, fastestBefore: null },
  marginMs: null,
  marginShare: LEAST_MARGIN_SHARE,
  nightlyWaits: [],
}

const savedSchema = z.object({
  version: z.literal(1),
  boot_id: z.string(),
  /** When it was written, on the monotonic clock. */
  saved_at: z.number(),
  pace: paceStateSchema,
})

/** The state as text, for others on this machine and for later. */
export function writePace(pace: PaceState, bootId: string, now: number): string {
  return JSON.stringify({ version: 1, boot_id: bootId, saved_at: now, pace })
}

/**
 * The state that a text holds; a fresh one when it holds none. After a restart of the machine the monotonic clock has
 * begun anew, and only a pause is left, by the wall clock.
 */
export function readPace(text: string, bootId: string, now: number, wallNow: number): PaceState {
  const saved = savedSchema.safeParse(parseJson(text)).data
  if (saved === undefined) return FRESH_PACE
  const { pace } = saved
  if (saved.boot_id === bootId && saved.saved_at <= now) return pace
  const leftMs = (pace.pausedUntilWall ?? 0) - wallNow
  if (leftMs <= 0) return FRESH_PACE
  return {
    ...FRESH_PACE,
    pausedUntil: now + leftMs,
    pausedUntilWall: pace.pausedUntilWall,
    isProbeWanted: true,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
