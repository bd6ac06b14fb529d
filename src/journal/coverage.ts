/**
 * Intervals of detection time that were read to their end, and how they add up. Pure. history.ts makes them of finished
 * batches. Planning, resuming, the coverage report, `status` and the load read them; ops.coverage holds them, for models and
 * manifests.
 */

import type { EventType, BatchFinished } from './records.ts'
import { CLOCK_TOLERANCE_MS } from './service-time.ts'

/** Detection time, milliseconds since 1970 UTC by the service's clock; `from` null means from the beginning. */
export interface Stretch {
  readonly from: number | null
  readonly to: number
}

/** An unbroken interval of detection time that was read to its end. */
export interface CoveredInterval extends Stretch {
  readonly eventTypes: readonly EventType[]
}

/**
 * Adds an interval, joining those of the same event types that touch or overlap. Those of one set of event types come
 * out sorted and apart from each other. Pure.
 */
export function addInterval(
  known: readonly CoveredInterval[],
  added: CoveredInterval,
): CoveredInterval[] {
  const [only] = known
  // The usual case, a night after many others, and the reason why years of them are read quickly.
  if (only !== undefined && known.length === 1 && sameTypes(only, added) && touch(only, added)) {
    return [joined(only, added)]
  }
  const others = known.filter((interval) => !sameTypes(interval, added))
  const same = [...known.filter((interval) => sameTypes(interval, added)), added]
  const apart: CoveredInterval[] = []
  for (const next of same.toSorted((a, b) => startOf(a) - startOf(b))) {
    const last = apart.at(-1)
    if (last === undefined || startOf(next) > last.to) apart.push(next)
    else apart[apart.length - 1] = joined(last, next)
  }
  return [...others, ...apart]
}

/**
 * The detection time that a record says was read. What was read by then is not later than then, whatever a clock has said:
 * it ends at most minutes after the record was written.
 */
export function coveredBy(
  record: Pick<BatchFinished, 'at' | 'covered_from' | 'covered_to'>,
): Stretch {
  const { at, covered_from: from, covered_to } = record
  const to = Math.min(covered_to, at + CLOCK_TOLERANCE_MS)
  return { from: from === null ? null : Math.min(from, to), to }
}

/** Intervals with other ends; of one that has none, 0, its beginning is left: it is asked for from there. Pure. */
export function endingAt(
  intervals: readonly CoveredInterval[],
  endOf: (to: number) => number,
): CoveredInterval[] {
  return intervals.map((one) => {
    const to = endOf(one.to) || (one.from ?? 0)
    return { ...one, from: one.from === null ? null : Math.min(one.from, to), to }
  })
}

/** Where it begins, as a number. */
export function startOf({ from }: Stretch): number {
  return from ?? Number.NEGATIVE_INFINITY
}

function sameTypes(a: CoveredInterval, b: CoveredInterval): boolean {
  return a.eventTypes === b.eventTypes || a.eventTypes.join() === b.eventTypes.join()
}

function touch(a: CoveredInterval, b: CoveredInterval): boolean {
  return startOf(a) <= b.to && startOf(b) <= a.to
}

function joined(a: CoveredInterval, b: CoveredInterval): CoveredInterval {
  const from = startOf(a) <= startOf(b) ? a.from : b.from
  return { eventTypes: a.eventTypes, from, to: Math.max(a.to, b.to) }
}
