-- Stores the result of compare_events.sql, and lists the people for the next build: those with an event that is new, changed,
-- was received earlier than known so far, or has a new version.

insert into ops.changed_people
select profile_id from single_sightings
union
select profile_id
from repeated_events
where is_new or is_changed or is_seen_earlier
union
select staged.profile_id
from repeated_versions as staged
anti join job_change_event_versions as known
    on known.event_key = staged.event_key and known.version_key = staged.version_key;

delete from job_change_event_versions as version
using (select distinct event_key from repeated_versions) as staged
where version.event_key = staged.event_key;

insert into job_change_event_versions by name
select * from repeated_versions
order by event_key, version_key;

insert into job_change_events by name
select
    * exclude (received_at, run_id),
    received_at as attributes_seen_at,
    received_at as first_seen_at,
    received_at as last_seen_at,
    run_id as first_run_id,
    run_id as last_run_id,
    1 as times_seen
from single_sightings;

insert into job_change_events by name
select
    * exclude (received_at, place, is_new, is_newer, is_changed, is_seen_earlier),
    received_at as attributes_seen_at
from repeated_events
where is_new;
