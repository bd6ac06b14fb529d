-- grain: One row per joining: one stint whose joining was seen.
-- key: organization_id, joined_at, profile_id, stint_number
-- purpose: Who joined which organisation, when, as what, and from where. Internal moves and repeated events are left out. Counts elsewhere, such as in organization_monthly, take the rows where is_primary is true and is_transfer is false.
-- incremental_by: profile_id
-- partition: year of joined_at
-- values: function: engineering | product | design | data | it | marketing | sales | customer_success | finance | hr | legal | operations | supply_chain | research | education | healthcare | administration | consulting | general_management | other | unknown
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: came_from_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown (or null)
-- values: direction: up | down | sideways | unknown (or null)
-- references: event_key -> stints.joined_event_key
-- references: event_key -> job_change_events.event_key
-- columns:
--   organization_id: The organisation that was joined.
--   joined_at: When the person joined, UTC. Often known to the month only: then it is the first of that month.
--   joined_on: The day of joined_at, UTC.
--   week_start_on: The Monday of the week of joined_at, UTC.
--   month_start_on: First day of the month of joined_at, UTC.
--   profile_id: The service's stable id of the person.
--   stint_number: 1 for the person's first stint at the organisation that was seen, then 2, 3, …
--   event_key: event_key of the joining in job_change_events; unique.
--   person_full_name: The person's full name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   title: The title at the organisation as written; where the joining names none, the first title known in the stint.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, higher is more senior; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   function: Field of work of title: engineering, product, design, data, it, marketing, sales, customer_success, finance, hr, legal, operations, supply_chain, research, education, healthcare, administration, consulting, general_management; other where it names none, unknown where it is not understood.
--   is_boomerang: True where the person had worked at the organisation before, other than as an intern.
--   is_conversion: True where the person had been there before only as an intern; such a joining does not count as a boomerang.
--   months_away: Whole months since the person left the organisation; null for a first stint.
--   is_primary: False where the stint is a side role such as board member or adviser, or has no employer (see stints).
--   precision: How well joined_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: True where the joining was announced before it happened: joined_at is after detected_at. It stays true afterwards.
--   came_from_organization_id: The organisation that was left for this one; null when no leaving is linked (see moves).
--   came_from_organization_name: Name of the organisation that was left for this one, as written.
--   came_from_title: The last title known at came_from_organization_id, as written.
--   came_from_level: Level of came_from_title, as for level; null when no leaving is linked.
--   gap_days: Calendar days from the linked leaving to this joining, -31 to 180; null when no leaving is linked.
--   is_direct: True where gap_days is at most 31; null when no leaving is linked.
--   direction: up, down or sideways from came_from_level to level, or unknown; null when no leaving is linked.
--   detected_at: When the service saw the joining, UTC.
--   known_at: When the service first knew of the joining, UTC, whatever corrections followed; for a return to the organisation, also of the leaving before it.
--   detection_lag_days: Whole days between the joining and its detection, as sent.
--   known_same_month: True where the joining was seen in the month in which it happened, whatever corrections followed: counts of such joinings can be compared over time, however late others are seen.
--   first_seen_at: When the joining was first received, UTC; for a return to the organisation, also the leaving before it.
--   is_transfer: True where an acquisition, a rename or the like brought the person, without a change of job; see moves.
--   core: The role of title without level, team and place, in English words where known; null when none is seen.
--   is_founder: Whether title is that of a founder, in any language.
--   duplicate_of_profile_id: The profile to keep, where this is another profile of the same person; null otherwise. See duplicate_people.
--   duplicate_of_organization_id: The id to keep, where this is certainly another id of the same organisation; null otherwise. See duplicate_organizations.
--   previous_title: The previous title here, where a change of title began the stint: from a side role to a main job, or the other way round; null for a joined event.
with

corrected as (
    select
        event_key,
        min(first_detected_at) as first_detected_at
    from event_corrections
    group by event_key
),

-- A person who joins an organisation again is a boomerang only where the leaving between is known.
returns as (
    select
        came_back.event_key,
        came_back.stint_number,
        coalesce(corrected.first_detected_at, gone.detected_at) as leaving_known_at,
        gone.first_seen_at as leaving_first_seen_at
    from ambiguous_events as came_back
    inner join ambiguous_events as gone
        on gone.profile_id = came_back.profile_id
        and gone.organization_id = came_back.organization_id
        and gone.stint_number = came_back.previous_stint_number
    left join corrected on corrected.event_key = gone.event_key
    where came_back.part = 'arrival' and gone.part = 'departure'
)

select
    events.organization_id,
    stints.joined_at,
    stints.joined_on,
    week_start(stints.joined_at) as week_start_on,
    month_start(stints.joined_at) as month_start_on,
    events.profile_id,
    stints.stint_number,
    events.event_key,
    events.person_full_name,
    stints.person_network_url,
    events.organization_name,
    stints.first_title as title,
    stints.first_level as level,
    stints.first_rank as rank,
    stints.first_is_management as is_management,
    stints.first_function as function,
    stints.is_boomerang,
    stints.is_conversion,
    stints.months_away,
    stints.is_primary,
    events.precision,
    stints.joined_at > events.detected_at as was_announced,
    moves.from_organization_id as came_from_organization_id,
    moves.from_organization_name as came_from_organization_name,
    moves.from_title as came_from_title,
    moves.from_level as came_from_level,
    moves.gap_days,
    moves.is_direct,
    moves.direction,
    events.detected_at,
    greatest(coalesce(corrected.first_detected_at, events.detected_at), returns.leaving_known_at) as known_at,
    events.detection_lag_days,
    month_start(coalesce(corrected.first_detected_at, events.detected_at)) <= month_start(stints.joined_at) as known_same_month,
    greatest(events.first_seen_at, returns.leaving_first_seen_at) as first_seen_at,
    coalesce(moves.is_transfer, false) as is_transfer,
    understood.core,
    is_founder_title(understood.level, understood.core) as is_founder,
    duplicates.duplicate_of_profile_id,
    duplicates.duplicate_of_organization_id,
    case when events.event_type = 'title_change' then events.previous_title end as previous_title
from dated_events as events
inner join stints on stints.joined_event_key = events.event_key
left join moves on moves.joined_event_key = events.event_key
left join corrected on corrected.event_key = events.event_key
left join returns on returns.event_key = events.event_key and returns.stint_number = stints.stint_number
left join titles as understood on understood.ladder = stints.ladder and understood.title = stints.first_title
left join duplicate_marks as duplicates
    on duplicates.profile_id = events.profile_id and duplicates.organization_id = events.organization_id
