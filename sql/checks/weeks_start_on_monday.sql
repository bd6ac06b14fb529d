-- incremental_by: row
select organization_id, week_start_on
from organization_weekly
where extract(isodow from week_start_on) <> 1
