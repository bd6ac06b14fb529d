-- grain: One row per job-change event.
-- kind: view
-- key: event_key
-- purpose: The facts that follow from each event alone: its month, the ladder that reads its title, and the title it names.
-- incremental_by: profile_id
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC; when it was detected, where the date sent is implausible. Often known to the month only: then it is the first of that month.
--   changed_on: The day of changed_at, UTC.
--   month_start_on: First day of the month of changed_at, UTC.
--   precision: How well changed_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: True where the change was announced before it happened: changed_at is after detected_at. It stays true afterwards.
--   detected_at: When the service saw the change, UTC.
--   detection_lag_days: Whole days from the change to its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   ladder: The ladder by which the organisation's titles are read: standard, or its own.
--   title: The title after the change as written; for left, the title that was left.
--   previous_title: The title before the change as written.
select
    events.event_key,
    events.profile_id,
    events.organization_id,
    events.event_type,
    career_date(events.changed_at, least(events.detected_at, events.first_seen_at)) as changed_at,
    utc_date(career_date(events.changed_at, least(events.detected_at, events.first_seen_at))) as changed_on,
    month_start(career_date(events.changed_at, least(events.detected_at, events.first_seen_at))) as month_start_on,
    case
        when is_career_date(events.changed_at, least(events.detected_at, events.first_seen_at)) then date_precision(events.changed_at) else 'unknown'
    end as precision,
    career_date(events.changed_at, least(events.detected_at, events.first_seen_at)) > events.detected_at as was_announced,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at,
    events.person_full_name,
    events.organization_name,
    coalesce(organization_ladders.ladder, 'standard') as ladder,
    title_said(events.event_type, events.title_current, events.title_previous) as title,
    events.title_previous as previous_title
from job_change_events as events
left join organization_ladders on organization_ladders.organization_id = events.organization_id
