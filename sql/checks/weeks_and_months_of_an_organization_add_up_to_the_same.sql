-- reconciles: joiners, leavers, promotions, boomerangs, side_roles by organization_id
select organization_id, joiners, leavers, promotions, boomerangs, side_joiners + side_leavers as side_roles
from organization_weekly
union all
select
    organization_id,
    -joiners as joiners,
    -leavers as leavers,
    -promotions as promotions,
    -boomerangs as boomerangs,
    -(side_joiners + side_leavers) as side_roles
from organization_monthly
