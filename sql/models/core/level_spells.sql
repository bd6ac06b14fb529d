-- grain: One row per unbroken time at one level in a stint of a main job, whatever the titles.
-- key: profile_id, organization_id, stint_number, level_number
-- incremental_by: profile_id
-- purpose: How long each person was at a level, and what followed: the input of promotion_wait_counts.
-- note: This model is separate because a daily build changes few people, but most of the organisations where they worked.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: 1 for the person's first stint at the organisation that was seen, then 2, 3, …
--   level_number: 1 for the first level of the stint, then 2, 3, …
--   level: The level: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   started_on: First day of the month in which the time at the level began; null where that was not seen.
--   next_on: First day of the month in which the next level began; null where there is none.
--   ended_on: First day of the month in which the time at the level ended; null where that was not seen.
--   last_known_on: First day of the month in which the last title at the level began, if seen.
--   is_open: Whether the person is still at the level.
--   is_next_higher: Whether the next level is higher; null where there is none, or one of the two is unknown.
with

roles as (
    select
        profile_id,
        organization_id,
        stint_number,
        role_number,
        level,
        rank,
        started_at,
        ended_at,
        is_open,
        case when lag(level) over stint = level then 0 else 1 end as is_first,
        case when lead(level) over stint = level then 0 else 1 end as is_last
    from role_spells
    where is_primary
    window stint as (partition by profile_id, organization_id, stint_number order by role_number)
),

numbered as (
    select
        profile_id,
        organization_id,
        stint_number,
        level,
        rank,
        started_at,
        ended_at,
        is_open,
        is_first,
        is_last,
        sum(is_first) over (
            partition by profile_id, organization_id, stint_number
            order by role_number
            rows between unbounded preceding and current row
        ) as nth
    from roles
),

-- The time at one level, whatever the titles.
levels as (
    select
        profile_id,
        organization_id,
        stint_number,
        nth,
        level,
        min(rank) as lowest_rank,
        max(rank) as highest_rank,
        max(case when is_first = 1 then started_at end) as started_at,
        max(started_at) as last_known_at,
        max(case when is_last = 1 then ended_at end) as ended_at,
        max(case when is_open then 1 else 0 end) as is_open
    from numbered
    group by profile_id, organization_id, stint_number, nth, level
)

select
    profile_id,
    organization_id,
    stint_number,
    cast(nth as integer) as level_number,
    level,
    month_start(started_at) as started_on,
    month_start(lead(started_at) over stint) as next_on,
    month_start(ended_at) as ended_on,
    month_start(last_known_at) as last_known_on,
    is_open = 1 as is_open,
    lead(lowest_rank) over stint > highest_rank as is_next_higher
from levels
window stint as (partition by profile_id, organization_id, stint_number order by nth)
