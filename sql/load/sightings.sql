-- Events as received in one chunk, in a database in memory: several connections fill it, and a temporary table is visible to only
-- one. The columns are those of the events table except the counts over all sightings of an event.

create or replace table jobtide_load.sightings as
select
    cast(null as integer) as nth,
    cast(null as integer) as position,
    cast(null as boolean) as is_read,
    cast(null as varchar) as fields,
    event.* exclude (attributes_seen_at, first_seen_at, last_seen_at, first_run_id, last_run_id, times_seen),
    cast(null as timestamptz) as received_at,
    cast(null as varchar) as run_id
from job_change_events as event
limit 0;
