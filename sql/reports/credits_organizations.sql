-- The cost of each organisation: its share of the charges of the pages that held its events. The most expensive comes first, the
-- cost without a known organisation last.
with charged as (
    select
        shares.organization_id,
        -- Shares are added in any order, so equal sums can differ in their last digits.
        round(sum(coalesce(shares.credits, pages.credits_used)), 6) as credits,
        count(shares.events) as pages,
        sum(shares.events) as events
    from ops.pages as pages
    join ops.runs as runs on runs.run_id = pages.run_id
    left join ops.organization_charges as shares on shares.request_id = pages.request_id
    where ($pipeline::varchar is null or runs.pipeline = $pipeline)
        and ($since::varchar is null or pages.requested_at >= cast($since as timestamptz))
    group by shares.organization_id
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
    charged.organization_id,
    coalesce(known.asked_as, '(unattributed: in doubt)') as asked_as,
    known.name,
    charged.credits,
    cast(charged.pages as double) as pages,
    cast(charged.events as double) as events,
    cast(coalesce(received.new_events, 0) as double) as new_events,
    charged.credits / nullif(received.new_events, 0) as credits_per_new_event
from charged
left join ops.organizations as known on known.organization_id = charged.organization_id
left join received on received.organization_id = charged.organization_id
where charged.credits > 0
order by charged.organization_id is null, charged.credits desc, charged.organization_id
