-- Spending and its yield: a row for each $by (day, month, pipeline or run), the last first, and before them one for all. An event
-- is new for the run that received it first; one that is neither new nor refused was known before.
with pages as (
    from ops.pages
    union all by name
    -- A warehouse of 0.11 lacks this column.
    select null::boolean as is_unexpected where false
),

facts as (
    select
        run_id,
        requested_at as happened_at,
        credits_used as credits,
        outcome = 'in_doubt' as is_in_doubt,
        1 as requests,
        events,
        -- Of job changes: other endpoints have pages of other sizes.
        case when (run_id, batch_id) in (select (run_id, batch_id) from ops.batches) then events end as change_events,
        coalesce(is_unexpected, false) as is_unexpected
    from pages
    union all by name
    select first_run_id as run_id, first_seen_at as happened_at, 1 as new_events from main.job_change_events
    union all by name
    select run_id, received_at as happened_at, 1 as rejects from ops.rejects
),

named as (
    select
        facts.*,
        runs.pipeline,
        case $by
            when 'day' then strftime(happened_at, '%Y-%m-%d')
            when 'month' then strftime(happened_at, '%Y-%m')
            when 'pipeline' then runs.pipeline
            else facts.run_id
        end as name
    from facts
    join ops.runs as runs on runs.run_id = facts.run_id
    where ($pipeline::varchar is null or runs.pipeline = $pipeline)
        and ($since::varchar is null or happened_at >= cast($since as timestamptz))
)

select
    coalesce(named.name, 'all') as name,
    case when named.name is null then '' else any_value(pipeline) end as pipeline,
    coalesce(sum(credits), 0) as credits,
    coalesce(sum(credits) filter (where is_in_doubt), 0) as in_doubt,
    cast(count(requests) as double) as requests,
    cast(count(*) filter (where events > 0) as double) as pages,
    cast(coalesce(sum(events), 0) as double) as events,
    cast(count(*) filter (where change_events > 0) as double) as change_pages,
    cast(coalesce(sum(change_events), 0) as double) as change_events,
    cast(count(new_events) as double) as new_events,
    cast(count(rejects) as double) as rejects,
    cast(count(*) filter (where is_unexpected) as double) as unexpected_charges,
    sum(credits) / nullif(count(new_events), 0) as credits_per_new_event
from named
group by grouping sets ((), (named.name))
order by grouping(named.name) desc, named.name desc
