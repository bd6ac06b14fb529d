-- grain: One row per person with at least 4 events.
-- key: profile_id
-- purpose: The histories that duplicate_people compares: two profiles equal in all columns but profile_id have the same history.
-- incremental_by: profile_id
-- note: With fewer events, people of one team who leave together mostly have equal histories without being the same person.
-- columns:
--   profile_id: The service's stable id of the person.
--   person_name: The person's name in lower case; of several, the first in alphabetical order; null when none is known.
--   events: The number of the person's events.
--   first_event_at: When the first change took effect, UTC.
--   last_event_at: When the last change took effect, UTC.
--   history_checksum: The sum of one number per event, computed from the organisation, type, date and titles of the event.
select
    profile_id,
    min(lower(person_full_name)) as person_name,
    cast(count(*) as integer) as events,
    min(career_date(changed_at, least(detected_at, first_seen_at))) as first_event_at,
    max(career_date(changed_at, least(detected_at, first_seen_at))) as last_event_at,
    cast(
        sum(
            checksum(
                organization_id || '|' || event_type || '|' || coalesce(title_current, '') || '|' || coalesce(title_previous, ''),
                changed_at
            )
        ) as bigint
    ) as history_checksum
from job_change_events
group by profile_id
having count(*) >= 4
