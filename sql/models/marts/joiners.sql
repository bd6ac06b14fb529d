-- grain: One row per joining: one joined event.
-- key: organization_id, joined_at, profile_id
-- purpose: Who joined which organisation, when, as what, and from where.
-- partition: year of joined_at
-- columns:
--   organization_id: The organisation that was joined.
--   joined_at: When the person joined, UTC. Often known to the month only: then the first of that month.
--   profile_id: The service's stable id of the person.
--   event_key: event_key of the joining in job_change_events; unique.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   title: The title at the organisation as written.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, higher is more senior; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   came_from_organization_id: The organisation that was left for this one; null when no leaving is linked (see moves).
--   came_from_organization_name: Name of the organisation that was left for this one, as written.
--   gap_days: Calendar days from that leaving to this joining, -31 to 180; null when no leaving is linked.
--   detected_at: When the service saw the joining, UTC.
--   detection_lag_days: Whole days between the joining and its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
with

origins as (
    select
        moves.joined_event_key,
        moves.from_organization_id,
        departures.organization_name as from_organization_name,
        moves.gap_days
    from moves
    inner join job_change_events as departures on departures.event_key = moves.left_event_key
)

select
    events.organization_id,
    events.changed_at as joined_at,
    events.profile_id,
    events.event_key,
    events.person_full_name,
    events.organization_name,
    events.title,
    events.level,
    events.rank,
    events.is_management,
    origins.from_organization_id as came_from_organization_id,
    origins.from_organization_name as came_from_organization_name,
    origins.gap_days,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at
from stg_job_change_events as events
left join origins on origins.joined_event_key = events.event_key
where events.event_type = 'joined'
