-- Stores events that were already known. Newer sightings replace attributes; older ones only count.

create or replace temp table counted_events as
select
    known.event_key,
    known.place,
    staged.is_newer,
    case
        when row(staged.first_seen_at, staged.first_run_id) < row(known.first_seen_at, known.first_run_id)
            then staged.first_run_id
        else known.first_run_id
    end as first_run_id,
    least(known.first_seen_at, staged.first_seen_at) as first_seen_at,
    case
        when row(staged.last_seen_at, staged.last_run_id) > row(known.last_seen_at, known.last_run_id)
            then staged.last_run_id
        else known.last_run_id
    end as last_run_id,
    greatest(known.last_seen_at, staged.last_seen_at) as last_seen_at,
    known.times_seen + staged.times_seen as times_seen
from repeated_events as staged
inner join known_events as known on known.event_key = staged.event_key;

update job_change_events as event set
    first_run_id = counted.first_run_id,
    first_seen_at = counted.first_seen_at,
    last_run_id = counted.last_run_id,
    last_seen_at = counted.last_seen_at,
    times_seen = counted.times_seen
from counted_events as counted
where event.rowid = counted.place and not counted.is_newer;

-- This is not an update: for scattered events it would rewrite every column of all of them. Measured with 2,000 of 10 million.
delete from job_change_events where rowid in (select place from counted_events where is_newer);
insert into job_change_events by name
select
    staged.* exclude (
        received_at, place, is_new, is_newer, is_changed, is_seen_earlier,
        first_run_id, first_seen_at, last_run_id, last_seen_at, times_seen
    ),
    staged.received_at as attributes_seen_at,
    counted.* exclude (event_key, place, is_newer)
from repeated_events as staged
inner join counted_events as counted on counted.event_key = staged.event_key
where counted.is_newer;
