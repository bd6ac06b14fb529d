-- Events that were received with different attributes: every distinct version, with when it was received first and last.
-- The versions of an event are put together anew from those kept, the event as it stands and this batch, so any order of
-- loading gives the same rows. An event with one version only has none. Runs before the events are merged, because that
-- replaces what stands.

create or replace temp table staged_versions as
with
    kept as (
        select version.* exclude (version_key), attributes_of(version) as attributes
        from job_change_event_versions as version
        semi join timed_sightings on timed_sightings.event_key = version.event_key
    ),

    -- An event without versions was always received as it stands.
    standing as (
        select event.* exclude (attributes_seen_at, last_run_id, times_seen)
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
        from timed_sightings
    ),

    -- detected_at and attributes name a version; what else a row holds follows from them or from the event's key.
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
