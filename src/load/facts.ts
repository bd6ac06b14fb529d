/** Stores the totals of the journal that planning uses (history.ts): runs, coverage, and facts about organisations. */

import { readIntervals, type CoveredInterval } from '../journal/coverage.ts'
import type { History } from '../journal/history.ts'
import type { RunHistory } from '../journal/run-history.ts'
import { appendRows, type Row } from '../warehouse/rows.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'

/** Replaces the rows of the tables of facts by those of `history`. Tables that it does not mention are left alone. */
export async function storeFacts(
  warehouse: Warehouse,
  history: History | Pick<History, 'runs'>,
): Promise<void> {
  const runs = [...history.runs.values()].map(runRow)
  const facts = { runs, ...('coverage' in history ? factsOf(history) : {}) }
  await warehouse.transaction(async () => {
    for (const [name, rows] of Object.entries(facts)) {
      await warehouse.run(`delete from ops.${name}`)
      await appendRows(warehouse, `ops.${name}`, rows)
    }
  })
}

function factsOf(history: History): Readonly<Record<string, Row[]>> {
  const { ids, asked, quarantined } = history
  return {
    coverage: [...history.coverage].flatMap(([organization_id, intervals]) =>
      readIntervals(intervals).map(({ eventTypes, from, to }) => ({
        organization_id,
        event_types: eventTypes.join(),
        covered_from: from === null ? null : new Date(from),
        covered_to: new Date(to),
      })),
    ),
    organization_filters: [...history.filtered].flatMap(([filters, { planned, coverage }]) =>
      [...planned].map(([organization_id, firstAskedAt]) => ({
        organization_id,
        filters,
        first_asked_at: new Date(firstAskedAt),
        covered_to: coveredTo(coverage.get(organization_id)),
      })),
    ),
    organization_ids: [...ids].map(([asked_as, organization_id]) => ({
      asked_as,
      organization_id,
      learnt_at: new Date(history.learntAt.get(asked_as) ?? 0),
    })),
    organizations_asked: [...asked].map(([organization_id, { first, last }]) => ({
      organization_id,
      first_asked_at: new Date(first),
      last_asked_at: new Date(last),
    })),
    organizations_quarantined: [...quarantined].map(([organization_id, { at, reason }]) => ({
      organization_id,
      reason,
      quarantined_at: new Date(at),
    })),
  }
}

/** The time up to which all requested event types were read; null if never. */
function coveredTo(intervals: readonly CoveredInterval[] = []): Date | null {
  const ends = new Map<string, number>()
  for (const { eventTypes, to } of intervals) {
    for (const type of eventTypes) ends.set(type, Math.max(ends.get(type) ?? 0, to))
  }
  return ends.size === 0 ? null : new Date(Math.min(...ends.values()))
}

function runRow({ started, finished, resumed }: RunHistory): Row {
  return {
    run_id: started.run_id,
    pipeline: started.pipeline,
    kind: started.command,
    started_at: new Date(started.at),
    finished_at: finished === null ? null : new Date(finished.at),
    outcome: finished?.outcome ?? 'unfinished',
    exit_code: finished?.exit_code ?? null,
    message: finished?.message ?? null,
    organizations: started.organizations,
    batches: started.batches,
    credits_limit: started.credits_limit,
    resumed,
  }
}
