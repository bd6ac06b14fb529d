-- grain: One row per job-change event.
-- key: event_key
-- purpose: When each event took effect, was detected and received. A view: it stores nothing, and meets no titles.
-- scope: profile_id
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC. Often known to the month only: then the first of that month.
--   month_start_on: First day of the month of changed_at, UTC.
--   is_future: True where changed_at is after detected_at: the change was announced, not yet seen.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the event was first received, UTC.
select
    event_key,
    profile_id,
    organization_id,
    event_type,
    changed_at,
    month_start(changed_at) as month_start_on,
    changed_at > detected_at as is_future,
    detected_at,
    first_seen_at
from job_change_events
