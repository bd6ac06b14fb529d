-- One row per event of this batch: the attributes of its newest sighting (by detected_at, then by receipt, then by
-- content), what all its sightings in the batch add up to, and how it compares with what is known. Sorted by key, because
-- MERGE is fastest so.

create or replace temp table staged_events as
with
    sightings as (
        select
            * exclude (changed_ms, detected_ms, received_ms),
            make_timestamptz(cast(changed_ms as bigint) * 1000) as changed_at,
            make_timestamptz(cast(detected_ms as bigint) * 1000) as detected_at,
            make_timestamptz(cast(received_ms as bigint) * 1000) as received_at,
            attributes_of(sighting) as attributes
        from staged_sightings as sighting
    ),

    ranked as (
        select
            *,
            row_number() over (
                partition by event_key
                order by detected_at desc, received_at desc, attributes desc
            ) as nth
        from sightings
    ),

    totals as (
        select
            event_key,
            min(received_at) as first_seen_at,
            max(received_at) as last_seen_at,
            arg_min(run_id, row(received_at, run_id)) as first_run_id,
            arg_max(run_id, row(received_at, run_id)) as last_run_id,
            cast(count(*) as integer) as times_seen
        from sightings
        group by event_key
    ),

    known as (
        select
            event.event_key,
            event.detected_at,
            event.attributes_seen_at,
            attributes_of(event) as attributes
        from job_change_events as event
        inner join totals on totals.event_key = event.event_key
    )

select
    ranked.* exclude (nth, run_id, attributes),
    totals.* exclude (event_key),
    known.event_key is null as is_new,
    -- A newer sighting replaces attributes; an older or equal one only counts.
    known.event_key is not null
        and row(ranked.detected_at, ranked.received_at, ranked.attributes)
            > row(known.detected_at, known.attributes_seen_at, known.attributes) as is_newer,
    is_newer and row(ranked.detected_at, ranked.attributes) <> row(known.detected_at, known.attributes) as is_changed
from ranked
inner join totals on totals.event_key = ranked.event_key
left join known on known.event_key = ranked.event_key
where ranked.nth = 1
order by ranked.event_key;
