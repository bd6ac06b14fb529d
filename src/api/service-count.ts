/**
 * What the service says of its own count (`X-RateLimit-Remaining` and `-Reset`), and what follows from it. It works for
 * windows that begin anew at a fixed time and for sliding ones, because it trusts only what was said last: so many
 * more requests are taken until then. At the reset one request goes ahead and finds out what is taken now.
 *
 * Requests in flight may not be in a count yet, so all of them are taken off it. Answers overtake each other: a
 * report is out of date only when it had come before the request of a later one was sent; of the others the lowest counts.
 *
 * That is more careful than need be for who keeps a limit of his own that is as strict as the service's. Counts that
 * reach back no further than his own window, and a reset within it, say that it is: then he goes by his own limit alone,
 * unless the service has refused requests lately.
 */

import { SECOND } from '../support/units.ts'
import {
  LEAST_MARGIN_SHARE,
  type CountReport,
  type OpenTurn,
  type PaceState,
} from './pace-state.ts'
import type { RateLimit } from './rate-limit.ts'
import type { RateReport } from './retry-after.ts'

// A reset "in 0 seconds" is one that was rounded down; one of some seconds may be rounded up.
const RESET_ROUNDING_MS = SECOND
// How much further than a window a count may seem to reach back, because requests take unequal times to arrive.
const REACH_TOLERANCE = 1.1
// Above this the service has refused some requests lately, and its counts are taken at their word.
const TRUSTED_MARGIN_SHARE = LEAST_MARGIN_SHARE * 1.5

/** What the count allows: a turn now, none before a time, or none before a turn in flight has ended. */
export type CountVerdict = 'go' | 'after-others' | { readonly notBefore: number }

/** What an answer told of the count, and when it came. */
export interface HeardReport extends RateReport {
  readonly receivedAt: number
}

/** Learns from the answer to the request of `turn`, which is still open; null when there was none. */
export function learnCount(
  pace: PaceState,
  turn: OpenTurn,
  report: HeardReport | null,
  isAnswered: boolean,
): PaceState {
  if (report === null || report.remaining === null || report.resetMs === null) {
    return learnNothing(pace, turn, isAnswered)
  }
  const { limit, remaining, resetMs, receivedAt } = report
  const heard: CountReport = {
    receivedAt,
    limit,
    remaining,
    reachMs: limit === null ? null : reachOf(pace, turn, limit - remaining),
    endsAt: receivedAt + (resetMs === 0 ? RESET_ROUNDING_MS : resetMs),
  }
  const notOvertaken = pace.reports.filter((known) => known.receivedAt >= turn.sentAt)
  return { ...pace, reports: [...notOvertaken, heard] }
}

/**
 * May another request leave, as far as the service's count is known?
 * @param own the limit that who asks keeps anyway
 */
export function countVerdict(pace: PaceState, own: RateLimit | null, now: number): CountVerdict {
  const { reports, open } = pace
  if (reports.length === 0) return 'go'
  const remaining = Math.min(...reports.map((report) => report.remaining))
  if (remaining > open.length) return 'go'
  if (own !== null && isOwnLimitEnough(pace, own)) return 'go'
  const endsAt = endOf(reports)
  if (now < endsAt) return remaining > 0 ? 'after-others' : { notBefore: endsAt }
  return open.length > 0 ? 'after-others' : 'go'
}

function learnNothing(pace: PaceState, turn: OpenTurn, isAnswered: boolean): PaceState {
  const { reports } = pace
  if (reports.length === 0) return pace
  // The service has stopped counting, or telling.
  if (isAnswered && turn.sentAt >= endOf(reports)) return { ...pace, reports: [] }
  // It may have been counted all the same.
  const oneLess = reports.map((report) => ({ ...report, remaining: report.remaining - 1 }))
  return { ...pace, reports: oneLess }
}

// How long before the request of `turn` the oldest of the last `count` requests was sent; null when that many are not known.
function reachOf({ counted, open }: PaceState, turn: OpenTurn, count: number): number | null {
  const newestFirst = [...counted, ...open.map(({ sentAt }) => sentAt)]
    .filter((at) => at <= turn.sentAt)
    .toSorted((a, b) => b - a)
  const oldest = newestFirst[count - 1]
  return oldest === undefined ? null : turn.sentAt - oldest
}

function isOwnLimitEnough({ reports, marginShare }: PaceState, own: RateLimit): boolean {
  if (marginShare > TRUSTED_MARGIN_SHARE) return false
  return reports.every(
    ({ limit, reachMs, receivedAt, endsAt }) =>
      limit !== null &&
      limit >= own.requests &&
      reachMs !== null &&
      reachMs <= own.windowMs * REACH_TOLERANCE &&
      endsAt - receivedAt <= own.windowMs + RESET_ROUNDING_MS,
  )
}

function endOf(reports: readonly CountReport[]): number {
  return Math.max(...reports.map(({ endsAt }) => endsAt))
}
