-- grain: One row per job-change event.
-- key: event_key
-- purpose: The events with both titles understood; the one place where events meet titles. A view: it stores nothing.
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC. Often known to the month only: then the first of that month.
--   detected_at: When the service saw the change, UTC.
--   detection_lag_days: Whole days between the change and its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   title: The title after the change as written; for left, the title that was left.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, higher is more senior; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   previous_title: The title before the change as written.
--   previous_level: Level of previous_title, as for level.
--   previous_rank: Rank of previous_title; null when unknown.
--   was_management: Whether previous_title manages people; null when unknown.
with

events as (
    select
        event_key,
        profile_id,
        organization_id,
        event_type,
        changed_at,
        detected_at,
        detection_lag_days,
        first_seen_at,
        person_full_name,
        organization_name,
        case when event_type = 'left' then coalesce(title_current, title_previous) else title_current end as title,
        title_previous as previous_title
    from job_change_events
)

select
    events.event_key,
    events.profile_id,
    events.organization_id,
    events.event_type,
    events.changed_at,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at,
    events.person_full_name,
    events.organization_name,
    events.title,
    coalesce(understood.level, 'unknown') as level,
    understood.rank,
    understood.is_management,
    events.previous_title,
    coalesce(previous.level, 'unknown') as previous_level,
    previous.rank as previous_rank,
    previous.is_management as was_management
from events
left join titles as understood on understood.title = events.title
left join titles as previous on previous.title = events.previous_title
