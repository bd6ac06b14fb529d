-- grain: One row per organisation, level, and number of calendar months after which people were promoted from it or were last seen at it.
-- key: organization_id, from_level, wait_calendar_months
-- references: organization_id -> organizations.organization_id
-- purpose: How long people were at a level, and how many were promoted: the input of the survival curve in promotion_waits.
-- incremental_by: organization_id
-- note: promotion_waits defines who counts, and for how long.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   from_level: The level: intern, entry, mid, senior, lead, manager, director, vp or cxo.
--   wait_calendar_months: Calendar months from the month in which the person came to the level; 0 when both are the same month.
--   promoted: People who rose to a higher level after this many months.
--   censored: People who were at the level up to the data cutoff, or left, or moved to a level that is not higher, after this many months.
with

waits as (
    select
        followed.organization_id,
        followed.level,
        followed.started_on,
        case
            when followed.next_on is not null then followed.next_on
            when followed.is_open then observed.cutoff_on
            else coalesce(followed.ended_on, followed.last_known_on)
        end as ended_on,
        coalesce(followed.is_next_higher and followed.next_on < observed.cutoff_on, false) as is_promoted,
        observed.cutoff_on,
        days_later(observed.cutoff_on, -1) as last_day_on
    from level_spells as followed
    inner join organization_observation as observed on observed.organization_id = followed.organization_id
    where
        followed.level <> 'unknown'
        and followed.started_on < observed.cutoff_on
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
