-- grain: One row per leaving: one left event.
-- key: organization_id, left_at, profile_id
-- purpose: Who left which organisation, when, as what, after how long, and where to.
-- partition: year of left_at
-- columns:
--   organization_id: The organisation that was left.
--   left_at: When the person left, UTC. Often known to the month only: then the first of that month.
--   profile_id: The service's stable id of the person.
--   event_key: event_key of the leaving in job_change_events; unique.
--   person_full_name: The person's full name as written.
--   organization_name: The organisation's name as written.
--   title: The title that was left as written.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, higher is more senior; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   joined_at: When the stint that ended here began, UTC; null when the joining was never seen.
--   tenure_days: Calendar days from joining to leaving, 0 or more; null when the joining was never seen.
--   went_to_organization_id: The organisation that was joined next; null when no joining is linked (see moves).
--   went_to_organization_name: Name of the organisation that was joined next, as written.
--   gap_days: Calendar days from this leaving to that joining, -31 to 180; null when no joining is linked.
--   detected_at: When the service saw the leaving, UTC.
--   detection_lag_days: Whole days between the leaving and its detection, as sent.
--   first_seen_at: When the event was first received, UTC.
with

destinations as (
    select
        moves.left_event_key,
        moves.to_organization_id,
        arrivals.organization_name as to_organization_name,
        moves.gap_days
    from moves
    inner join job_change_events as arrivals on arrivals.event_key = moves.joined_event_key
),

ended_stints as (
    select
        left_event_key,
        joined_at,
        days_between(joined_at, left_at) as tenure_days
    from stints
    where left_event_key is not null
)

select
    events.organization_id,
    events.changed_at as left_at,
    events.profile_id,
    events.event_key,
    events.person_full_name,
    events.organization_name,
    events.title,
    events.level,
    events.rank,
    events.is_management,
    ended_stints.joined_at,
    ended_stints.tenure_days,
    destinations.to_organization_id as went_to_organization_id,
    destinations.to_organization_name as went_to_organization_name,
    destinations.gap_days,
    events.detected_at,
    events.detection_lag_days,
    events.first_seen_at
from stg_job_change_events as events
left join ended_stints on ended_stints.left_event_key = events.event_key
left join destinations on destinations.left_event_key = events.event_key
where events.event_type = 'left'
