/**
 * Finding and paging. A question (organisations, window, type) is answered once with a list of events, which its pages
 * are parts of. The list is kept for as long as the passing of time cannot change it.
 */

import { DAY } from '../support/units.ts'
import type { EventSource, ServedEvent } from './events.ts'
import type { SearchRequest } from './search-request.ts'

export interface FoundPage {
  readonly events: readonly ServedEvent[]
  readonly hasMore: boolean
}

interface Answer {
  readonly events: readonly ServedEvent[]
  /** The answer holds from `fromMs` until just before `untilMs`. */
  readonly fromMs: number
  readonly untilMs: number
}

const KEPT_ANSWERS = 64

export class Search {
  readonly #source: EventSource
  /** By organisation: the places of its events in the source. */
  readonly #places: number[][]
  /** In the order of last use: the first one is the one to forget. */
  readonly #answers = new Map<string, Answer>()

  constructor(source: EventSource) {
    this.#source = source
    this.#places = source.organizations.map(() => [])
    for (const [place, { organization }] of source.events.entries()) {
      this.#places[organization]?.push(place)
    }
  }

  /**
   * The page that `request` asks for, as visible at `nowMs` (milliseconds since 1970 UTC).
   * @param organizations their positions in the source; undefined for all
   */
  page(
    request: SearchRequest,
    organizations: ReadonlySet<number> | undefined,
    nowMs: number,
  ): FoundPage {
    const { eventType, daysAgo, page, limit } = request
    const key = JSON.stringify([organizations && [...organizations].join(), eventType, daysAgo])
    const kept = this.#answers.get(key)
    this.#answers.delete(key)
    const isGood = kept !== undefined && nowMs >= kept.fromMs && nowMs < kept.untilMs
    const answer = isGood ? kept : this.#find(request, organizations, nowMs)
    this.#answers.set(key, answer)
    const [oldest = key] = this.#answers.keys()
    if (this.#answers.size > KEPT_ANSWERS) this.#answers.delete(oldest)
    const { events } = answer
    const end = page * limit
    return { events: events.slice(end - limit, end), hasMore: end < events.length }
  }

  #find(
    { eventType, daysAgo }: SearchRequest,
    organizations: ReadonlySet<number> | undefined,
    nowMs: number,
  ): Answer {
    const all = this.#source.events
    const places = organizations && [...organizations].flatMap((one) => this.#places[one] ?? [])
    const asked = places?.toSorted((a, b) => a - b).flatMap((place) => all[place] ?? []) ?? all
    const windowMs = daysAgo === undefined ? Infinity : daysAgo * DAY
    let untilMs = Infinity
    const events = asked.filter(({ type, detectedAt }) => {
      // Both ends of the window belong to it.
      if (detectedAt < nowMs - windowMs || (eventType ?? type) !== type) return false
      const isVisible = detectedAt <= nowMs
      untilMs = Math.min(untilMs, isVisible ? detectedAt + windowMs + 1 : detectedAt)
      return isVisible
    })
    return { events, fromMs: nowMs, untilMs }
  }
}
