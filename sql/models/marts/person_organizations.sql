-- grain: One row per person and organisation: the current state of that pair.
-- key: profile_id, organization_id
-- purpose: Who is where now, since when and as what; and who was where before.
-- incremental_by: profile_id
-- note: ambiguous_events has the rules by which joined and left events decide whether the person is there; stints decides which
-- note: of several events at one instant is the last.
-- values: last_event_type: joined | left | title_change
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- references: last_event_key -> job_change_events.event_key
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   is_current: True where the person is certainly there on the day of the data (core.as_of): an announced leaving or joining does not count yet.
--   is_uncertain: True where no leaving was seen, but the person joined another employer after everything that was seen here: is_current is false, and the person may still be there.
--   current_since_at: When the current stay at the organisation began, UTC; null when not current or when the joining was never seen.
--   first_joined_at: The earliest joining seen, UTC.
--   last_left_at: The latest leaving seen or announced, UTC; internal moves and leavings that were taken back do not count.
--   title: The last known title as written: of the open main job, else of the open side role, else of the last one that was left.
--   level: Level of title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of title, which orders levels and the steps inside a level; null when unknown.
--   is_management: Whether title manages people; null when unknown.
--   function: Field of work of title; other where it names none, unknown where it is not understood.
--   is_primary: False where all open stints there, or if none is open all stints, are side roles such as board member or adviser.
--   person_full_name: The person's name in the last event.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name in the last event.
--   stints: The number of stints that the person has had there; see stints.
--   promotions: The number of the person's promotions seen there.
--   first_event_at: When the first change took effect, UTC.
--   last_event_type: The type of the last event: joined, left or title_change.
--   last_event_at: When the last change took effect, UTC.
--   last_detected_at: When the last event was detected, UTC.
--   last_event_key: event_key of the last event in job_change_events.
--   events: The number of distinct events of the pair.
with

-- Where a change of title is only announced, the title until then.
titles_now as (
    select
        title_steps.profile_id,
        title_steps.organization_id,
        title_steps.stint_number,
        min_by(title_steps.previous_title, (title_steps.changed_at, title_steps.detected_at, title_steps.event_key)) as title
    from title_steps
    cross join as_of
    where utc_date(title_steps.changed_at) > as_of.as_of_on and not title_steps.is_flip
    group by title_steps.profile_id, title_steps.organization_id, title_steps.stint_number
),

-- An announced change has not happened: a person who will leave is there, a person who will join is not.
states as (
    select
        stints.profile_id,
        stints.organization_id,
        stints.stint_number,
        coalesce(utc_date(stints.joined_at) <= as_of.as_of_on, true)
        and (stints.is_open or coalesce(utc_date(stints.left_at) > as_of.as_of_on, false))
        and coalesce(utc_date(uncertain.uncertain_from_at) > as_of.as_of_on, true) as is_current,
        coalesce(utc_date(uncertain.uncertain_from_at) <= as_of.as_of_on, false) as is_uncertain,
        stints.is_primary,
        stints.joined_at,
        stints.left_at,
        case when titles_now.profile_id is null then stints.last_title else titles_now.title end as title,
        stints.ladder,
        stints.person_full_name,
        stints.person_network_url,
        stints.organization_name,
        stints.first_event_at,
        stints.last_event_type,
        stints.last_event_at,
        stints.last_detected_at,
        stints.last_event_key,
        stints.events
    from stints
    cross join as_of
    left join uncertain_stints as uncertain
        on uncertain.profile_id = stints.profile_id
        and uncertain.organization_id = stints.organization_id
        and uncertain.stint_number = stints.stint_number
    left join titles_now
        on titles_now.profile_id = stints.profile_id
        and titles_now.organization_id = stints.organization_id
        and titles_now.stint_number = stints.stint_number
),

-- Few people come back or have a side role alongside a job, so only their stints are combined.
several as (
    select distinct profile_id, organization_id
    from stints
    where stint_number > 1
),

-- A pair shows a main job that is current, else a side role that is, else the last stint.
ranked as (
    select
        states.profile_id,
        states.organization_id,
        states.stint_number,
        states.is_current,
        states.is_uncertain,
        states.is_primary,
        states.joined_at,
        states.left_at,
        states.title,
        states.ladder,
        states.person_full_name,
        states.person_network_url,
        states.organization_name,
        states.first_event_at,
        states.last_event_type,
        states.last_event_at,
        states.last_detected_at,
        states.last_event_key,
        states.events,
        row_number() over (
            partition by states.profile_id, states.organization_id
            order by
                case when states.is_current and states.is_primary then 1 when states.is_current then 2 else 3 end,
                states.stint_number desc
        ) as shown_order,
        row_number() over (
            partition by states.profile_id, states.organization_id
            order by
                states.last_event_at desc,
                states.last_detected_at desc,
                event_type_order(states.last_event_type) desc,
                states.last_event_key desc
        ) as recency
    from states
    inner join several
        on several.profile_id = states.profile_id
        and several.organization_id = states.organization_id
),

folded as (
    select
        profile_id,
        organization_id,
        count(*) as stints,
        min(joined_at) as first_joined_at,
        max(left_at) as last_left_at,
        min(first_event_at) as first_event_at,
        max_by(title, case when title is not null then stint_number end) as title,
        bool_or(is_primary and title is not null) as has_main_role,
        bool_or(is_uncertain) as is_uncertain,
        sum(events) as events
    from ranked
    group by profile_id, organization_id
),

pairs as (
    select
        profile_id,
        organization_id,
        is_current,
        is_uncertain,
        joined_at,
        joined_at as first_joined_at,
        left_at as last_left_at,
        title,
        ladder,
        is_primary,
        person_full_name,
        person_network_url,
        organization_name,
        1 as stints,
        first_event_at,
        last_event_type,
        last_event_at,
        last_detected_at,
        last_event_key,
        events
    from states
    where not exists (
        select 1
        from several
        where several.profile_id = states.profile_id and several.organization_id = states.organization_id
    )
    union all
    select
        shown.profile_id,
        shown.organization_id,
        shown.is_current,
        folded.is_uncertain,
        shown.joined_at,
        folded.first_joined_at,
        folded.last_left_at,
        coalesce(shown.title, folded.title) as title,
        shown.ladder,
        case when shown.is_current or folded.title is null then shown.is_primary else folded.has_main_role end as is_primary,
        newest.person_full_name,
        newest.person_network_url,
        newest.organization_name,
        folded.stints,
        folded.first_event_at,
        newest.last_event_type,
        newest.last_event_at,
        newest.last_detected_at,
        newest.last_event_key,
        folded.events
    from ranked as shown
    inner join ranked as newest
        on newest.profile_id = shown.profile_id
        and newest.organization_id = shown.organization_id
        and newest.recency = 1
    inner join folded
        on folded.profile_id = shown.profile_id
        and folded.organization_id = shown.organization_id
    where shown.shown_order = 1
),

rises as (
    select profile_id, organization_id, count(*) as promotions
    from promotions
    group by profile_id, organization_id
)

select
    pairs.profile_id,
    pairs.organization_id,
    pairs.is_current,
    pairs.is_uncertain,
    case when pairs.is_current then pairs.joined_at end as current_since_at,
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
    cast(pairs.stints as integer) as stints,
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
