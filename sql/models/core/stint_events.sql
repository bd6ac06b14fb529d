-- grain: One row per job-change event; two where a change of title ends a main job and begins a side role, or the other way round.
-- key: event_key, stint_number
-- purpose: Places every event in the person's stints at the organisation, and says what role it plays in its stint.
-- kind: view
-- incremental_by: profile_id
-- note: This is a view: ambiguous_events stores the cases that need rules, and lists the rules.
-- columns:
--   event_key: Stable hash of the event's natural key.
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint the event belongs to: 1 for the person's first at the organisation, then 2, 3, …
--   previous_stint_number: The previous stint of the same track, main or side roles; null for the first.
--   part: The role of the event in the stint: arrival (begins it), departure (ends it), interruption (left and joined inside it, not a leaving), role_start (joined while there), role_end (left while another role continues, or taken back), repeat (reported before, or again later), title_change.
--   track: main or side, for pairs where only rules can tell what a stint is; null where the title alone decides.
--   acts_as: The effect on the stint's track: joined, left, title_change or nothing. A change of title to a side role leaves the main job.
--   is_second: True for the part of a change of title between a main job and a side role that concerns the side role.
--   partner_event_key: For an interruption, the event_key of the other of the two events; else null.
--   event_type: joined, left or title_change.
--   changed_at: When the change took effect, UTC, never earlier than the previous event; see ambiguous_facts. Often known to the month only.
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
    coalesce(ambiguous_events.stint_number, 1) as stint_number,
    ambiguous_events.previous_stint_number,
    coalesce(
        ambiguous_events.part,
        case events.event_type when 'joined' then 'arrival' when 'left' then 'departure' else 'title_change' end
    ) as part,
    ambiguous_events.track,
    coalesce(ambiguous_events.event_type, events.event_type) as acts_as,
    coalesce(ambiguous_events.is_second, false) as is_second,
    ambiguous_events.partner_event_key,
    events.event_type,
    coalesce(ambiguous_events.changed_at, events.changed_at) as changed_at,
    utc_date(coalesce(ambiguous_events.changed_at, events.changed_at)) as changed_on,
    month_start(coalesce(ambiguous_events.changed_at, events.changed_at)) as month_start_on,
    events.precision,
    events.was_announced,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at,
    events.person_full_name,
    events.organization_name,
    events.ladder,
    case when ambiguous_events.event_key is null then events.title else ambiguous_events.title end as title,
    case when ambiguous_events.event_key is null then events.previous_title else ambiguous_events.previous_title end
        as previous_title
from dated_events as events
left join ambiguous_events on ambiguous_events.event_key = events.event_key
