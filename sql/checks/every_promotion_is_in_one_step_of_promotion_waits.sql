-- A promotion counts once by step, and once in the row of all steps from its level, at each observed organisation.
with

entries as (
    select organization_id, promotions as by_step, 0 as in_all
    from promotion_waits
    where to_level <> 'all'
    union all
    select organization_id, 0 as by_step, promotions as in_all
    from promotion_waits
    where to_level = 'all'
    union all
    select organization_id, -1 as by_step, -1 as in_all
    from promotions
    where
        is_primary
        and organization_id in (select organization_id from organization_observation where observed_until_on is not null)
)

select organization_id, sum(by_step) as by_step, sum(in_all) as in_all
from entries
group by organization_id
having sum(by_step) <> 0 or sum(in_all) <> 0
