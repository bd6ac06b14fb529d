-- grain: One row per organisation, level, and calendar months after which anybody was promoted from it or was last seen at it.
-- key: organization_id, from_level, wait_calendar_months
-- incremental_by: organization_id
-- references: organization_id -> organizations.organization_id
-- purpose: How long people were at a level, and who went up. What promotion_waits makes of a survival curve.
-- note: Who counts, and how long, stands in promotion_waits.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   from_level: The level: intern, entry, mid, senior, lead, manager, director, vp or cxo.
--   wait_calendar_months: Calendar months from the month in which the person came to the level; 0 when they are one.
--   promoted: People who went to a higher level after so many months.
--   censored: People who were at the level to the data cutoff, or left, or went to a level that is not higher, after so many months.
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
),

followed as (
    select
        organization_id,
        level,
        month_start(started_at) as started_on,
        is_open,
        month_start(lead(started_at) over stint) as next_on,
        month_start(ended_at) as ended_on,
        month_start(last_known_at) as last_known_on,
        lead(lowest_rank) over stint > highest_rank as is_next_higher
    from levels
    window stint as (partition by profile_id, organization_id, stint_number order by nth)
),

waits as (
    select
        followed.organization_id,
        followed.level,
        followed.started_on,
        case
            when followed.next_on is not null then followed.next_on
            when followed.is_open = 1 then cutoffs.cutoff_on
            else coalesce(followed.ended_on, followed.last_known_on)
        end as ended_on,
        coalesce(followed.is_next_higher and followed.next_on < cutoffs.cutoff_on, false) as is_promoted,
        cutoffs.cutoff_on,
        days_later(cutoffs.cutoff_on, -1) as last_day_on
    from followed
    inner join data_cutoffs as cutoffs on cutoffs.organization_id = followed.organization_id
    inner join organization_observation as observed on observed.organization_id = followed.organization_id
    where
        followed.level <> 'unknown'
        and followed.started_on < cutoffs.cutoff_on
        and (observed.observed_from_on is null or followed.started_on >= observed.observed_from_on)
),

counted as (
    select
        organization_id,
        level,
        whole_months(started_on, case when ended_on < cutoff_on then ended_on else last_day_on end) as months,
        is_promoted
    from waits
)

select
    organization_id,
    level as from_level,
    -- A change of title can be dated before the one that it follows.
    greatest(0, months) as wait_calendar_months,
    cast(count(case when is_promoted then 1 end) as integer) as promoted,
    cast(count(case when not is_promoted then 1 end) as integer) as censored
from counted
group by organization_id, level, greatest(0, months)
