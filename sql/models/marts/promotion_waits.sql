-- grain: One row per organisation, level that people came to, and level that they rose to; to_level all stands for every step.
-- key: organization_id, from_level, to_level
-- tier: detail
-- references: organization_id -> organizations.organization_id
-- purpose: How long people stay at a level before they rise; those who still wait count as long as they were observed.
-- incremental_by: organization_id
-- note: The rows of to_level all use Kaplan-Meier. The wait begins with the joining, or the change of title, that led to the
-- note: level, and ends with the first title of a higher one. People wait until cutoff_on of organizations, until they left, or
-- note: until they moved to a level that is not higher (censored): the figures describe people who stay. Waits that began
-- note: before observed_from_on of organizations are left out, and so are side roles and levels whose start was not seen.
-- note: Organisations seen only through filters are left out.
-- note: promotions and the columns named of_promoted cover only people who were promoted, by step, including steps inside a
-- note: level such as Director to Senior Director: to_level is from_level then. Only promotions whose start in the title before
-- note: was seen can be timed. People who still wait are not included, so young organisations look faster than they are.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   from_level: Level that people came to: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   to_level: Level of the new title, the same as from_level for a step inside a level; all for any step.
--   waits: How often people came to the level; null unless to_level is all.
--   promoted: How often people were seen to rise from the level; null unless to_level is all.
--   longest_calendar_months: The longest wait that was followed: nothing is known beyond that.
--   promoted_share_12_months: Share of people promoted within 12 calendar months, 0 to 1; null where no wait was followed that long.
--   promoted_share_24_months: Share of people promoted within 24 calendar months.
--   promoted_share_36_months: Share of people promoted within 36 calendar months.
--   calendar_months_p25: 25 of 100 people are promoted within this many calendar months; null where fewer are known to be promoted.
--   calendar_months_median: Half of the people are promoted within this many calendar months.
--   calendar_months_p75: 75 of 100 people are promoted within this many calendar months.
--   promotions: Promotions of this step, excluding those into side roles.
--   timed_promotions: Promotions for which the start of the previous title is known.
--   months_of_promoted_p25: 25 of 100 timed promotions came after at most this many months in the previous title; null without any.
--   months_of_promoted_median: Half of the timed promotions came after at most this many months in the previous title.
--   months_of_promoted_p75: 75 of 100 timed promotions came after at most this many months in the previous title.
--   months_of_promoted_median_min: The median if every wait had been as short as its dates allow.
--   months_of_promoted_median_max: The median if every wait had been as long as its dates allow.
with

exposed as (
    select
        organization_id,
        from_level,
        wait_calendar_months as months,
        promoted,
        censored,
        sum(promoted + censored) over (
            partition by organization_id, from_level
            order by wait_calendar_months
            rows between current row and unbounded following
        ) as at_risk
    from promotion_wait_counts
),

-- A sum of decimals: one of floating-point numbers would depend on the order of the rows.
waiting as (
    select
        organization_id,
        from_level,
        months,
        promoted,
        censored,
        at_risk,
        sum(cast(case when promoted < at_risk then ln(1 - cast(promoted as double) / at_risk) else 0 end as decimal(18, 14))) over (
            partition by organization_id, from_level order by months rows between unbounded preceding and current row
        ) as log_waiting
    from exposed
),

curves as (
    select
        organization_id,
        from_level,
        months,
        promoted,
        censored,
        case when promoted = at_risk then 1 else round(1 - exp(cast(log_waiting as double)), 9) end as share
    from waiting
),

followed as (
    select
        organization_id,
        from_level,
        'all' as to_level,
        cast(sum(promoted + censored) as integer) as waits,
        cast(sum(promoted) as integer) as promoted,
        max(months) as longest_calendar_months,
        case when max(months) >= 12 or max(share) = 1 then coalesce(max(case when months <= 12 then share end), 0) end
            as promoted_share_12_months,
        case when max(months) >= 24 or max(share) = 1 then coalesce(max(case when months <= 24 then share end), 0) end
            as promoted_share_24_months,
        case when max(months) >= 36 or max(share) = 1 then coalesce(max(case when months <= 36 then share end), 0) end
            as promoted_share_36_months,
        min(case when share >= 0.25 then months end) as calendar_months_p25,
        min(case when share >= 0.5 then months end) as calendar_months_median,
        min(case when share >= 0.75 then months end) as calendar_months_p75
    from curves
    group by organization_id, from_level
),

steps as (
    select
        organization_id,
        previous_level as from_level,
        level as to_level,
        months_in_previous_title,
        months_in_previous_title_min,
        months_in_previous_title_max
    from promotions
    where is_primary
    union all
    select
        organization_id,
        previous_level as from_level,
        'all' as to_level,
        months_in_previous_title,
        months_in_previous_title_min,
        months_in_previous_title_max
    from promotions
    where is_primary
),

timed as (
    select
        organization_id,
        from_level,
        to_level,
        cast(count(*) as integer) as promotions,
        cast(count(months_in_previous_title) as integer) as timed_promotions,
        percentile_cont(0.25) within group (order by months_in_previous_title) as p25,
        percentile_cont(0.5) within group (order by months_in_previous_title) as median,
        percentile_cont(0.75) within group (order by months_in_previous_title) as p75,
        percentile_cont(0.5) within group (order by months_in_previous_title_min) as median_min,
        percentile_cont(0.5) within group (order by months_in_previous_title_max) as median_max
    from steps
    where organization_id in (select organization_id from organization_observation where observed_until_on is not null)
    group by organization_id, from_level, to_level
)

select
    coalesce(followed.organization_id, timed.organization_id) as organization_id,
    coalesce(followed.from_level, timed.from_level) as from_level,
    coalesce(followed.to_level, timed.to_level) as to_level,
    followed.waits,
    followed.promoted,
    followed.longest_calendar_months,
    followed.promoted_share_12_months,
    followed.promoted_share_24_months,
    followed.promoted_share_36_months,
    followed.calendar_months_p25,
    followed.calendar_months_median,
    followed.calendar_months_p75,
    coalesce(timed.promotions, 0) as promotions,
    coalesce(timed.timed_promotions, 0) as timed_promotions,
    timed.p25 as months_of_promoted_p25,
    timed.median as months_of_promoted_median,
    timed.p75 as months_of_promoted_p75,
    timed.median_min as months_of_promoted_median_min,
    timed.median_max as months_of_promoted_median_max
from followed
full outer join timed
    on timed.organization_id = followed.organization_id
    and timed.from_level = followed.from_level
    and timed.to_level = followed.to_level
