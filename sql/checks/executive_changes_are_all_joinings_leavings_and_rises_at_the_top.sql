-- scope: organization_id, function, level
with

counted as (
    select organization_id, 1 as listed, 0 as happened
    from executive_changes
    union all
    select organization_id, 0 as listed, 1 as happened
    from joiners
    where is_primary and level in ('director', 'vp', 'cxo')
    union all
    select organization_id, 0 as listed, 1 as happened
    from leavers
    where is_primary and level in ('director', 'vp', 'cxo')
    union all
    select organization_id, 0 as listed, 1 as happened
    from promotions
    where is_primary and level in ('director', 'vp', 'cxo') and level <> previous_level
)

select organization_id, sum(listed) as listed, sum(happened) as happened
from counted
group by organization_id
having sum(listed) <> sum(happened)
