/**
 * What a file of this folder declares of an endpoint. All else (planning, budget, journal, resuming, tables) is the same for every
 * endpoint. Job changes have a reader of their own: their lists move while they are read.
 */

import type { z } from 'zod'

/** An endpoint that pipelines of `kind: collect` ask. */
export interface Endpoint {
  /** Its name in pipeline files and tables; that of its file. */
  readonly name: string
  readonly path: string
  /** The member of a request that a line of `for_each` fills, such as `url`. */
  readonly subject: string
  /** A request, but for the page; unknown members are refused. The rules are the service's. */
  readonly request: z.ZodObject
  /** The member that asks for a page, and pages that it has at most; null where an answer is all there is. */
  readonly pages: { readonly member: string; readonly most: number } | null
  /** Statuses beside 200 that are answers. */
  readonly statuses?: readonly number[]
  /** What a page may cost, by the price list. */
  readonly price: (request: LookupRequest) => PriceRange
  /** Reads a JSON answer. @returns what it is; a reason where it is none */
  readonly read: (
    json: unknown,
    asked: { readonly request: LookupRequest; readonly page: number; readonly status: number },
  ) => EndpointAnswer | string
  /** Paths of members that are taken out before an answer is kept: personal data that job-change work does not need. */
  readonly notKept?: readonly (readonly string[])[]
}

export type LookupRequest = Readonly<Record<string, unknown>>

/** In credits. */
export interface PriceRange {
  readonly least: number
  readonly most: number
}

export interface EndpointAnswer {
  /** `absent`: there is nothing of that name; `later`: the service could not say, and asks to ask again. */
  readonly outcome: 'found' | 'absent' | 'later'
  /** Items in it: 1 for a thing that is there. */
  readonly items: number
  /** What asks for the next page; null for the last one. */
  readonly next: string | number | null
  /** What the service says it charged, as sent. */
  readonly creditsSent: unknown
  /** What this answer should cost. */
  readonly price: PriceRange
}
