-- grain: One row per corrected event, month in which a correction became known, and who learnt of it: service or warehouse.
-- key: event_key, known_to, known_month_on
-- tier: detail
-- incremental_by: profile_id
-- references: event_key -> job_change_events.event_key
-- values: known_to: service | warehouse
-- purpose: When the service corrected an event. The first version of an event is not a correction.
-- note: A version with the same detection date as the first cannot be distinguished from it by that date, so it counts for the
-- note: warehouse only.
-- columns:
--   event_key: event_key of the event in job_change_events.
--   known_to: service: by the time of detection; warehouse: by the time of first receipt.
--   known_month_on: First day, UTC, of the month in which the corrections became known.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   event_type: joined, left or title_change.
--   month_start_on: First day, UTC, of the month in which the change took effect.
--   first_detected_at: When the service saw the change for the first time, UTC: job_change_events has the time of the newest version.
--   corrections: The number of versions of the event that became known in that month after the first.
with

versions as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        career_date(changed_at, least(detected_at, first_seen_at)) as changed_at,
        detected_at,
        first_seen_at,
        min(detected_at) over (partition by event_key) as first_detected_at,
        min(first_seen_at) over (partition by event_key) as first_received_at
    from job_change_event_versions
),

later as (
    select
        event_key,
        'service' as known_to,
        month_start(detected_at) as known_month_on,
        profile_id,
        organization_id,
        event_type,
        month_start(changed_at) as month_start_on,
        first_detected_at
    from versions
    where detected_at > first_detected_at
    union all
    select
        event_key,
        'warehouse' as known_to,
        month_start(first_seen_at) as known_month_on,
        profile_id,
        organization_id,
        event_type,
        month_start(changed_at) as month_start_on,
        first_detected_at
    from versions
    where first_seen_at > first_received_at
)

select
    event_key,
    known_to,
    known_month_on,
    profile_id,
    organization_id,
    event_type,
    month_start_on,
    first_detected_at,
    cast(count(*) as integer) as corrections
from later
group by
    event_key,
    known_to,
    known_month_on,
    profile_id,
    organization_id,
    event_type,
    month_start_on,
    first_detected_at
