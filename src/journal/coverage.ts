/**
 * The intervals of detection time that were read to their end for an organisation, by question, and how many events
 * came. history.ts makes them of finished batches. Pure.
 */

import { DAY } from '../support/units.ts'
import type { BatchFinished, EventType, Filters } from './records.ts'
import { CLOCK_TOLERANCE_MS } from './clock-history.ts'

/** Detection time, milliseconds since 1970 UTC by the service's clock; `from` null means from the beginning. */
export interface Stretch {
  readonly from: number | null
  readonly to: number
}

export interface CoveredInterval extends Stretch {
  readonly eventTypes: readonly EventType[]
  /** No answer had an event: the time was read, and is requested again. See addAnswer. */
  readonly isUnconfirmed?: true
}

/**
 * Adds what a batch has read. An answer without any event is not believed forever: a failing service also gives such
 * answers, and asking again is free while there are no events. Such an answer stays separate until an answer with
 * events has read that time. For an organisation that never had an event, that answer may begin later: only the time
 * from there on counts as read. Pure.
 */
export function addAnswer(
  known: readonly CoveredInterval[],
  added: CoveredInterval,
  hasEvents: boolean,
): CoveredInterval[] {
  const confirmed = known.filter(isConfirmed)
  const others = known.length === confirmed.length ? [] : known.filter((one) => !isConfirmed(one))
  if (!hasEvents) return [...confirmed, ...addInterval(others, { ...added, isUnconfirmed: true })]
  const now = addInterval(confirmed, added)
  if (others.length === 0) return now
  const first = added.eventTypes.filter(
    (type) => !confirmed.some(({ eventTypes }) => eventTypes.includes(type)),
  )
  const left = others
    .map((one) => ({ ...one, eventTypes: one.eventTypes.filter((type) => !first.includes(type)) }))
    .filter(({ eventTypes }) => eventTypes.length > 0)
    .filter((one) => !now.some((whole) => includes(whole, one)))
  return [...now, ...left.reduce<CoveredInterval[]>(addInterval, [])]
}

/** Everything that was read, including by answers without any event. Pure. */
export function readIntervals(known: readonly CoveredInterval[]): readonly CoveredInterval[] {
  if (known.every(isConfirmed)) return known
  return known
    .map(({ eventTypes, from, to }) => ({ eventTypes, from, to }))
    .reduce<CoveredInterval[]>(addInterval, [])
}

export function isConfirmed({ isUnconfirmed }: CoveredInterval): boolean {
  return isUnconfirmed !== true
}

function includes(whole: CoveredInterval, part: CoveredInterval): boolean {
  return (
    part.eventTypes.every((type) => whole.eventTypes.includes(type)) &&
    startOf(whole) <= startOf(part) &&
    part.to <= whole.to
  )
}

/**
 * Adds an interval, joining those of the same event types that touch or overlap, confirmed ones separately from others.
 * Intervals of one kind come out sorted and separate. Pure.
 */
export function addInterval(known: readonly CoveredInterval[], added: CoveredInterval) {
  const [only] = known
  // The usual case, one more night after many, which makes years of them quick to read.
  if (only !== undefined && known.length === 1 && isAlike(only, added) && touch(only, added)) {
    return [joined(only, added)]
  }
  const others = known.filter((interval) => !isAlike(interval, added))
  const same = [...known.filter((interval) => isAlike(interval, added)), added]
  const apart: CoveredInterval[] = []
  for (const next of same.toSorted((a, b) => startOf(a) - startOf(b))) {
    const last = apart.at(-1)
    if (last === undefined || startOf(next) > last.to) apart.push(next)
    else apart[apart.length - 1] = joined(last, next)
  }
  return [...others, ...apart]
}

/**
 * The detection time up to which a record says that events were read. Events read by then are not later than then,
 * whatever the clock said: the time ends at most minutes after the record was written.
 */
export function coveredBy(record: Pick<BatchFinished, 'at' | 'covered_from' | 'covered_to'>) {
  const { at, covered_from: from, covered_to } = record
  const to = Math.min(covered_to, at + CLOCK_TOLERANCE_MS)
  return { from: from === null ? null : Math.min(from, to), to }
}

/**
 * Moves the ends of intervals; an interval without a valid end (0) keeps its beginning, from which it is requested
 * again. Pure.
 */
export function endingAt(intervals: readonly CoveredInterval[], endOf: (to: number) => number) {
  return intervals.map((one) => {
    const to = endOf(one.to) || (one.from ?? 0)
    return { ...one, from: one.from === null ? null : Math.min(one.from, to), to }
  })
}

export function startOf({ from }: Stretch): number {
  return from ?? Number.NEGATIVE_INFINITY
}

function isAlike(a: CoveredInterval, b: CoveredInterval): boolean {
  if (isConfirmed(a) !== isConfirmed(b)) return false
  return a.eventTypes === b.eventTypes || a.eventTypes.join() === b.eventTypes.join()
}

function touch(a: CoveredInterval, b: CoveredInterval): boolean {
  return startOf(a) <= b.to && startOf(b) <= a.to
}

function joined(a: CoveredInterval, b: CoveredInterval): CoveredInterval {
  const from = startOf(a) <= startOf(b) ? a.from : b.from
  return { ...a, from, to: Math.max(a.to, b.to) }
}

/**
 * The events of an organisation so far: enough to estimate the cost of its next request. Events and the days they were
 * looked for in have the same weight by their age, so that a rate follows an organisation whose activity changes, and
 * repeated sightings change nothing.
 */
export interface Sightings {
  readonly total: number
  /** When an event was last received, milliseconds since 1970 UTC; 0 for never. */
  readonly lastAt: number
  /** Events of the last 365 days of detection time, weighted by their age at `at`. */
  readonly events: number
  /** Requested days of detection time, with the same weights. */
  readonly days: number
  /** The time of the weights, milliseconds since 1970 UTC. */
  readonly at: number
}

/**
 * Events detected longer ago, in days, do not count for a rate; a read of everything counts as one of this many days.
 */
export const RATE_DAYS = 365

export const RATE_HALF_LIFE_MS = 90 * DAY

/** The days of detection time of an answer, except days already answered without events. */
export function lookedDays(
  known: readonly CoveredInterval[],
  { eventTypes, to }: CoveredInterval,
  days: number,
): number {
  const before = known
    .filter((one) => !isConfirmed(one) && one.eventTypes.some((type) => eventTypes.includes(type)))
    .map((one) => one.to)
  if (before.length === 0) return days
  return Math.min(days, Math.max(1, Math.ceil((to - Math.max(...before)) / DAY)))
}

/** Adds one observation to what is known; the order of observations does not matter. */
export function addSightings(known: Sightings | undefined, added: Sightings): Sightings {
  const before = known ?? { total: 0, lastAt: 0, events: 0, days: 0, at: 0 }
  const at = Math.max(before.at, added.at)
  const weight = (of: Sightings) => 2 ** ((of.at - at) / RATE_HALF_LIFE_MS)
  return {
    total: before.total + added.total,
    lastAt: Math.max(before.lastAt, added.lastAt),
    events: before.events * weight(before) + added.events * weight(added),
    days: before.days * weight(before) + added.days * weight(added),
    at,
  }
}

export interface ReadByQuestion {
  readonly coverage: Map<string, CoveredInterval[]>
  readonly seen: Map<string, Sightings>
}

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
  const { coverage, seen } = history.filtered.get(text) ?? { coverage: new Map(), seen: new Map() }
  return { ...history, coverage, seen }
}
