-- grain: One row per organisation and pair of levels between which anybody was promoted there.
-- key: organization_id, from_level, to_level
-- tier: detail
-- references: organization_id -> organizations.organization_id
-- purpose: How long people wait for a promotion: months in the title before, at each organisation and step.
-- note: Promotions into side roles such as board member are left out.
-- note: Only promotions whose start in the title before was seen can be timed (timed_promotions); people who still wait are
-- note: not in these figures, so that young organisations look faster than they are: promotion_waits counts them, too.
-- note: Both ends are often known to the month only; months_median_min and _max say between what the median can lie.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   from_level: Level of the title before: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   to_level: Level of the new title; the same as from_level for a step inside a level, such as Director to Senior Director.
--   promotions: Promotions from the one level to the other.
--   timed_promotions: Those of them of which it is known since when the person had the title before.
--   months_p25: 25 of 100 timed promotions came after so many months or fewer; null without any.
--   months_median: Median of the months in the title before.
--   months_p75: 75 of 100 came after so many months or fewer.
--   months_median_min: The median, had every wait been as short as its dates allow.
--   months_median_max: The median, had every wait been as long as its dates allow.
select
    organization_id,
    previous_level as from_level,
    level as to_level,
    cast(count(*) as integer) as promotions,
    cast(count(months_in_previous_title) as integer) as timed_promotions,
    percentile_cont(0.25) within group (order by months_in_previous_title) as months_p25,
    percentile_cont(0.5) within group (order by months_in_previous_title) as months_median,
    percentile_cont(0.75) within group (order by months_in_previous_title) as months_p75,
    percentile_cont(0.5) within group (order by months_in_previous_title_min) as months_median_min,
    percentile_cont(0.5) within group (order by months_in_previous_title_max) as months_median_max
from promotions
where is_primary
group by organization_id, previous_level, level
