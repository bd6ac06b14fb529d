-- Pages whose charge differs from the expected one, the newest first, up to a limit.
select requested_at, runs.pipeline, pages.run_id, batch_id, page, request_id, events, credits_used, credits_sent
from (
    from ops.pages
    union all by name
    -- A warehouse of 0.11 lacks this column.
    select null::boolean as is_unexpected where false
) as pages
join ops.runs as runs on runs.run_id = pages.run_id
where pages.outcome = 'received'
    and is_unexpected
    and ($pipeline::varchar is null or runs.pipeline = $pipeline)
    and ($since::varchar is null or requested_at >= cast($since as timestamptz))
order by requested_at desc, request_id
limit $limit
