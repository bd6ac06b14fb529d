-- promotion_waits adds these counts up and multiplies them.
select organization_id, from_level, wait_calendar_months, promoted, censored
from promotion_wait_counts
where promoted < 0 or censored < 0 or promoted + censored < 1 or wait_calendar_months < 0
