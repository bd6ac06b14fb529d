-- How well the pages that were charged were used: one row. An event that is new, or was refused, was not known before.
with in_scope as (
    select run_id from ops.runs where $pipeline::varchar is null or pipeline = $pipeline
),

pages as (
    select
        count(*) filter (where credits_used > 0) as bought,
        coalesce(sum(events), 0) as events
    from ops.pages
    where outcome = 'received'
        and run_id in (select run_id from in_scope)
        and ($since::varchar is null or requested_at >= cast($since as timestamptz))
),

first_seen as (
    select count(*) as events
    from main.job_change_events
    where first_run_id in (select run_id from in_scope)
        and ($since::varchar is null or first_seen_at >= cast($since as timestamptz))
),

refused as (
    select count(*) as events
    from ops.rejects
    where run_id in (select run_id from in_scope)
        and ($since::varchar is null or received_at >= cast($since as timestamptz))
)

select
    cast(pages.bought as double) as pages_bought,
    cast(pages.events as double) as events,
    cast(greatest(0, pages.events - first_seen.events - refused.events) as double) as events_known_before
from pages, first_seen, refused
