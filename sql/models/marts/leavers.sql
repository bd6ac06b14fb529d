-- grain: One row per leaving: one stint whose leaving was seen.
-- key: organization_id, left_at, profile_id, stint_number
-- purpose: Who left which organisation, when, as what, after how long, and where to. A change of title to a side role, or to Retired, counts; internal moves and leavings that were taken back do not. Counts elsewhere, such as in organization_monthly, take the rows where is_primary is true and is_transfer is false.
-- incremental_by: profile_id
-- partition: year of left_at
-- values: function: engineering | product | design | data | it | marketing | sales | customer_success | finance | hr | legal | operations | supply_chain | research | education | healthcare | administration | consulting | general_management | other | unknown
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: went_to_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown (or null)
-- values: direction: up | down | sideways | unknown (or null)
-- references: event_key -> stints.left_event_key
-- references: event_key -> job_change_events.event_key
-- columns:
--   organization_id: The organisation that was left.
--   left_at: When the person left, UTC. Often known to the month only: then it is the first of that month.
--   left_on: The day of left_at, UTC.
--   week_start_on: The Monday of the week of left_at, UTC.
--   month_start_on: First day of the month of left_at, UTC.
--   profile_id: The service's stable id of the person.
--   stint_number: 1 for the person's first stint at the organisation that was seen, then 2, 3, …
--   event_key: event_key of the leaving in job_change_events; unique.
--   person_full_name: The person's full name as written.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name as written.
--   title: The title that was left as written; where the leaving names none, the last title known in the stint.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, higher is more senior; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   function: Field of work of title: engineering, product, design, data, it, marketing, sales, customer_success, finance, hr, legal, operations, supply_chain, research, education, healthcare, administration, consulting, general_management; other where it names none, unknown where it is not understood.
--   is_boomerang: True where the person left a later stint than the first at the organisation; earlier internships do not count as the first.
--   is_primary: False where the stint is a side role such as board member or adviser, or has no employer (see stints).
--   precision: How well left_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection.
--   was_announced: True where the leaving was announced before it happened: left_at is after detected_at. It stays true afterwards.
--   joined_at: When the stint that ended here began, UTC; null when the joining was never seen.
--   joined_on: The day of joined_at, UTC; null when the joining was never seen.
--   tenure_days: Calendar days from joining to leaving, 0 or more; null when the joining was never seen, or one of the two dates is unknown.
--   tenure_days_min: The fewest days that the precision of both dates allows.
--   tenure_days_max: The most days that the precision of both dates allows.
--   tenure_months: Whole months from joining to leaving; null where tenure_days is null.
--   went_to_organization_id: The organisation that was joined next; null when no joining is linked (see moves).
--   went_to_organization_name: Name of the organisation that was joined next, as written.
--   went_to_title: The first title known at went_to_organization_id, as written.
--   went_to_level: Level of went_to_title, as for level; null when no joining is linked.
--   gap_days: Calendar days from this leaving to the linked joining, -31 to 180; null when no joining is linked.
--   is_direct: True where gap_days is at most 31; null when no joining is linked.
--   direction: up, down or sideways from level to went_to_level, or unknown; null when no joining is linked.
--   detected_at: When the service saw the leaving, UTC.
--   known_at: When the service first knew of the leaving, UTC, whatever corrections followed.
--   detection_lag_days: Whole days between the leaving and its detection, as sent.
--   known_same_month: True where the leaving was seen in the month in which it happened, whatever corrections followed: counts of such leavings can be compared over time, however late others are seen.
--   first_seen_at: When the event was first received by this warehouse, UTC.
--   is_transfer: True where an acquisition, a rename or the like took the person along, without a change of job; see moves.
--   core: The role of title without level, team and place, in English words where known; null when none is seen.
--   is_founder: Whether title is that of a founder, in any language.
--   destination_known: Whether the person's destination is known: a joining elsewhere is linked (see moves).
--   duplicate_of_profile_id: The profile to keep, where this is another profile of the same person; null otherwise. See duplicate_people.
--   duplicate_of_organization_id: The id to keep, where this is certainly another id of the same organisation; null otherwise. See duplicate_organizations.
--   next_title: The new title here, where a change of title ended the stint: to a side role, from one to a main job, or to Retired and the like; null for a left event.
--   is_stepping_aside: Whether next_title is a side role: a CEO who becomes chair of the board.
with

corrected as (
    select
        event_key,
        min(first_detected_at) as first_detected_at
    from event_corrections
    group by event_key
)

select
    events.organization_id,
    stints.left_at,
    stints.left_on,
    week_start(stints.left_at) as week_start_on,
    month_start(stints.left_at) as month_start_on,
    events.profile_id,
    stints.stint_number,
    events.event_key,
    events.person_full_name,
    stints.person_network_url,
    events.organization_name,
    stints.last_title as title,
    stints.level,
    stints.rank,
    stints.is_management,
    stints.function,
    stints.is_boomerang,
    stints.is_primary,
    events.precision,
    stints.left_at > events.detected_at as was_announced,
    stints.joined_at,
    stints.joined_on,
    case when stints.joined_precision <> 'unknown' and stints.left_precision <> 'unknown' then days_between(stints.joined_at, stints.left_at) end as tenure_days,
    case
        when stints.joined_precision <> 'unknown' and stints.left_precision <> 'unknown'
            then greatest(0, days_between_dates(latest_dated(stints.joined_at, stints.joined_precision), utc_date(stints.left_at)))
    end as tenure_days_min,
    case
        when stints.joined_precision <> 'unknown' and stints.left_precision <> 'unknown' then days_between_dates(utc_date(stints.joined_at), latest_dated(stints.left_at, stints.left_precision))
    end as tenure_days_max,
    case when stints.joined_precision <> 'unknown' and stints.left_precision <> 'unknown' then whole_months(utc_date(stints.joined_at), utc_date(stints.left_at)) end as tenure_months,
    moves.to_organization_id as went_to_organization_id,
    moves.to_organization_name as went_to_organization_name,
    moves.to_title as went_to_title,
    moves.to_level as went_to_level,
    moves.gap_days,
    moves.is_direct,
    moves.direction,
    events.detected_at,
    coalesce(corrected.first_detected_at, events.detected_at) as known_at,
    events.detection_lag_days,
    month_start(coalesce(corrected.first_detected_at, events.detected_at)) <= month_start(stints.left_at) as known_same_month,
    events.first_seen_at,
    coalesce(moves.is_transfer, false) as is_transfer,
    understood.core,
    is_founder_title(understood.level, understood.core) as is_founder,
    moves.left_event_key is not null as destination_known,
    duplicates.duplicate_of_profile_id,
    duplicates.duplicate_of_organization_id,
    case when events.event_type = 'title_change' then events.title end as next_title,
    coalesce(
        events.event_type = 'title_change' and stints.is_primary and next_titles.is_side_role and not next_titles.is_end_marker, false
    ) as is_stepping_aside
from dated_events as events
inner join stints on stints.left_event_key = events.event_key
left join moves on moves.left_event_key = events.event_key
left join corrected on corrected.event_key = events.event_key
left join titles as understood on understood.ladder = stints.ladder and understood.title = stints.last_title
left join duplicate_marks as duplicates
    on duplicates.profile_id = events.profile_id and duplicates.organization_id = events.organization_id
left join titles as next_titles
    on next_titles.ladder = events.ladder
    and next_titles.title = case when events.event_type = 'title_change' then events.title end
