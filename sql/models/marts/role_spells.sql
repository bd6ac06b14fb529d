-- grain: One row per role: one title that a person held without a break in a stint at an organisation.
-- key: profile_id, organization_id, stint_number, role_number
-- tier: detail
-- purpose: The roles of each person at an organisation, from when until when.
-- incremental_by: profile_id
-- note: A role begins with the stint or with a step of title_steps, without flips, and ends with the next one, or with a
-- note: leaving that names it, which can be later: then the two roles overlap. A title whose end alone was reported, because a
-- note: step was missed, is a role whose start was not seen; the end of the one before it was not seen either. Retitles also
-- note: begin a role. Side roles alongside a main job are roles of a separate stint.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The stint in which the role was held; see stints.
--   role_number: 1 for the first role of the stint, then 2, 3, …
--   person_full_name: The person's name in the last event of the stint.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name in the last event of the stint.
--   title: The title as written; null for a stint in which no title was ever named.
--   level: Level of the title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   rank: Rank of the title, which orders levels and the steps inside a level; null when unknown.
--   is_management: Whether the title manages people; null when unknown.
--   function: Field of work of the title; other where it names none, unknown where it is not understood.
--   is_primary: False for a side role such as board member or adviser.
--   started_at: When the role began, UTC; null when that was not seen.
--   started_on: The day of started_at, UTC.
--   started_by: The event that began the role: joined or title_change; null when that was not seen.
--   started_event_key: event_key of the event that began the role; null when it was not seen.
--   ended_at: When the role ended, UTC; null when the role is open, or its end was not seen.
--   ended_on: The day of ended_at, UTC.
--   ended_by: The event that ended the role: left, joined (another role) or title_change; null when the role is open, or its end was not seen.
--   is_open: True when the person still has the role according to the data.
with

steps as (
    select
        profile_id,
        organization_id,
        stint_number,
        event_key,
        source,
        changed_at,
        previous_title,
        title,
        row_number() over sequence as nth,
        lag(title) over sequence as title_before,
        lead(source) over sequence as next_source,
        lead(changed_at) over sequence as next_at,
        lead(previous_title) over sequence as next_previous_title
    from title_steps
    where not is_flip
    window sequence as (
        partition by profile_id, organization_id, stint_number order by changed_at, detected_at, event_key
    )
),

roles as (
    select
        stints.profile_id,
        stints.organization_id,
        stints.stint_number,
        0 as place,
        stints.first_title as title,
        stints.joined_at as started_at,
        case when stints.joined_at is not null then 'joined' end as started_by,
        stints.joined_event_key as started_event_key,
        steps.nth is not null as is_followed,
        case when steps.previous_title = stints.first_title then steps.changed_at end as next_at,
        case when steps.previous_title = stints.first_title then steps.source end as next_source
    from stints
    left join steps
        on steps.profile_id = stints.profile_id
        and steps.organization_id = stints.organization_id
        and steps.stint_number = stints.stint_number
        and steps.nth = 1
    union all
    -- Missed steps: only the end of the title before was reported.
    select
        steps.profile_id,
        steps.organization_id,
        steps.stint_number,
        2 * steps.nth - 1 as place,
        steps.previous_title as title,
        null as started_at,
        null as started_by,
        null as started_event_key,
        true as is_followed,
        steps.changed_at as next_at,
        steps.source as next_source
    from steps
    inner join stints
        on stints.profile_id = steps.profile_id
        and stints.organization_id = steps.organization_id
        and stints.stint_number = steps.stint_number
    where steps.previous_title <> case when steps.nth = 1 then stints.first_title else steps.title_before end
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        2 * nth as place,
        title,
        changed_at as started_at,
        source as started_by,
        event_key as started_event_key,
        next_at is not null as is_followed,
        case when next_previous_title = title then next_at end as next_at,
        case when next_previous_title = title then next_source end as next_source
    from steps
),

numbered as (
    select
        profile_id,
        organization_id,
        stint_number,
        place,
        row_number() over (partition by profile_id, organization_id, stint_number order by place) as role_number,
        title,
        started_at,
        started_by,
        started_event_key,
        min(started_at) over (
            partition by profile_id, organization_id, stint_number, title order by place
            rows between 1 following and unbounded following
        ) as started_again_at,
        is_followed,
        next_at,
        next_source
    from roles
),

-- The first leaving that names the role after it began and before it began again. The role that the person came with can
-- outlast one that they took later, up to the end of the stint.
named_ends as (
    select
        numbered.profile_id,
        numbered.organization_id,
        numbered.stint_number,
        numbered.role_number,
        min(leavings.changed_at) as left_at
    from numbered
    inner join ambiguous_events as leavings
        on leavings.profile_id = numbered.profile_id
        and leavings.organization_id = numbered.organization_id
        and leavings.stint_number = numbered.stint_number
        and leavings.title = numbered.title
    inner join stints as ends
        on ends.profile_id = numbered.profile_id
        and ends.organization_id = numbered.organization_id
        and ends.stint_number = numbered.stint_number
    where
        leavings.event_type = 'left'
        and (
            (leavings.part in ('role_end', 'interruption') and numbered.is_followed)
            or (leavings.part = 'departure' and numbered.is_followed and numbered.next_source = 'joined')
            or (leavings.part = 'role_end' and not numbered.is_followed and ends.last_title <> numbered.title)
        )
        and (numbered.started_at is null or leavings.changed_at >= numbered.started_at)
        and (numbered.started_again_at is null or leavings.changed_at < numbered.started_again_at)
    group by numbered.profile_id, numbered.organization_id, numbered.stint_number, numbered.role_number
)

select
    roles.profile_id,
    roles.organization_id,
    roles.stint_number,
    cast(roles.role_number as integer) as role_number,
    stints.person_full_name,
    stints.person_network_url,
    stints.organization_name,
    roles.title,
    coalesce(understood.level, 'unknown') as level,
    understood.rank,
    understood.is_management,
    coalesce(understood.function, 'unknown') as function,
    not coalesce(understood.is_side_role, false) as is_primary,
    roles.started_at,
    utc_date(roles.started_at) as started_on,
    roles.started_by,
    roles.started_event_key,
    case
        when named_ends.left_at is not null then named_ends.left_at
        when roles.is_followed then roles.next_at
        else stints.left_at
    end as ended_at,
    case
        when named_ends.left_at is not null then utc_date(named_ends.left_at)
        when roles.is_followed then utc_date(roles.next_at)
        else stints.left_on
    end as ended_on,
    case
        when named_ends.left_at is not null then 'left'
        when roles.is_followed then roles.next_source
        when stints.left_at is not null then 'left'
    end as ended_by,
    not roles.is_followed and stints.is_open as is_open
from numbered as roles
inner join stints
    on stints.profile_id = roles.profile_id
    and stints.organization_id = roles.organization_id
    and stints.stint_number = roles.stint_number
left join named_ends
    on named_ends.profile_id = roles.profile_id
    and named_ends.organization_id = roles.organization_id
    and named_ends.stint_number = roles.stint_number
    and named_ends.role_number = roles.role_number
left join titles as understood on understood.ladder = stints.ladder and understood.title = roles.title
