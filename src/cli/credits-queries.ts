/** What the warehouse adds to the ledger of the journal: which events were new, and who the pages were paid for. */

import { CREDITS_PER_PAGE } from '../journal/spending.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { NewEvents, OrganizationSpending, PageUse, Scope } from './credits-figures.ts'

/** A page whose charge was not the expected 10 credits, or 0 for an empty one. */
export interface UnexpectedCharge {
  readonly requested_at: Date
  readonly pipeline: string
  readonly run_id: string
  readonly batch_id: string
  readonly page: number
  readonly request_id: string
  readonly events: number
  /** What it is counted with. */
  readonly credits_used: number
  /** What was sent, where that cannot be a price; else null. */
  readonly credits_sent: string | null
}

// A scope as two parameters, pipeline and first day, of which either may be null.
const OF_PIPELINE = '($1::varchar is null or runs.pipeline = $1)'
const since = (column: string) => `($2::varchar is null or ${column} >= cast($2 as timestamptz))`

const NEW_EVENTS_SQL = `
  select strftime(first_seen_at, '%Y-%m-%d') as day, runs.pipeline, cast(count(*) as double) as events
  from main.job_change_events
  join ops.runs as runs on runs.run_id = first_run_id
  group by all`

const NEW_EVENTS_OF_RUNS_SQL = `
  select first_run_id as run_id, cast(count(*) as double) as events
  from main.job_change_events group by all`

const ORGANIZATIONS_SQL = `
  with
      charged as (
          select organization_id, count(*) as pages, sum(charges.events) as events, sum(charges.credits) as credits
          from ops.organization_charges as charges
          join ops.runs as runs on runs.run_id = charges.run_id
          where ${OF_PIPELINE} and ${since('charges.requested_at')}
          group by organization_id
      ),
      received as (
          select organization_id, count(*) as new_events
          from main.job_change_events
          join ops.runs as runs on runs.run_id = first_run_id
          where ${OF_PIPELINE} and ${since('first_seen_at')}
          group by organization_id
      )
  select
      known.organization_id, known.asked_as, known.name,
      cast(charged.pages as double) as pages,
      cast(charged.events as double) as events,
      cast(coalesce(received.new_events, 0) as double) as new_events,
      charged.credits
  from charged
  join ops.organizations as known on known.organization_id = charged.organization_id
  left join received on received.organization_id = charged.organization_id
  order by charged.credits desc, known.organization_id`

const PAGE_USE_SQL = `
  select
      (select cast(count(*) as double) from ops.pages as pages join ops.runs as runs on runs.run_id = pages.run_id
          where credits_used > 0 and pages.outcome = 'received' and ${OF_PIPELINE} and ${since('requested_at')}) as bought,
      (select cast(coalesce(sum(events), 0) as double) from ops.pages as pages
          join ops.runs as runs on runs.run_id = pages.run_id
          where pages.outcome = 'received' and ${OF_PIPELINE} and ${since('requested_at')}) as events,
      (select cast(count(*) as double) from main.job_change_events
          join ops.runs as runs on runs.run_id = first_run_id
          where ${OF_PIPELINE} and ${since('first_seen_at')})
      + (select cast(count(*) as double) from ops.rejects as rejects
          join ops.runs as runs on runs.run_id = rejects.run_id
          where ${OF_PIPELINE} and ${since('received_at')}) as unknown`

const UNEXPECTED_SQL = `
  select requested_at, runs.pipeline, pages.run_id, batch_id, page, request_id, events, credits_used, credits_sent
  from ops.pages as pages
  join ops.runs as runs on runs.run_id = pages.run_id
  where pages.outcome = 'received'
      and (credits_sent is not null or credits_used <> case when events = 0 then 0 else ${CREDITS_PER_PAGE} end)
      and ${OF_PIPELINE} and ${since('requested_at')}
  order by requested_at desc, request_id`

/** New events by day and pipeline. */
export async function readNewEvents(warehouse: Warehouse): Promise<NewEvents[]> {
  return warehouse.all<NewEvents>(NEW_EVENTS_SQL)
}

/** New events by run id. */
export async function readNewEventsOfRuns(warehouse: Warehouse): Promise<Map<string, number>> {
  const rows = await warehouse.all<{ run_id: string; events: number }>(NEW_EVENTS_OF_RUNS_SQL)
  return new Map(rows.map(({ run_id, events }) => [run_id, events]))
}

/** What each organisation cost, the dearest first. */
export async function readOrganizationSpending(
  warehouse: Warehouse,
  scope: Scope,
): Promise<OrganizationSpending[]> {
  return warehouse.all<OrganizationSpending>(ORGANIZATIONS_SQL, parameters(scope))
}

/** How well the pages that were charged were used. */
export async function readPageUse(warehouse: Warehouse, scope: Scope): Promise<PageUse> {
  const [row] = await warehouse.all<{ bought: number; events: number; unknown: number }>(
    PAGE_USE_SQL,
    parameters(scope),
  )
  const { bought = 0, events = 0, unknown = 0 } = row ?? {}
  return { bought, events, known: Math.max(0, events - unknown) }
}

/** Pages that were not charged as expected, the newest first. */
export async function readUnexpectedCharges(
  warehouse: Warehouse,
  scope: Scope,
): Promise<UnexpectedCharge[]> {
  return warehouse.all<UnexpectedCharge>(UNEXPECTED_SQL, parameters(scope))
}

function parameters({ pipeline, sinceDay }: Scope): [string | null, string | null] {
  return [pipeline, sinceDay]
}
