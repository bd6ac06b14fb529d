-- How fresh the page is, and its cost: one row. With a list the charges are the shares of its organisations.
with received as (
    select
        max(least(detected_at, first_seen_at)) as newest_detected_at,
        max(first_seen_at) as newest_received_at,
        count(case when first_seen_at >= $from_at and first_seen_at < $to_at then 1 end) as received
    from job_change_events
    where $organizations::varchar is null
        or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
),

paid as (
    select requested_at, credits_used as credits
    from ops.pages
    where $organizations::varchar is null
    union all
    select requested_at, credits
    from ops.organization_charges
    where $organizations::varchar is not null
        and organization_id in (select unnest(from_json($organizations, '["varchar"]')))
),

charged as (
    select
        coalesce(sum(credits), 0.0) as credits_ever,
        coalesce(sum(case when requested_at >= $from_at and requested_at < $to_at then credits end), 0.0) as credits
    from paid
),

duplicated as (
    select cast(coalesce(sum(people_duplicated), 0) as integer) as people
    from organizations
    where $organizations::varchar is null
        or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
)

select
    strftime(received.newest_detected_at, '%Y-%m-%dT%H:%M:%SZ') as newest_detected_at,
    strftime(received.newest_received_at, '%Y-%m-%dT%H:%M:%SZ') as newest_received_at,
    cast(received.received as integer) as events_received,
    charged.credits,
    charged.credits_ever,
    duplicated.people as people_duplicated
from received
cross join charged
cross join duplicated
