-- reconciles: promotions by organization_id
select organization_id, promotions
from promotion_velocity
union all
select organization_id, -1 as promotions
from promotions
where is_primary
