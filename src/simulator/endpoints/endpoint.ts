/** What a file of this folder serves: one endpoint beside job changes, from the same organisations and careers. */

import type { TrackedOrganization } from '../events.ts'

/** The world at the time of a request. */
export interface ServedWorld {
  /** The organisation of a page URL or slug; undefined for one that nobody tracks. */
  organizationOf(url: string): ServedOrganization | undefined
  readonly nowMs: number
}

export interface ServedOrganization {
  /** Its position among all. */
  readonly number: number
  readonly tracked: TrackedOrganization
  /** Joinings that were seen so far, less leavings. */
  readonly growth: number
}

export interface ServedEndpoint {
  readonly path: string
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
  /** The organisation that it is about, for faults that strike one. */
  readonly organizationId?: string | undefined
}
