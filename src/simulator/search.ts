/**
 * Finding and paging. A question (organisations, window, type, filters) is answered with a list of events, which its pages are
 * parts of.
 */

import { DAY } from '../support/units.ts'
import type { EventSource, JobChangeEvent, ServedEvent } from './events.ts'
import { placeOf } from './places.ts'
import { has } from './endpoints/endpoint.ts'
import type { SearchRequest } from './search-request.ts'

export interface FoundPage {
  readonly events: readonly ServedEvent[]
  readonly hasMore: boolean
}

export class Search {
  readonly #source: EventSource
  /** By organisation: the places of its events in the source. */
  readonly #places: number[][]

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
    const all = this.#source.events
    const places = organizations && [...organizations].flatMap((one) => this.#places[one] ?? [])
    const asked = places?.toSorted((a, b) => a - b).flatMap((place) => all[place] ?? []) ?? all
    const from = daysAgo === undefined ? -Infinity : nowMs - daysAgo * DAY
    // Both ends of the window belong to it.
    const seen = asked.filter(
      ({ type, detectedAt: at }) => at >= from && at <= nowMs && (eventType ?? type) === type,
    )
    const events = hasFilter(request) ? seen.filter((one) => passes(one, request)) : seen
    const end = page * limit
    return { events: events.slice(end - limit, end), hasMore: end < events.length }
  }
}

type Filters = Pick<SearchRequest, 'title' | 'city' | 'country'>

function hasFilter({ title, city, country }: Filters): boolean {
  return (title ?? city ?? country) !== undefined
}

/** Whether the new title has all words of the title, and the person is in a place that has the city in its name. */
function passes({ json }: ServedEvent, { title, city, country }: Filters): boolean {
  const event = JSON.parse(json) as JobChangeEvent
  const place = placeOf(event.person.profile_id)
  const words = wordsOf(event.title.current)
  return (
    wordsOf(title ?? null).every((word) => words.includes(word)) &&
    has(place.city, city) &&
    (country === undefined || country.toUpperCase() === place.country)
  )
}

function wordsOf(text: string | null): string[] {
  return (text ?? '').toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
