/** Questions, and the knowledge at the time of planning, in days before NOW. */

import type { CoveredInterval, Sightings } from '../../src/journal/coverage.ts'
import { emptyHistory, type History } from '../../src/journal/history.ts'
import {
  EVENT_TYPES,
  type EventType,
  type OrganizationRef,
  type RunOutcome,
  type RunStarted,
} from '../../src/journal/records.ts'
import { newRunHistory, type RunHistory } from '../../src/journal/run-history.ts'
import type { Question } from '../../src/plan/plan.ts'
import { DAY } from '../../src/support/units.ts'
import { aStart } from '../journal/journal-fixture.ts'

export const NOW = Date.UTC(2026, 5, 15, 12)

/** org_0, org_1 and so on. */
export const ids = (count: number): OrganizationRef[] =>
  Array.from({ length: count }, (_, i) => ({ by: 'id', value: `org_${i}` }))

/** The nightly question about org_0. */
export function aQuestion(fields: Partial<Question> = {}): Question {
  return {
    pipeline: 'nightly',
    organizations: ids(1),
    eventTypes: EVENT_TYPES,
    window: 'since-last',
    initialWindow: 365,
    overlapHours: 6,
    ...fields,
  }
}

/** Covered from this many days ago (null: from the beginning) to this many days ago. */
export function covered(
  fromDaysAgo: number | null,
  toDaysAgo: number,
  eventTypes: readonly EventType[] = EVENT_TYPES,
): CoveredInterval {
  const from = fromDaysAgo === null ? null : NOW - fromDaysAgo * DAY
  return { eventTypes, from, to: NOW - toDaysAgo * DAY }
}

/** What a year of reading showed about an organisation. */
export function sightings(eventsADay: number): Sightings {
  const events = Math.round(365 * eventsADay)
  return { total: events, lastAt: NOW - DAY, events, days: 365, at: NOW - DAY }
}

/** Organisations that were read for a year up to a day ago, with this many events a day each. */
export function aPast(rates: readonly number[]): History {
  const history = emptyHistory()
  for (const [n, rate] of rates.entries()) {
    history.coverage.set(`org_${n}`, [covered(366, 1)])
    history.seen.set(`org_${n}`, sightings(rate))
  }
  return history
}

/** A finished run that cost this many credits. */
export function finishedRun(
  creditsCommitted: number,
  fields: Partial<RunStarted> = {},
  outcome: RunOutcome = 'done',
): RunHistory {
  const started = aStart(fields)
  const { run_id, at } = started
  const run = newRunHistory(started, [])
  const finished = {
    kind: 'run_finished',
    run_id,
    at,
    outcome,
    exit_code: 0,
    message: null,
  } as const
  return Object.assign(run, { creditsCommitted, finished })
}
