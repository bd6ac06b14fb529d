-- Compares the sightings of a chunk with each other and with the known events. An event that was received once and is not known
-- is new. All others are `repeated`, and only they need the comparison below.

-- A backfill comes organisation by organisation: the known events of the organisations in a chunk lie at or after this row.
-- Finding it takes 0.1 s among 30 million events, as their column has few values; looking for the keys in all of them takes 2 s.
set variable first_place = (
    select coalesce(min(rowid), 9223372036854775807)
    from job_change_events
    where organization_id in (select organization_id from staged_sightings)
);

-- The search uses the keys alone: a join over all columns would read all of the table.
create or replace temp table known_rows as
select event.rowid as row_number
from job_change_events as event
semi join staged_sightings as staged on staged.event_key = event.event_key
where event.rowid >= getvariable('first_place');

create or replace temp table known_events as
select event.*, event.rowid as place, attributes_of(event) as attributes
from job_change_events as event
where event.rowid in (from known_rows);

create or replace temp table repeated_keys as
select event_key from known_events
union
select event_key from staged_sightings group by event_key having count(*) > 1;

create or replace temp view single_sightings as
select *
from staged_sightings as staged
anti join repeated_keys on repeated_keys.event_key = staged.event_key;

create or replace temp table repeated_sightings as
select *, attributes_of(staged) as attributes
from staged_sightings as staged
semi join repeated_keys on repeated_keys.event_key = staged.event_key;

-- One row per repeated event: the attributes of its newest sighting (by detected_at, but no later than receipt, then by
-- receipt, then by content), the totals over its sightings in the chunk, and how it differs from the known event.
create or replace temp table repeated_events as
with
    ranked as (
        select
            *,
            row_number() over (
                partition by event_key
                order by least(detected_at, received_at) desc, received_at desc, attributes desc, detected_at desc
            ) as nth
        from repeated_sightings
    ),

    totals as (
        select
            event_key,
            min(received_at) as first_seen_at,
            max(received_at) as last_seen_at,
            arg_min(run_id, row(received_at, run_id)) as first_run_id,
            arg_max(run_id, row(received_at, run_id)) as last_run_id,
            cast(count(*) as integer) as times_seen
        from repeated_sightings
        group by event_key
    )

select
    ranked.* exclude (nth, run_id, attributes),
    totals.* exclude (event_key),
    known.place,
    known.event_key is null as is_new,
    -- A newer sighting replaces attributes; an older or equal one only counts.
    known.event_key is not null
        and row(
            least(ranked.detected_at, ranked.received_at), ranked.received_at, ranked.attributes, ranked.detected_at
        ) > row(
            least(known.detected_at, known.attributes_seen_at), known.attributes_seen_at, known.attributes, known.detected_at
        ) as is_newer,
    is_newer and row(ranked.detected_at, ranked.attributes) <> row(known.detected_at, known.attributes) as is_changed,
    known.event_key is not null and totals.first_seen_at < known.first_seen_at as is_seen_earlier
from ranked
inner join totals on totals.event_key = ranked.event_key
left join known_events as known on known.event_key = ranked.event_key
where ranked.nth = 1;

-- Events that were received with different attributes: every distinct version, with its first and last receipt. The versions of
-- an event are combined from the stored versions, the event as it stands and this chunk, so any order of loading gives the same
-- rows. An event with only one version has none.
create or replace temp table repeated_versions as
with
    kept as (
        select version.* exclude (version_key), attributes_of(version) as attributes
        from job_change_event_versions as version
        semi join repeated_sightings on repeated_sightings.event_key = version.event_key
    ),

    -- An event without versions was always received as it stands.
    standing as (
        select event.* exclude (attributes_seen_at, last_run_id, times_seen, place)
        from known_events as event
        anti join kept on kept.event_key = event.event_key
    ),

    sightings as (
        select * from kept
        union all by name
        select * from standing
        union all by name
        select
            * exclude (received_at, run_id),
            received_at as first_seen_at,
            received_at as last_seen_at,
            run_id as first_run_id
        from repeated_sightings
    ),

    -- detected_at and attributes identify a version; the rest of a row follows from them or from the event's key.
    versions as (
        select
            any_value(columns(* exclude (event_key, detected_at, attributes, first_seen_at, last_seen_at, first_run_id))),
            event_key,
            detected_at,
            md5(concat_ws(' ', epoch_us(detected_at), attributes)) as version_key,
            min(first_seen_at) as first_seen_at,
            max(last_seen_at) as last_seen_at,
            arg_min(first_run_id, row(first_seen_at, first_run_id)) as first_run_id
        from sightings
        group by event_key, detected_at, attributes
    )

select * from versions
where event_key in (select event_key from versions group by event_key having count(*) > 1);
