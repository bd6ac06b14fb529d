/**
 * Keeps the service's time according to the answers of all runs, and finds answers that a later one contradicts. Clocks
 * that were wrong together made coverage reach past what was read; an answer that proves them wrong shows up to where
 * it still holds. Pure.
 */

import type { Uptime } from '../support/clock.ts'
import { HOUR } from '../support/units.ts'
import type { PageReceived } from './records.ts'
import { CLOCK_TOLERANCE_MS, type ClockDispute } from './service-time.ts'

/** A time that the service's clock had reached when an answer came, by all clocks that were asked. */
export interface ReachedTime {
  /** Milliseconds since 1970 UTC. */
  readonly at: number
  /** How long this machine was up then; null where that is unknown. */
  readonly uptime: Uptime | null
}

export interface ClockHistory {
  /**
   * How far the service's clock was ahead of this machine's at the last page, in milliseconds, negative when behind; null
   * before the first page.
   */
  serverAheadMs: number | null
  /** As serverAheadMs, by the latest time that any witness of that page allowed. */
  serverAheadAtMostMs: number
  /** The latest of each hour, the oldest first. */
  reached: ReachedTime[]
  /** The last page at which clocks did not agree: its run, and what they said. Null for none. */
  clockDispute:
    ({ readonly runId: string; readonly ours: number } & Omit<ClockDispute, 'jump'>) | null
}

export function emptyClockHistory(): ClockHistory {
  return { serverAheadMs: null, serverAheadAtMostMs: 0, reached: [], clockDispute: null }
}

/**
 * The service's time when it is `nowMs` on this machine; coverage is in it, and so plans are made for it. Of several clocks
 * the latest, because a window that is counted from too late reaches back too far, and one from too early misses events.
 */
export function serviceTime(
  { serverAheadAtMostMs, reached }: Pick<ClockHistory, 'serverAheadAtMostMs' | 'reached'>,
  nowMs: number,
): number {
  return Math.max(nowMs, nowMs + serverAheadAtMostMs, reached.at(-1)?.at ?? 0)
}

/** Adds a time that was reached to `times`. In whatever order they come, the result is the same. */
export function noteReached(times: ReachedTime[], added: ReachedTime): void {
  const index = times.findLastIndex(
    (one) => hourOf(one) === hourOf(added) && one.uptime?.boot === added.uptime?.boot,
  )
  const known = times[index]
  if (known === undefined) times.push(added)
  else times[index] = latestOf(known, added)
  times.sort((a, b) => a.at - b.at)
}

// The later time, and the one that was furthest ahead of the machine's uptime.
function latestOf(one: ReachedTime, other: ReachedTime): ReachedTime {
  const at = Math.max(one.at, other.at)
  if (one.uptime === null || other.uptime === null) return { at, uptime: null }
  const ahead = Math.max(one.at - one.uptime.ms, other.at - other.uptime.ms)
  return { at, uptime: { boot: one.uptime.boot, ms: at - ahead } }
}

/** The time that the service must have reached by now, if all answers were right; null before the first one. */
export function reachedBy(times: readonly ReachedTime[], uptime: Uptime | null): number | null {
  if (times.length === 0) return null
  return times.reduce(
    (latest, one) => Math.max(latest, one.at + elapsedSince(one.uptime, uptime)),
    0,
  )
}

/** An answer whose clocks say less than answers before had reached. */
export interface EarlyAnswer {
  /** The time that they show, milliseconds since 1970 UTC. */
  readonly said: number
  readonly uptime: Uptime | null
}

/**
 * The part of a time (reached, or covered up to) that still holds when an early answer shows that it was too late. The
 * answer itself may also be too early; the two look the same. Where the machine's uptime shows by how much the clock
 * was ahead, the time is reduced by that; otherwise it is the last earlier time that the answer does not contradict; 0
 * for none.
 */
export function trustedUntil(
  times: readonly ReachedTime[],
  to: number,
  answer: EarlyAnswer,
): number {
  const { said, uptime } = answer
  const known = times.find(({ at }) => at >= to) ?? times.at(-1)
  if (known === undefined) return to
  const aheadMs = known.at + elapsedSince(known.uptime, uptime) - said
  if (aheadMs <= CLOCK_TOLERANCE_MS) return to
  if (known.uptime !== null && known.uptime.boot === uptime?.boot) return Math.max(0, to - aheadMs)
  const last = times.findLast(({ at }) => at <= said + CLOCK_TOLERANCE_MS)
  return last === undefined ? 0 : Math.min(to, trustedUntil(times, last.at, answer))
}

/** Adds a page. Returns what remains of a time that was covered up to; null when the page changes nothing of that. */
export function foldClocks(
  history: ClockHistory,
  page: PageReceived,
): ((to: number) => number) | null {
  const { run_id: runId, at, server_at, clocks, uptime = null } = page
  // The last page is the last one in the journal: disputed clocks cannot decide.
  history.serverAheadMs = server_at - at
  history.serverAheadAtMostMs = Math.max(server_at, clocks?.latest ?? server_at) - at
  if (clocks !== undefined) history.clockDispute = { runId, ours: at, ...clocks }
  if (clocks?.wentBack === undefined) {
    noteReached(history.reached, { at: clocks?.earliest ?? server_at, uptime })
    return null
  }
  const before = history.reached
  const answer = { said: clocks.wentBack.to, uptime }
  const sound = (to: number) => trustedUntil(before, to, answer)
  if (before.every((one) => sound(one.at) === one.at)) return null
  history.reached = []
  for (const one of before) noteReached(history.reached, { ...one, at: sound(one.at) })
  return sound
}

/** Milliseconds that have passed on this machine, as far as its uptime shows; else 0. */
export function elapsedSince(then: Uptime | null, now: Uptime | null): number {
  if (then === null || now === null || then.boot !== now.boot) return 0
  return Math.max(0, now.ms - then.ms)
}

function hourOf({ at }: ReachedTime): number {
  return Math.floor(at / HOUR)
}
