select weekly.measure, weekly.in_weeks, rows_of.in_table
from (
    select 'joiners' as measure, coalesce(sum(joiners), 0) as in_weeks from organization_weekly
    union all
    select 'leavers' as measure, coalesce(sum(leavers), 0) as in_weeks from organization_weekly
    union all
    select 'promotions' as measure, coalesce(sum(promotions), 0) as in_weeks from organization_weekly
) as weekly
inner join (
    select 'joiners' as measure, count(*) as in_table from joiners
    union all
    select 'leavers' as measure, count(*) as in_table from leavers
    union all
    select 'promotions' as measure, count(*) as in_table from promotions
) as rows_of on rows_of.measure = weekly.measure
where weekly.in_weeks <> rows_of.in_table
