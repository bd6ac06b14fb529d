/**
 * The events of a warehouse as pages that could have brought them: each where it was received first, where it was received
 * last, and each version that it had. In which pages it came in between is not known: those sightings stand on the last one.
 */

import type { AnswerReceived } from '../../journal/records.ts'
import { StorageError } from '../../support/errors.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'

const instant = (column: string) =>
  `strftime(${column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`

const EVENT = `cast(to_json({
  event_type: event_type, detected_at: ${instant('detected_at')}, changed_at: ${instant('changed_at')},
  detection_lag_days: detection_lag_days, title: {current: title_current, previous: title_previous},
  person: {profile_id: profile_id, handle: person_handle, full_name: person_full_name, first_name: person_first_name,
    last_name: person_last_name, headline: person_headline, network_url: person_network_url},
  organization: {organization_id: organization_id, name: organization_name, slug: organization_slug,
    network_url: organization_network_url}}) as varchar)`

const PAGES = `
  create or replace temp table salvaged_pages as
  select
    cast(row_number() over (order by coalesce(pages.received_at, pages.requested_at), pages.request_id) as integer) - 1 as nth,
    pages.*,
    answers.endpoint,
    answers.lookup_key,
    answers.subject,
    answers.outcome as answer_outcome,
    answers.body
  from ops.pages as pages
  left join answers on answers.request_id = pages.request_id`

// An event without versions was always received as it stands.
const SIGHTINGS = `
  create or replace temp table salvaged_sightings as
  with
    sightings as (
      select event.* exclude (attributes_seen_at, last_seen_at, last_run_id, times_seen),
        unnest([{seen_at: first_seen_at, run_id: first_run_id, times: 1},
          {seen_at: last_seen_at, run_id: last_run_id, times: times_seen - 1}], recursive := true)
      from job_change_events as event
      where not exists (from job_change_event_versions as version where version.event_key = event.event_key)
      union all by name
      select version.* exclude (version_key, last_seen_at),
        unnest([{seen_at: version.first_seen_at, run_id: version.first_run_id, times: 1},
          {seen_at: version.last_seen_at,
           run_id: case when version.last_seen_at = event.last_seen_at then event.last_run_id end,
           times: case when version.last_seen_at > version.first_seen_at then 1 else 0 end}], recursive := true)
      from job_change_event_versions as version
      join job_change_events as event using (event_key)),
    counted as (
      select * exclude (times), cast(row_number() over () as integer) as id,
        -- What is not placed otherwise was received with the last one.
        times + case when row_number() over (partition by event_key order by times = 0, seen_at desc) = 1
          then (select event.times_seen from job_change_events as event where event.event_key = sightings.event_key)
            - sum(times) over (partition by event_key) else 0 end as times
      from sightings),
    placed as (
      select id, min_by(page.nth, row(share.request_id is null, page.nth)) as nth
      from counted
      join salvaged_pages as page
        on page.received_at = counted.seen_at and page.run_id = coalesce(counted.run_id, page.run_id) and page.outcome = 'received'
      left join ops.page_organizations as share
        on share.request_id = page.request_id and share.organization_id = counted.organization_id
      where times > 0
      group by id)
  select nth, times, organization_id, detected_at < seen_at - interval 365 days as is_old, ${EVENT} as event
  from counted left join placed using (id)
  where times > 0
  order by nth`

/** What is known of a page beside its row of the ledger. */
export interface KnownPage {
  /** Its events as JSON, repeats included. */
  readonly events: string
  readonly count: number
  /** By organisation: its events, and how many of these were detected in the last 365 days. */
  readonly seen: [string, number, number][]
}

/** A row of the ledger; instants are milliseconds since 1970 UTC. */
export interface LedgerRow {
  readonly nth: number
  readonly run_id: string
  readonly batch_id: string
  readonly page: number
  readonly request_id: string
  readonly requested_at: number
  readonly received_at: number | null
  readonly status: number | null
  readonly outcome: 'received' | 'failed' | 'in_doubt'
  readonly events: number | null
  readonly credits_used: number | null
  readonly credits_sent: string | null
  readonly has_more: boolean | null
  readonly body_sha256: string | null
  readonly error: string | null
  readonly is_unexpected: boolean | null
  /** Null for a page of job changes. */
  readonly endpoint: string | null
  readonly lookup_key: string | null
  readonly subject: string | null
  readonly answer_outcome: AnswerReceived['outcome'] | null
  readonly body: string | null
}

/**
 * Makes what the other functions read, in temporary tables.
 * @returns the ledger, in the order of receipt
 * @throws StorageError when events and ledger do not fit together
 */
export async function readLedgerRows(warehouse: Warehouse): Promise<LedgerRow[]> {
  await warehouse.run(PAGES)
  await warehouse.run(SIGHTINGS)
  const lost = await warehouse.number('select count(*) from salvaged_sightings where nth is null')
  if (lost > 0) {
    throw new StorageError(`the ledger has no page for ${lost} sightings of events`, {
      hint: 'Nothing was changed. Restore the journal from a backup, or begin again with --begin-again.',
    })
  }
  return warehouse.all<LedgerRow>(
    `select * replace (epoch_ms(requested_at)::double as requested_at, epoch_ms(received_at)::double as received_at)
     from salvaged_pages order by nth`,
  )
}

/** The pages from number `from` up to `to`, by number; without those that had no event. */
export async function readPages(
  warehouse: Warehouse,
  from: number,
  to: number,
): Promise<Map<number, KnownPage>> {
  const pages = await warehouse.all<{ nth: number; events: string; count: number }>(
    `select nth, string_agg(event, ',' order by event) as events, count(*)::int as count
     from (select nth, unnest(list_resize([event], times, event)) as event from salvaged_sightings
           where nth >= $1 and nth < $2)
     group by nth`,
    [from, to],
  )
  const known = new Map(
    pages.map(({ nth, ...page }) => [nth, { ...page, seen: [] as KnownPage['seen'] }]),
  )
  const shares = await warehouse.all<{ nth: number; id: string; events: number; old: number }>(
    `select page.nth, share.organization_id as id, share.events::int as events,
       coalesce((select sum(times) from salvaged_sightings as seen
         where seen.nth = page.nth and seen.organization_id = share.organization_id and seen.is_old), 0)::int as old
     from salvaged_pages as page join ops.page_organizations as share using (request_id)
     where page.nth >= $1 and page.nth < $2 order by all`,
    [from, to],
  )
  for (const { nth, id, events, old } of shares) {
    const page = known.get(nth) ?? { events: '', count: 0, seen: [] }
    known.set(nth, page)
    page.seen.push([id, events, Math.max(0, events - old)])
  }
  return known
}
