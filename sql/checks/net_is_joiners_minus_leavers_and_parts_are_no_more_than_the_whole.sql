select organization_id, week_start_on as period_start_on, function, level, joiners, leavers, net
from organization_weekly
where
    net <> joiners - leavers
    or joiners_known_same_month > joiners
    or leavers_known_same_month > leavers
    or boomerangs > joiners
union all
select organization_id, month_start_on as period_start_on, function, level, joiners, leavers, net
from organization_monthly
where
    net <> joiners - leavers
    or joiners_known_same_month > joiners
    or leavers_known_same_month > leavers
    or boomerangs > joiners
