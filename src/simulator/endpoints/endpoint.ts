/** What a file of this folder serves: one endpoint beside job changes, from the same organisations and careers. */

import type { ServedWorld } from './world.ts'

export interface ServedEndpoint {
  /** Its path; one that ends with a slash takes the rest of the path as `rest`, and its query as members of the request. */
  readonly path: string
  readonly method?: 'GET'
  /**
   * Answers a request whose body is a JSON object.
   * @throws BadRequest for a request that breaks a rule
   */
  answer(request: Readonly<Record<string, unknown>>, world: ServedWorld): ServedAnswer
}

export interface ServedAnswer {
  readonly body: Readonly<Record<string, unknown>>
  readonly credits: number
  /** Items in it. */
  readonly items: number
  /** Default 200. */
  readonly status?: number
  /** The organisation that it is about, for faults that strike one. */
  readonly organizationId?: string | undefined
}

/** Items in a page of a search. */
const PAGE = 25

/** The items of a page, numbered from 1, and how many there are. */
export function pageOf<Item>(all: readonly Item[], page: number) {
  const start = (page - 1) * PAGE
  return {
    items: all.slice(start, start + PAGE),
    start,
    total: all.length,
    pages: Math.ceil(all.length / PAGE),
  }
}

/** Whether a text has another in it, in any case; everything has an absent one. */
export function has(text: string | null, part: string | undefined): boolean {
  return part === undefined || (text ?? '').toLowerCase().includes(part.toLowerCase())
}
