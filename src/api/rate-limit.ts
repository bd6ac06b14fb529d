/**
 * A strict limit: never more than so many requests in any window of so many milliseconds, as the service counts them.
 *
 * The service counts a request when it arrives, which is some time after it was sent and at the latest when it was
 * answered. So a request keeps its place in the window for as long, beyond the window itself, as its round trip took
 * longer than the shortest one known: whatever lies between the two can have been spent on the way there. The margin
 * bounds what that may cost: each request adds its share of the window, and none takes more than is there. Steady
 * round trips save margin for the odd late one; a service that refuses all the same makes the share larger for a while.
 */

import { SECOND } from '../support/units.ts'
import { LEAST_MARGIN_SHARE, type PaceState } from './pace-state.ts'

/** So many requests in any window of that length. */
export interface RateLimit {
  /** A whole number from 1. */
  readonly requests: number
  readonly windowMs: number
}

// The most that is saved: for the first connections, which take longest. All of it costs 0.2 s, once.
const FULL_MARGIN_PER_REQUEST_MS = 200
const FULL_MARGIN_LEAST_MS = 500
/** What somebody without a limit of his own adds to the margin of those who have one. */
const NOMINAL_LIMIT: RateLimit = { requests: 10, windowMs: SECOND }
const LARGEST_MARGIN_SHARE = 0.2
const SHARE_PER_REFUSAL = 0.005
// A share that refusals have raised halves within some 3,500 requests.
const SHARE_KEPT_PER_REQUEST = 0.9998
// The shortest round trip that is known is still a little longer than the shortest there can be.
const SURE_SHARE = 0.01
// A single late answer (a server that thought for long) may not hold its place for ever.
const LONGEST_HOLD_MS = SECOND
// What has left the window shows how far back the service's own count reaches, see service-count.ts.
const WINDOWS_REMEMBERED = 1.5
// How late a turn may be without the next one being late, too: timers are late by some milliseconds, each time.
const CATCH_UP_MS = 50
// Until so many round trips are known, and twice as many as are in flight, the shortest may still be one that opened its
// connection, and would be too long.
const ROUND_TRIPS_TO_TRUST = 8
// The path to the service can become longer; the shortest round trip is forgotten after so many to twice as many.
const ROUND_TRIPS_REMEMBERED = 1_000

/**
 * The limit for a number of requests per second: whole requests in the shortest window of a second or more.
 * @param requestsPerSecond above 0; 2.5 is 3 in 1.2 s, 0.5 is 1 in 2 s
 */
export function rateLimitOf(requestsPerSecond: number): RateLimit {
  const requests = Math.ceil(requestsPerSecond)
  return { requests, windowMs: (requests / requestsPerSecond) * SECOND }
}

/** When the next request may leave: evenly spaced, and within the limit in any window; minus infinity for at once. */
export function nextSlotAt(pace: PaceState, limit: RateLimit): number {
  const { requests, windowMs } = limit
  const open = pace.open.map(({ sentAt }) => sentAt + windowMs * pace.marginShare)
  const leavesWindowAt = nthNewest(pace.counted, open, requests) + windowMs
  const dueAt = (pace.lastDueAt ?? Number.NEGATIVE_INFINITY) + windowMs / requests
  return Math.max(leavesWindowAt, dueAt)
}

/** When the turn that is taken at `now` was due: a little lateness is made up for by the turns after it. */
export function dueAtOf(pace: PaceState, limit: RateLimit, now: number): number {
  const dueAt = (pace.lastDueAt ?? Number.NEGATIVE_INFINITY) + limit.windowMs / limit.requests
  return Math.max(dueAt, now - CATCH_UP_MS)
}

/**
 * Puts a request that was answered, or failed, at `now` among the counted ones.
 * @param limit the one that it was sent under; null for none
 */
export function countRequest(
  pace: PaceState,
  sentAt: number,
  limit: RateLimit | null,
  now: number,
): PaceState {
  const { requests, windowMs } = limit ?? NOMINAL_LIMIT
  const fullMs = Math.max(FULL_MARGIN_LEAST_MS, requests * FULL_MARGIN_PER_REQUEST_MS)
  const marginMs = Math.min(fullMs, (pace.marginMs ?? fullMs) + windowMs * pace.marginShare)
  const roundTrips = withRoundTrip(pace.roundTrips, now - sentAt)
  const fastestMs = fastestOf(roundTrips, pace.open.length)
  const lateMs = Math.max(0, now - sentAt - fastestMs) + windowMs * SURE_SHARE
  const holdMs = Math.min(lateMs, marginMs, LONGEST_HOLD_MS)
  return {
    ...withCounted(pace, sentAt + holdMs, now),
    roundTrips,
    marginMs: marginMs - holdMs,
    marginShare: Math.max(LEAST_MARGIN_SHARE, pace.marginShare * SHARE_KEPT_PER_REQUEST),
  }
}

/** Makes the margin larger, because the service refused a request that should have been within the limit. */
export function widenMargin(pace: PaceState): PaceState {
  const marginShare = Math.min(LARGEST_MARGIN_SHARE, pace.marginShare + SHARE_PER_REFUSAL)
  return { ...pace, marginShare }
}

/** Puts a request among the counted ones of which nobody knows how it ended. */
export function countLostRequest(pace: PaceState, sentAt: number, now: number): PaceState {
  return withCounted(pace, Math.min(now, sentAt + LONGEST_HOLD_MS), now)
}

/** The `n`-th newest of two lists of times, each in order; minus infinity when there are fewer. */
function nthNewest(counted: readonly number[], open: readonly number[], n: number): number {
  let newest = Number.NEGATIVE_INFINITY
  let countedLeft = counted.length
  let openLeft = open.length
  for (let place = 1; place <= n; place += 1) {
    const lastCounted = counted[countedLeft - 1] ?? Number.NEGATIVE_INFINITY
    const lastOpen = open[openLeft - 1] ?? Number.NEGATIVE_INFINITY
    newest = Math.max(lastCounted, lastOpen)
    if (lastCounted > lastOpen) countedLeft -= 1
    else openLeft -= 1
  }
  return newest
}

function withCounted(pace: PaceState, countedAt: number, now: number): PaceState {
  const forgottenAt = now - pace.longestWindowMs * WINDOWS_REMEMBERED
  const after = pace.counted.findLastIndex((at) => at <= countedAt) + 1
  const counted = pace.counted.toSpliced(after, 0, countedAt).filter((at) => at > forgottenAt)
  return { ...pace, counted }
}

function withRoundTrip(known: PaceState['roundTrips'], ms: number): PaceState['roundTrips'] {
  if (known.count >= ROUND_TRIPS_REMEMBERED) {
    return { count: 1, fastest: ms, fastestBefore: known.fastest }
  }
  return { ...known, count: known.count + 1, fastest: Math.min(known.fastest ?? ms, ms) }
}

function fastestOf(known: PaceState['roundTrips'], inFlight: number): number {
  const { count, fastest, fastestBefore } = known
  if (fastest === null) return 0
  if (fastestBefore !== null) return Math.min(fastest, fastestBefore)
  return count < ROUND_TRIPS_TO_TRUST + 2 * inFlight ? 0 : fastest
}
