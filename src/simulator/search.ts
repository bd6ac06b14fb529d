/**
 * Finding and paging. A question (organisations, window, type) is answered once with a list of event numbers;
 * its pages are batches of that list. The list is kept for as long as the passing of time cannot change it.
 */

import { DAY } from '../support/units.ts'
import { EVENT_TYPES, type EventSource } from './events.ts'
import type { SearchRequest } from './search-request.ts'

/** One page: numbers of events, and whether more follow. */
export interface FoundPage {
  readonly events: Uint32Array
  readonly hasMore: boolean
}

/** Answers searches over one source. */
export interface Search {
  /**
   * The page that `request` asks for, as visible at `nowMs` (milliseconds since 1970 UTC).
   * @param organizations numbers, ascending; undefined for all
   */
  page(
    request: SearchRequest,
    organizations: readonly number[] | undefined,
    nowMs: number,
  ): FoundPage
}

interface Answer {
  readonly events: Uint32Array
  /** The answer holds from `fromMs` until just before `untilMs`. */
  readonly fromMs: number
  readonly untilMs: number
}

// A client reads a handful of questions at a time; 64 lists of 200,000 events are 51 MB at the very most.
const KEPT_ANSWERS = 64

/** A search over `source`. */
export function createSearch(source: EventSource): Search {
  // In the order of last use: the first key is the one to forget.
  const answers = new Map<string, Answer>()

  function answerTo(
    request: SearchRequest,
    organizations: readonly number[] | undefined,
    nowMs: number,
  ): Answer {
    const key = questionKey(request, organizations)
    const kept = answers.get(key)
    answers.delete(key)
    const isGood = kept !== undefined && nowMs >= kept.fromMs && nowMs < kept.untilMs
    const answer = isGood ? kept : findEvents(source, request, organizations, nowMs)
    answers.set(key, answer)
    const [oldest] = answers.keys()
    if (answers.size > KEPT_ANSWERS && oldest !== undefined) answers.delete(oldest)
    return answer
  }

  return {
    page(request, organizations, nowMs) {
      const { events } = answerTo(request, organizations, nowMs)
      const end = request.page * request.limit
      return { events: events.subarray(end - request.limit, end), hasMore: end < events.length }
    },
  }
}

function questionKey(request: SearchRequest, organizations: readonly number[] | undefined): string {
  const { eventType, daysAgo } = request
  return JSON.stringify([organizations?.join() ?? null, eventType, daysAgo])
}

function findEvents(
  source: EventSource,
  request: SearchRequest,
  organizations: readonly number[] | undefined,
  nowMs: number,
): Answer {
  const windowMs = request.daysAgo === undefined ? Infinity : request.daysAgo * DAY
  const type = request.eventType === undefined ? -1 : EVENT_TYPES.indexOf(request.eventType)
  const found: number[] = []
  let untilMs = Infinity
  const look = (event: number) => {
    const detectedAt = source.detectedAt[event] ?? 0
    // Both ends of the window belong to it.
    if (detectedAt < nowMs - windowMs || (type >= 0 && source.typeOf[event] !== type)) return
    if (detectedAt > nowMs) {
      untilMs = Math.min(untilMs, detectedAt)
      return
    }
    found.push(event)
    untilMs = Math.min(untilMs, detectedAt + windowMs + 1)
  }
  if (organizations === undefined) {
    for (let event = 0; event < source.count; event += 1) look(event)
  } else {
    for (const organization of organizations) source.eventsOf(organization).forEach(look)
  }
  // Numbers are in the order of freshness, so sorting numbers merges the organisations.
  return { events: Uint32Array.from(found).sort(), fromMs: nowMs, untilMs }
}
