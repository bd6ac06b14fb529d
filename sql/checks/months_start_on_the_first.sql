select organization_id, month_start_on
from organization_monthly
where extract(day from month_start_on) <> 1
union all
select organization_id, observed_until_on as month_start_on
from organizations
where extract(day from observed_until_on) <> 1
union all
select organization_id, observed_from_on as month_start_on
from organizations
where extract(day from observed_from_on) <> 1
union all
select organization_id, cutoff_on as month_start_on
from organization_observation
where extract(day from cutoff_on) <> 1
