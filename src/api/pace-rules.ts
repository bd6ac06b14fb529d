/**
 * The rules by which turns are given out. Pure: each takes where the pace stands and gives where it stands then.
 *
 * A turn waits for its slot in the rate, for the end of a pause, for the next probe of an open circuit breaker, and
 * while the service's own count says that it would be refused. After a pause, when everything sent before has ended,
 * one request goes first, as a probe; the others follow when it was answered. The backfill lets the nightly go first.
 *
 * Failures never end anything here, they slow the pace down: the more of the last requests failed, the fewer are in flight
 * at a time, and after 5 in a row the circuit breaker lets one probe through each 30 s. An order to wait (429, 503) is
 * obeyed and no failure, unless the probe after it gets another one.
 */

import type { ProcessIdentity } from '../support/lock-file.ts'
import { MINUTE, SECOND } from '../support/units.ts'
import type { RequestOutcome } from './circuit-breaker.ts'
import type { OpenTurn, PaceState } from './pace-state.ts'
import {
  countLostRequest,
  countRequest,
  dueAtOf,
  nextSlotAt,
  widenMargin,
  type RateLimit,
} from './rate-limit.ts'
import { countVerdict, learnCount, type HeardReport } from './service-count.ts'

/** Which process goes first when several share one pace. */
export type Priority = 'nightly' | 'backfill'

/** Who asks for a turn. */
export interface Asker {
  /** The pacer's own name. */
  readonly pacer: string
  readonly owner: ProcessIdentity
  readonly priority: Priority
  /** Its own limit; others may have set themselves another one. */
  readonly limit: RateLimit | null
  /** Whether a process has surely ended. */
  readonly isGone: (owner: ProcessIdentity) => boolean
}

/** A turn; or when to ask again, and the turn can come no sooner than `until`, when that is known. */
export type TurnAnswer =
  | { readonly pace: PaceState; readonly kind: 'turn'; readonly turn: OpenTurn }
  | {
      readonly pace: PaceState
      readonly kind: 'wait'
      readonly until: number | null
      readonly askAgainAt: number
    }

/** Failures in a row, of all workers, that open the circuit breaker (reliability practice: graphql-hive, Finagle). */
const FAILURES_TO_BREAK = 5
/** How long the breaker lets nobody through before it sends a probe. */
const PROBE_EVERY_MS = 30 * SECOND
/** What one request counts in the share of failures: about the last 20 decide. */
const FAILURE_WEIGHT = 0.05
// Twice as long as a request may take: of a process on another machine nobody here can tell whether it has ended.
const LOST_AFTER_MS = 2 * MINUTE
// Who waits asks again so often, because others may have ended what it waits for, or their lives.
const ASK_AGAIN_MS = SECOND
// And so often when it is another process for which it waits.
const POLL_MS = 25
// How much later than it said it would a nightly pacer may ask again and still be believed to wait.
const WAIT_BELIEVED_MS = 2 * SECOND

/** Gives `asker` a turn with the name `turnId`, or says what it waits for. */
export function askForTurn(pace: PaceState, asker: Asker, turnId: string, now: number): TurnAnswer {
  const obstacle = obstacleFor(pace, asker, now)
  if (obstacle === null) return takeTurn(pace, asker, turnId, now)
  if (obstacle === 'others') {
    const living = withoutTheDead(pace, asker, now)
    if (living !== pace) return askForTurn(living, asker, turnId, now)
  }
  const until = obstacle === 'others' ? null : obstacle
  const askAgainAt = nextAsking(pace, asker, until, now)
  const waiting = asker.priority === 'nightly' ? withNightlyWait(pace, asker, askAgainAt) : pace
  return { pace: waiting, kind: 'wait', until, askAgainAt }
}

/** Takes back that a pacer waits. */
export function stopWaiting(pace: PaceState, pacer: string): PaceState {
  if (pace.nightlyWaits.every((wait) => wait.pacer !== pacer)) return pace
  return { ...pace, nightlyWaits: pace.nightlyWaits.filter((wait) => wait.pacer !== pacer) }
}

/** Lets nobody through for `ms` milliseconds; of several pauses the latest end counts. */
export function pausePace(pace: PaceState, ms: number, now: number, wallNow: number): PaceState {
  return {
    ...pace,
    pausedUntil: Math.max(pace.pausedUntil ?? now, now + ms),
    pausedUntilWall: Math.max(pace.pausedUntilWall ?? wallNow, wallNow + ms),
    isProbeWanted: true,
  }
}

/** How a turn ended. */
export interface TurnEnd {
  readonly outcome: RequestOutcome
  /** What the answer told of the service's count. */
  readonly report: HeardReport | null
  /** The limit of the pacer that gave the turn. */
  readonly limit: RateLimit | null
}

/** Ends a turn. */
export function endTurn(pace: PaceState, turn: OpenTurn, end: TurnEnd, now: number): PaceState {
  // Somebody else has given it up for lost.
  if (pace.open.every(({ id }) => id !== turn.id)) return pace
  const { outcome } = end
  const learnt = learnCount(pace, turn, end.report, outcome === 'answered')
  const open = learnt.open.filter(({ id }) => id !== turn.id)
  const counted = countRequest({ ...learnt, open }, turn.sentAt, end.limit, now)
  switch (outcome) {
    case 'answered':
      return afterAnswer(withFailureShare(counted, 0), turn, now)
    case 'failed':
      return afterFailure(withFailureShare(counted, 1), turn, now)
    case 'deferred':
      return afterOrder(counted, turn, now)
    case 'refused':
      return afterOrder(widenMargin(counted), turn, now)
    case 'undecided':
      return counted
  }
}

function obstacleFor(pace: PaceState, asker: Asker, now: number): number | 'others' | null {
  const verdict = countVerdict(pace, asker.limit, now)
  const until = Math.max(
    pace.pausedUntil ?? now,
    pace.brokenUntil ?? now,
    asker.limit === null ? now : nextSlotAt(pace, asker.limit),
    typeof verdict === 'object' ? verdict.notBefore : now,
  )
  if (until > now) return until
  // A probe is the only request in flight, so its end cannot be confused with that of an older request.
  const isWaitingForProbe = pace.isProbeWanted && pace.open.length > 0
  const isNightlyFirst =
    asker.priority === 'backfill' && pace.nightlyWaits.some((wait) => wait.until > now)
  const isFull = pace.open.length >= mostInFlight(pace)
  return verdict === 'after-others' || isWaitingForProbe || isNightlyFirst || isFull
    ? 'others'
    : null
}

/** So many requests at a time that on average no more than one of them fails; at least 1. */
function mostInFlight({ failureShare }: PaceState): number {
  return Math.max(1, Math.floor(1 / failureShare))
}

function withFailureShare(pace: PaceState, failed: 0 | 1): PaceState {
  const failureShare = pace.failureShare + (failed - pace.failureShare) * FAILURE_WEIGHT
  return { ...pace, failureShare }
}

function takeTurn(pace: PaceState, asker: Asker, id: string, now: number): TurnAnswer {
  const { pacer, owner, limit } = asker
  const turn = { id, pacer, owner, sentAt: now, isHalfOpen: pace.isProbeWanted }
  const taken = {
    ...stopWaiting(pace, pacer),
    open: [...pace.open, turn],
    lastDueAt: limit === null ? now : dueAtOf(pace, limit, now),
    longestWindowMs: Math.max(pace.longestWindowMs, limit?.windowMs ?? 0),
  }
  return { pace: taken, kind: 'turn', turn }
}

// Waits become shorter only by the end of what is in flight, and a pause not even then.
function nextAsking(pace: PaceState, asker: Asker, until: number | null, now: number): number {
  if (until !== null) {
    const isSure = pace.open.length === 0
    return isSure ? until : Math.max(pace.pausedUntil ?? now, Math.min(until, now + ASK_AGAIN_MS))
  }
  const isOurs =
    asker.priority === 'nightly' && pace.open.every(({ pacer }) => pacer === asker.pacer)
  return now + (isOurs ? ASK_AGAIN_MS : POLL_MS)
}

function withNightlyWait(pace: PaceState, { pacer, owner }: Asker, askAgainAt: number): PaceState {
  const isSaid = pace.nightlyWaits.some((wait) => wait.pacer === pacer && wait.until > askAgainAt)
  if (isSaid) return pace
  const others = pace.nightlyWaits.filter((wait) => wait.pacer !== pacer)
  const until = askAgainAt + WAIT_BELIEVED_MS
  return { ...pace, nightlyWaits: [...others, { pacer, owner, until }] }
}

// What processes left that have ended. The service may have counted their requests all the same.
function withoutTheDead(pace: PaceState, asker: Asker, now: number): PaceState {
  const isDead = ({ pacer, owner }: { pacer: string; owner: ProcessIdentity }) =>
    pacer !== asker.pacer && asker.isGone(owner)
  const lost = pace.open.filter(
    (turn) => isDead(turn) || (turn.pacer !== asker.pacer && turn.sentAt < now - LOST_AFTER_MS),
  )
  const nightlyWaits = pace.nightlyWaits.filter((wait) => !isDead(wait))
  if (lost.length === 0 && nightlyWaits.length === pace.nightlyWaits.length) return pace
  const open = pace.open.filter((turn) => !lost.includes(turn))
  return lost.reduce<PaceState>((rest, { sentAt }) => countLostRequest(rest, sentAt, now), {
    ...pace,
    open,
    nightlyWaits,
  })
}

function afterAnswer(pace: PaceState, turn: OpenTurn, now: number): PaceState {
  const isPaused = pace.pausedUntil !== null && pace.pausedUntil > now
  return {
    ...pace,
    failuresInARow: 0,
    brokenUntil: null,
    isProbeWanted: pace.isProbeWanted && (isPaused || !turn.isHalfOpen),
  }
}

// The first order to wait says nothing of the service's health, nor do those to requests that were in flight with it. When
// it orders the next probe to wait, too, and again, it is asked less often than it says.
function afterOrder(pace: PaceState, turn: OpenTurn, now: number): PaceState {
  return turn.isHalfOpen ? afterFailure(pace, turn, now) : pace
}

// What was in flight when the breaker opened fails, too; that does not put the first probe off.
function afterFailure(pace: PaceState, turn: OpenTurn, now: number): PaceState {
  const failuresInARow = pace.failuresInARow + 1
  const breaks =
    failuresInARow === FAILURES_TO_BREAK || (failuresInARow > FAILURES_TO_BREAK && turn.isHalfOpen)
  return breaks
    ? { ...pace, failuresInARow, brokenUntil: now + PROBE_EVERY_MS, isProbeWanted: true }
    : { ...pace, failuresInARow }
}
