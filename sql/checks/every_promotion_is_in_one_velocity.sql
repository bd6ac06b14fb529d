-- scope: organization_id
with

counted as (
    select organization_id, promotions as in_velocities, 0 as happened
    from promotion_velocity
    union all
    select organization_id, 0 as in_velocities, 1 as happened
    from promotions
    where is_primary
)

select organization_id, sum(in_velocities) as in_velocities, sum(happened) as happened
from counted
group by organization_id
having sum(in_velocities) <> sum(happened)
