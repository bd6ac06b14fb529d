/**
 * Intervals of detection time that were read to their end, and how they add up. Pure. history.ts makes them of finished
 * batches. Planning, resuming, the coverage report, `status` and the load read them; ops.coverage holds them, for models and
 * manifests.
 */

import type { EventType, BatchFinished } from './records.ts'
import { CLOCK_TOLERANCE_MS } from './clock-history.ts'

/** Detection time, milliseconds since 1970 UTC by the service's clock; `from` null means from the beginning. */
export interface Stretch {
  readonly from: number | null
  readonly to: number
}

/** An unbroken interval of detection time that was read to its end. */
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
  const first = added.eventTypes.filter((type) => !hasType(confirmed, type))
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

/** Whether answers with events cover it. */
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

function hasType(intervals: readonly CoveredInterval[], type: EventType): boolean {
  return intervals.some(({ eventTypes }) => eventTypes.includes(type))
}

/**
 * Adds an interval, joining those of the same event types that touch or overlap, confirmed ones separately from others.
 * Intervals of one kind come out sorted and separate. Pure.
 */
export function addInterval(
  known: readonly CoveredInterval[],
  added: CoveredInterval,
): CoveredInterval[] {
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
export function coveredBy(
  record: Pick<BatchFinished, 'at' | 'covered_from' | 'covered_to'>,
): Stretch {
  const { at, covered_from: from, covered_to } = record
  const to = Math.min(covered_to, at + CLOCK_TOLERANCE_MS)
  return { from: from === null ? null : Math.min(from, to), to }
}

/**
 * Moves the ends of intervals; an interval without a valid end (0) keeps its beginning, from which it is requested
 * again. Pure.
 */
export function endingAt(
  intervals: readonly CoveredInterval[],
  endOf: (to: number) => number,
): CoveredInterval[] {
  return intervals.map((one) => {
    const to = endOf(one.to) || (one.from ?? 0)
    return { ...one, from: one.from === null ? null : Math.min(one.from, to), to }
  })
}

/** Its beginning as a number. */
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
