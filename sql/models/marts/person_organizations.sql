-- grain: One row per person and organisation: the current state of that pair.
-- key: profile_id, organization_id
-- purpose: Who is where now, since when, as what; and who was where before.
-- incremental_by: profile_id
-- note: By which rules joined and left events decide whether the person is there stands in ambiguous_events; which of several
-- note: events of one instant is the last, in stints.
-- values: last_event_type: joined | left | title_change
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- references: last_event_key -> job_change_events.event_key
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   is_current: True unless the last stint of the pair ended with a leaving; changes of title do not count.
--   current_since_at: When the current time at the organisation began, UTC; null when not current or when the joining was never seen.
--   first_joined_at: The earliest joining seen, UTC.
--   last_left_at: The latest leaving seen, UTC; internal moves and leavings that were taken back are none.
--   title: The last known title at the organisation as written: the title that was left where the person left.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, which orders levels and the steps inside one; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   function: Field of work of title; other where it names none, unknown where nothing is understood.
--   is_primary: False where every known title at the organisation is a side role such as board member or adviser.
--   person_full_name: The person's name in the last event.
--   person_network_url: The person's public page, the newest that is known, as sent; null when none is.
--   organization_name: The organisation's name in the last event.
--   stints: How many stints the person has had there; see stints.
--   promotions: How many promotions of the person were seen there.
--   first_event_at: When the first change took effect, UTC.
--   last_event_type: The type of the last event: joined, left or title_change.
--   last_event_at: When the last change took effect, UTC.
--   last_detected_at: When the last event was detected, UTC.
--   last_event_key: event_key of the last event in job_change_events.
--   events: How many distinct events the pair has.
with

-- Few people come back, so what several stints add up to is put together for those only.
returned as (
    select distinct profile_id, organization_id
    from stints
    where stint_number > 1
),

folded as (
    select
        stints.profile_id,
        stints.organization_id,
        max(stints.stint_number) as stints,
        min(stints.joined_at) as first_joined_at,
        max(stints.left_at) as last_left_at,
        min(stints.first_event_at) as first_event_at,
        max_by(stints.last_title, case when stints.last_title is not null then stints.stint_number end) as title,
        bool_or(stints.is_primary and stints.last_title is not null) as has_main_role,
        sum(stints.events) as events
    from stints
    inner join returned
        on returned.profile_id = stints.profile_id
        and returned.organization_id = stints.organization_id
    group by stints.profile_id, stints.organization_id
),

pairs as (
    select
        last.profile_id,
        last.organization_id,
        last.is_open,
        last.joined_at,
        case when folded.stints is null then last.joined_at else folded.first_joined_at end as first_joined_at,
        case when folded.stints is null then last.left_at else folded.last_left_at end as last_left_at,
        coalesce(folded.title, last.last_title) as title,
        last.ladder,
        case
            when folded.stints is null or folded.title is null then last.is_primary else folded.has_main_role
        end as is_primary,
        last.person_full_name,
        last.person_network_url,
        last.organization_name,
        last.stint_number as stints,
        coalesce(folded.first_event_at, last.first_event_at) as first_event_at,
        last.last_event_type,
        last.last_event_at,
        last.last_detected_at,
        last.last_event_key,
        coalesce(folded.events, last.events) as events
    from stints as last
    left join folded
        on folded.profile_id = last.profile_id
        and folded.organization_id = last.organization_id
    where last.stint_number = coalesce(folded.stints, 1)
),

rises as (
    select profile_id, organization_id, count(*) as promotions
    from promotions
    group by profile_id, organization_id
)

select
    pairs.profile_id,
    pairs.organization_id,
    pairs.is_open as is_current,
    case when pairs.is_open then pairs.joined_at end as current_since_at,
    pairs.first_joined_at,
    pairs.last_left_at,
    pairs.title,
    coalesce(understood.level, 'unknown') as level,
    understood.rank,
    understood.is_management,
    coalesce(understood.function, 'unknown') as function,
    pairs.is_primary,
    pairs.person_full_name,
    pairs.person_network_url,
    pairs.organization_name,
    pairs.stints,
    cast(coalesce(rises.promotions, 0) as integer) as promotions,
    pairs.first_event_at,
    pairs.last_event_type,
    pairs.last_event_at,
    pairs.last_detected_at,
    pairs.last_event_key,
    cast(pairs.events as integer) as events
from pairs
left join rises
    on rises.profile_id = pairs.profile_id
    and rises.organization_id = pairs.organization_id
left join titles as understood
    on understood.ladder = pairs.ladder
    and understood.title = pairs.title
