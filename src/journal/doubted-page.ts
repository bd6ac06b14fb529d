/** Pages that are asked for again before they are believed, because they contradict the ones before. */

import type { BatchHistory } from './batch-history.ts'
import type { PageReceived } from './records.ts'

/**
 * Whether the next page is asked for again before it is believed. A cache on the way may have answered with an earlier one, once,
 * which may cost a page. An empty page is free: after one that promised more it contradicts that, and is asked for twice more.
 */
export function isDoubted(
  history: BatchHistory,
  record: PageReceived,
  same: number | null,
): boolean {
  const { page, events, has_more: hasMore } = record
  const isEmpty = events === 0 && (hasMore || page > 1)
  if (same === null && !isEmpty) return false
  const { doubted } = history.drift
  const times = doubted.page === page ? doubted.times : 0
  if (times >= (isEmpty ? 2 : 1)) return false
  history.drift.doubted = { page, times: times + 1 }
  return true
}

/** How often the next page was asked for and not believed; 0 for a page that was not asked for. */
export function timesDoubted({ pages, drift: { doubted } }: BatchHistory): number {
  return doubted.page === pages + 1 ? doubted.times : 0
}
