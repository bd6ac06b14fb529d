-- grain: One row per stint, month, function and level in which the headcount changes by more than a joining or a leaving.
-- key: profile_id, organization_id, stint_number, month_start_on, function, level
-- purpose: The changes of headcount other than joiners and leavers: unseen joinings and leavings, and changes of role.
-- incremental_by: profile_id
-- note: Only main jobs count. A person whose joining was not seen is certainly there from their first event on, and may have
-- note: been there before: since the stint before it ended, or else from the start. A person whose leaving was not seen,
-- note: although a later stint shows that they had left, is certainly there until the month of their last event, and may have
-- note: been there until that stint began. A person whose leaving was not seen, and who joined elsewhere after everything seen
-- note: here (uncertain_stints), is certainly there until the month of that joining, and may still be there. The time between
-- note: two stints counts to the first if neither the end of the one nor the start of the other was seen.
-- note: A person has one role at a time: the one that the last step of title_steps led to, flips left out. A stint ends in its
-- note: last role; a role that no step led to begins in the month in which the stint ends. A step outside the stint counts at
-- note: its ends.
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: The person's stint at the organisation; see stints.
--   month_start_on: First day of the month of the change, UTC.
--   function: Field of work of the title; other where it names none, unknown where it is not understood.
--   level: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   people: The change of the month in the number of people who are certainly there.
--   appeared: 1 where the person is certainly there from this month on, and may have been there before.
--   may_begin: 1 in the month from which the person may already have been there; 0 where they may have been there from the start.
--   may_stay: 1 in the month from which the person may still be there, -1 in the month in which that time ends.
with

spells as (
    select
        stints.profile_id,
        stints.organization_id,
        stints.stint_number,
        stints.previous_stint_number,
        stints.joined_at is null as is_joining_unseen,
        stints.left_at is null and not stints.is_open as is_leaving_unseen,
        stints.first_function,
        stints.first_level,
        stints.function,
        stints.level,
        month_start(coalesce(stints.joined_at, stints.first_event_at)) as start_on,
        month_start(stints.left_at) as left_on,
        month_start(stints.last_event_at) as last_on,
        month_start(uncertain.uncertain_from_at) as uncertain_from_on
    from stints
    left join uncertain_stints as uncertain
        on uncertain.profile_id = stints.profile_id
        and uncertain.organization_id = stints.organization_id
        and uncertain.stint_number = stints.stint_number
    where stints.is_primary
),

-- The month after that of the last event, but no later than the next stint; the month of joining for a person who joined
-- elsewhere and may still be here.
unseen_leavings as (
    select
        spells.profile_id,
        spells.organization_id,
        spells.stint_number,
        spells.function,
        spells.level,
        later.start_on as later_on,
        least(later.start_on, month_of_number(month_number(spells.last_on) + 1)) as gone_on
    from spells
    inner join spells as later
        on later.profile_id = spells.profile_id
        and later.organization_id = spells.organization_id
        and later.previous_stint_number = spells.stint_number
    where spells.is_leaving_unseen
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        function,
        level,
        cast(null as date) as later_on,
        uncertain_from_on as gone_on
    from spells
    where uncertain_from_on is not null
),

unseen_joinings as (
    select
        spells.profile_id,
        spells.organization_id,
        spells.stint_number,
        spells.first_function,
        spells.first_level,
        spells.start_on,
        case
            when before.stint_number is null then null
            when before.left_on < spells.start_on then before.left_on
            else spells.start_on
        end as may_begin_on
    from spells
    left join spells as before
        on before.profile_id = spells.profile_id
        and before.organization_id = spells.organization_id
        and before.stint_number = spells.previous_stint_number
    where spells.is_joining_unseen
),

steps as (
    select
        title_steps.profile_id,
        title_steps.organization_id,
        title_steps.stint_number,
        month_start(title_steps.changed_at) as stepped_on,
        coalesce(titles.function, 'unknown') as function,
        coalesce(titles.level, 'unknown') as level,
        row_number() over sequence as nth,
        lead(title_steps.event_key) over sequence is null as is_last,
        lag(coalesce(titles.function, 'unknown')) over sequence as previous_function,
        lag(coalesce(titles.level, 'unknown')) over sequence as previous_level
    from title_steps
    left join titles on titles.ladder = title_steps.ladder and titles.title = title_steps.title
    where not title_steps.is_flip
    window sequence as (
        partition by title_steps.profile_id, title_steps.organization_id, title_steps.stint_number
        order by title_steps.changed_at, title_steps.detected_at, title_steps.event_key
    )
),

-- Stints in which the role changes, and when they end.
role_spells_of as (
    select
        spells.profile_id,
        spells.organization_id,
        spells.stint_number,
        spells.start_on,
        coalesce(spells.left_on, unseen_leavings.gone_on) as end_on,
        spells.first_function,
        spells.first_level,
        spells.function as last_function,
        spells.level as last_level,
        steps.stepped_on,
        steps.function,
        steps.level,
        steps.previous_function,
        steps.previous_level,
        steps.nth,
        steps.is_last
    from spells
    left join steps
        on steps.profile_id = spells.profile_id
        and steps.organization_id = spells.organization_id
        and steps.stint_number = spells.stint_number
    left join unseen_leavings
        on unseen_leavings.profile_id = spells.profile_id
        and unseen_leavings.organization_id = spells.organization_id
        and unseen_leavings.stint_number = spells.stint_number
    where steps.nth is not null or spells.first_function <> spells.function or spells.first_level <> spells.level
),

shifts as (
    select
        profile_id,
        organization_id,
        stint_number,
        case
            when stepped_on < start_on then start_on
            when stepped_on > end_on then end_on
            else stepped_on
        end as month_start_on,
        case when nth = 1 then first_function else previous_function end as from_function,
        case when nth = 1 then first_level else previous_level end as from_level,
        function as to_function,
        level as to_level
    from role_spells_of
    where nth is not null
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        end_on as month_start_on,
        case when nth is null then first_function else function end as from_function,
        case when nth is null then first_level else level end as from_level,
        last_function as to_function,
        last_level as to_level
    from role_spells_of
    where end_on is not null and coalesce(is_last, true)
),

changes as (
    select
        profile_id,
        organization_id,
        stint_number,
        start_on as month_start_on,
        first_function as function,
        first_level as level,
        1 as people,
        case when may_begin_on = start_on then 0 else 1 end as appeared,
        0 as may_begin,
        0 as may_stay
    from unseen_joinings
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        may_begin_on as month_start_on,
        first_function as function,
        first_level as level,
        0 as people,
        0 as appeared,
        1 as may_begin,
        0 as may_stay
    from unseen_joinings
    where may_begin_on < start_on
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        gone_on as month_start_on,
        function,
        level,
        -1 as people,
        0 as appeared,
        0 as may_begin,
        1 as may_stay
    from unseen_leavings
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        later_on as month_start_on,
        function,
        level,
        0 as people,
        0 as appeared,
        0 as may_begin,
        -1 as may_stay
    from unseen_leavings
    where later_on is not null
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        month_start_on,
        from_function as function,
        from_level as level,
        -1 as people,
        0 as appeared,
        0 as may_begin,
        0 as may_stay
    from shifts
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        month_start_on,
        to_function as function,
        to_level as level,
        1 as people,
        0 as appeared,
        0 as may_begin,
        0 as may_stay
    from shifts
)

select
    profile_id,
    organization_id,
    stint_number,
    month_start_on,
    function,
    level,
    cast(sum(people) as integer) as people,
    cast(sum(appeared) as integer) as appeared,
    cast(sum(may_begin) as integer) as may_begin,
    cast(sum(may_stay) as integer) as may_stay
from changes
group by profile_id, organization_id, stint_number, month_start_on, function, level
having sum(people) <> 0 or sum(appeared) <> 0 or sum(may_begin) <> 0 or sum(may_stay) <> 0
