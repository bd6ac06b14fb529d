-- The part of the status of a data directory that comes from the warehouse: one row.
select
    (select cast(count(*) as integer) from job_change_events) as events,
    (select cast(count(*) as integer) from ops.rejects) as rejects,
    (select cast(count(*) as integer) from ops.checks where offenders > 0) as failed_checks,
    last.snapshot_id,
    last.destination as snapshot_destination,
    strftime(last.published_at, '%Y-%m-%dT%H:%M:%SZ') as snapshot_published_at
from (select 1) as one
left join (select * from ops.snapshots order by snapshot_id desc limit 1) as last on true
