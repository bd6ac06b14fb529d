select event_key, count(*) as copies
from stg_job_change_events
group by event_key
having count(*) > 1 or event_key is null
