select organization_id, week_start_on
from organization_weekly
where days_between_dates(date '1970-01-05', week_start_on) % 7 <> 0
