/** Coverage of questions with filters, each separate. */

import type { CoveredInterval } from './coverage.ts'
import type { Filters } from './records.ts'
import type { Sightings } from './sightings.ts'

/** Coverage of organisations by one question, by their canonical names. */
export interface ReadByQuestion {
  readonly coverage: Map<string, CoveredInterval[]>
  readonly seen: Map<string, Sightings>
}

/** The same for a question with filters. */
export interface ReadByFilters extends ReadByQuestion {
  readonly filters: Filters
  /**
   * The organisations that it asks for, and when a run first asked, milliseconds since 1970 UTC: before a page is read.
   */
  readonly planned: Map<string, number>
}

/** Filters in a line, such as `title="Vice President" geo_city=London`; equal for equal filters, and empty for none. */
export function filtersText(filters: Filters = {}): string {
  const { title, geo_city, geo_country_code } = filters
  return Object.entries({ title, geo_city, geo_country_code })
    .flatMap(([name, value]) =>
      value === undefined ? [] : `${name}=${/[\s"=]/.test(value) ? JSON.stringify(value) : value}`,
    )
    .join(' ')
}

/**
 * A history as a question with these filters knows it: one question never covers another. Without filters it is the history.
 */
export function inQuestion<
  Known extends ReadByQuestion & { readonly filtered: ReadonlyMap<string, ReadByFilters> },
>(history: Known, filters: Filters | undefined): Known {
  const text = filtersText(filters)
  if (text === '') return history
  const { coverage, seen } = history.filtered.get(text) ?? NOTHING
  return { ...history, coverage, seen }
}

const NOTHING: ReadByQuestion = { coverage: new Map(), seen: new Map() }
