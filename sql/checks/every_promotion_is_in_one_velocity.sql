with

entries as (
    select organization_id, promotions
    from promotion_velocity
    union all
    select organization_id, -1 as promotions
    from promotions
    where is_primary
)

select organization_id, sum(promotions) as promotions
from entries
group by organization_id
having sum(promotions) <> 0
