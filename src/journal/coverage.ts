/** Intervals of detection time that were read to their end, and how they add up. Pure. */

import type { EventType } from './records.ts'

/** An unbroken interval of detection time that was read to its end. */
export interface CoveredInterval {
  readonly eventTypes: readonly EventType[]
  /** Milliseconds since 1970 UTC, server time; null means from the beginning. */
  readonly from: number | null
  readonly to: number
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
 * Intervals without what lies after `nowMs`, which nobody can have read: a clock was wrong when that was written, or was set
 * back since. Where one reaches there, all end at `to`, which was read last.
 */
export function withoutFuture(
  known: readonly CoveredInterval[],
  nowMs: number,
  to: number,
): readonly CoveredInterval[] {
  if (known.every((interval) => interval.to <= nowMs)) return known
  return known
    .filter((interval) => startOf(interval) <= to)
    .map((interval) => ({ ...interval, to: Math.min(interval.to, to) }))
}

function startOf({ from }: CoveredInterval): number {
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
