-- balanced: events by organization_id, month_start_on, event_type
select organization_id, month_start_on, event_type, events
from detection_lag
union all
select organization_id, month_start_on, event_type, -1 as events
from stint_events
