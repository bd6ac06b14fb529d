select organization_id, week_start_on, count(*) as copies
from organization_weekly
group by organization_id, week_start_on
having count(*) > 1 or organization_id is null or week_start_on is null
