/** Talent flows computed a second time, straight from the definition and without SQL, to compare the models with. */

import { expectedMoves, expectedStints, groupBy } from './careers-reference.ts'
import type { GivenEvent } from './insert-events.ts'

/** One expected row of talent_flows. */
export interface ExpectedFlow {
  readonly from: string
  readonly to: string
  readonly people: number
  readonly moves: number
  readonly firstMovedAt: string
  readonly lastMovedAt: string
  readonly medianGapDays: number
}

/** The flows of all events, sorted by their two organisations. */
export function expectedFlows(events: readonly GivenEvent[]): ExpectedFlow[] {
  const moves = expectedMoves(expectedStints(events))
  const flows = groupBy(
    moves,
    ({ departed, arrived }) => `${departed.organization} ${arrived.organization}`,
  )
  return [...flows.keys()].toSorted().map((key) => {
    const pairs = flows.get(key) ?? []
    const [from = '', to = ''] = key.split(' ')
    const movedAt = pairs
      .map(({ arrived }) => new Date(arrived.arrival?.changed_at ?? Number.NaN).toISOString())
      .toSorted()
    return {
      from,
      to,
      people: new Set(pairs.map(({ departed }) => departed.person)).size,
      moves: pairs.length,
      firstMovedAt: movedAt[0] ?? '',
      lastMovedAt: movedAt.at(-1) ?? '',
      medianGapDays: median(pairs.map(({ gapDays }) => gapDays)),
    }
  })
}

function median(values: readonly number[]): number {
  const ordered = values.toSorted((a, b) => a - b)
  const middle = (ordered.length - 1) / 2
  return ((ordered[Math.floor(middle)] ?? 0) + (ordered[Math.ceil(middle)] ?? 0)) / 2
}
