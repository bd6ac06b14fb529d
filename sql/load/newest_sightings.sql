-- What this batch says and what is known of the same events: every sighting with its times as instants; the events as
-- they stand; and one row per event of the batch with the attributes of its newest sighting (by detected_at, then by
-- receipt, then by content), what all its sightings in the batch add up to, and how it compares with what is known.
-- Sorted by key, because MERGE is fastest so.

create or replace temp table timed_sightings as
select
    * exclude (changed_ms, detected_ms, received_ms),
    make_timestamptz(cast(changed_ms as bigint) * 1000) as changed_at,
    make_timestamptz(cast(detected_ms as bigint) * 1000) as detected_at,
    make_timestamptz(cast(received_ms as bigint) * 1000) as received_at,
    attributes_of(sighting) as attributes
from staged_sightings as sighting;

create or replace temp table known_events as
select event.*, attributes_of(event) as attributes
from job_change_events as event
semi join timed_sightings on timed_sightings.event_key = event.event_key;

create or replace temp table staged_events as
with
    ranked as (
        select
            *,
            row_number() over (
                partition by event_key
                order by detected_at desc, received_at desc, attributes desc
            ) as nth
        from timed_sightings
    ),

    totals as (
        select
            event_key,
            min(received_at) as first_seen_at,
            max(received_at) as last_seen_at,
            arg_min(run_id, row(received_at, run_id)) as first_run_id,
            arg_max(run_id, row(received_at, run_id)) as last_run_id,
            cast(count(*) as integer) as times_seen
        from timed_sightings
        group by event_key
    )

select
    ranked.* exclude (nth, run_id, attributes),
    totals.* exclude (event_key),
    known.event_key is null as is_new,
    -- A newer sighting replaces attributes; an older or equal one only counts.
    known.event_key is not null
        and row(ranked.detected_at, ranked.received_at, ranked.attributes)
            > row(known.detected_at, known.attributes_seen_at, known.attributes) as is_newer,
    is_newer and row(ranked.detected_at, ranked.attributes) <> row(known.detected_at, known.attributes) as is_changed,
    known.event_key is not null and totals.first_seen_at < known.first_seen_at as is_seen_earlier
from ranked
inner join totals on totals.event_key = ranked.event_key
left join known_events as known on known.event_key = ranked.event_key
where ranked.nth = 1
order by ranked.event_key;
