/** What is covered, as tests of planning say it: in days before NOW. */

import type { CoveredInterval } from '../../src/journal/coverage.ts'
import { EVENT_TYPES, type EventType } from '../../src/journal/records.ts'
import { DAY } from '../../src/support/units.ts'

export const NOW = Date.UTC(2026, 5, 15, 12)

/** Covered from so many days ago (null: from the beginning) to so many days ago. */
export function covered(
  fromDaysAgo: number | null,
  toDaysAgo: number,
  eventTypes: readonly EventType[] = EVENT_TYPES,
): CoveredInterval {
  const from = fromDaysAgo === null ? null : NOW - fromDaysAgo * DAY
  return { eventTypes, from, to: NOW - toDaysAgo * DAY }
}
