-- One row per event of this batch: the attributes of its newest sighting (by detected_at, then by receipt, then by
-- content), and what all its sightings in the batch add up to. Sorted by key, because MERGE is fastest so.

create or replace temp table staged_events as
with
    sightings as (
        select
            * exclude (changed_ms, detected_ms, received_ms),
            make_timestamptz(cast(changed_ms * 1000 as bigint)) as changed_at,
            make_timestamptz(cast(detected_ms * 1000 as bigint)) as detected_at,
            make_timestamptz(cast(received_ms * 1000 as bigint)) as received_at,
            attributes_text(detection_lag_days, title_previous, person_handle, person_full_name, person_first_name,
                person_last_name, person_headline, person_network_url, organization_name, organization_slug,
                organization_network_url, title_current) as attributes
        from staged_sightings
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
    )

select
    ranked.* exclude (nth, run_id),
    totals.* exclude (event_key)
from ranked
inner join totals on totals.event_key = ranked.event_key
where ranked.nth = 1
order by ranked.event_key;
