-- Leavers by function add up to all leavers, and so do leavers by level. Functions at one level add up to no more. The best
-- headcount lies between its bounds.
select
    organization_id,
    month_start_on,
    sum(case when function = 'all' and level = 'all' then leavers else 0 end) as leavers,
    sum(case when function <> 'all' and level <> 'all' then leavers else 0 end) as in_parts,
    sum(case when function <> 'all' and level = 'all' then leavers else 0 end) as by_function,
    sum(case when function = 'all' and level <> 'all' then leavers else 0 end) as by_level,
    sum(case when headcount_min > headcount + 0.001 or headcount > headcount_max + 0.001 then 1 else 0 end) as not_in_order
from attrition
group by organization_id, month_start_on
having
    sum(case when function = 'all' and level = 'all' then leavers else 0 end)
    < sum(case when function <> 'all' and level <> 'all' then leavers else 0 end)
    or sum(case when function = 'all' and level = 'all' then leavers else 0 end)
    <> sum(case when function <> 'all' and level = 'all' then leavers else 0 end)
    or sum(case when function = 'all' and level = 'all' then leavers else 0 end)
    <> sum(case when function = 'all' and level <> 'all' then leavers else 0 end)
    or sum(case when headcount_min > headcount + 0.001 or headcount > headcount_max + 0.001 then 1 else 0 end) > 0
