-- grain: One row; none before anything was detected or covered.
-- key: as_of_on
-- purpose: The day of the data: up to when it can tell what happened. What takes effect later was announced, and has not happened.
-- note: The end of the newest coverage or the newest detection, so that the same events give the same tables whenever they are
-- note: built. A detection counts as late as it was received: one record with a time ahead of our clock must not move the day.
-- note: An incremental build also refreshes the people whose announced changes came due since the last one.
-- columns:
--   as_of_on: That day, UTC; what takes effect on it has happened.
select utc_date(max(reached_at)) as as_of_on
from (
    select max(least(detected_at, first_seen_at)) as reached_at
    from job_change_events
    union all
    select max(covered_to_at) as reached_at
    from organization_coverage
) as reached
having max(reached_at) is not null
