-- grain: One row per job-change event.
-- kind: view
-- key: event_key
-- tier: detail
-- purpose: The events with their title understood; the only place where events meet titles. This view stores nothing.
-- columns:
--   event_key: Stable hash of the event's natural key; unique.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC. Often known to the month only: then it is the first of that month.
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
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   level_order: Level of title as a number, 1 (intern) to 9 (cxo); null when unknown.
--   rank: Rank of title, which orders levels and the steps inside a level; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   function: Field of work of title; other where it names none, unknown where it is not understood.
--   core: The role in title without level, team and place; null when unknown.
--   is_side_role: Whether title is a role alongside a main job: board member, adviser, investor …; false when unknown.
--   previous_title: The title before the change as written.
select
    events.event_key,
    events.profile_id,
    events.organization_id,
    events.event_type,
    events.changed_at,
    events.changed_on,
    events.month_start_on,
    events.precision,
    events.was_announced,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at,
    events.person_full_name,
    events.organization_name,
    events.ladder,
    events.title,
    coalesce(understood.level, 'unknown') as level,
    understood.level_order,
    understood.rank,
    understood.is_management,
    coalesce(understood.function, 'unknown') as function,
    understood.core,
    coalesce(understood.is_side_role, false) as is_side_role,
    events.previous_title
from dated_events as events
left join titles as understood on understood.ladder = events.ladder and understood.title = events.title
