select event_key, event_type
from job_change_events
where event_type not in ('joined', 'left', 'title_change')
