-- What each organisation cost: its share of the charges of the pages that held its events. The most expensive first.
with charged as (
    select organization_id, count(*) as pages, sum(charges.events) as events, sum(charges.credits) as credits
    from ops.organization_charges as charges
    join ops.runs as runs on runs.run_id = charges.run_id
    where ($pipeline::varchar is null or runs.pipeline = $pipeline)
        and ($since::varchar is null or charges.requested_at >= cast($since as timestamptz))
    group by organization_id
),

received as (
    select organization_id, count(*) as new_events
    from main.job_change_events
    join ops.runs as runs on runs.run_id = first_run_id
    where ($pipeline::varchar is null or runs.pipeline = $pipeline)
        and ($since::varchar is null or first_seen_at >= cast($since as timestamptz))
    group by organization_id
)

select
    known.organization_id,
    known.asked_as,
    known.name,
    charged.credits,
    cast(charged.pages as double) as pages,
    cast(charged.events as double) as events,
    cast(coalesce(received.new_events, 0) as double) as new_events,
    charged.credits / nullif(received.new_events, 0) as credits_per_new_event
from charged
join ops.organizations as known on known.organization_id = charged.organization_id
left join received on received.organization_id = charged.organization_id
order by charged.credits desc, known.organization_id
