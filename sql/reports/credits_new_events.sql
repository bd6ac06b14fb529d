-- Events that were received for the first time, by the day (UTC) and the run that received them.
select
    strftime(first_seen_at, '%Y-%m-%d') as day,
    runs.pipeline,
    runs.run_id,
    cast(count(*) as double) as events
from main.job_change_events
join ops.runs as runs on runs.run_id = first_run_id
group by 1, 2, 3
