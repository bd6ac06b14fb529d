-- grain: One row; none before anything was detected or covered.
-- key: as_of_on
-- purpose: The day of the data: the last day that it can describe. Changes that take effect later were announced and have not happened yet.
-- note: The day is the later of the newest coverage and the newest detection, so the same events give the same tables whenever
-- note: they are built. A detection counts no later than its receipt: a record with a time ahead of our clock must not move the
-- note: day. An incremental build also refreshes the people whose announced changes came due since the last one.
-- columns:
--   as_of_on: The day of the data, UTC; changes that take effect on it have happened.
select utc_date(max(reached_at)) as as_of_on
from (
    select max(least(detected_at, first_seen_at)) as reached_at
    from job_change_events
    union all
    select max(covered_to_at) as reached_at
    from organization_coverage
) as reached
having max(reached_at) is not null
