select sent.event_type, sent.events, coalesce(placed.events, 0) as placed_events
from (select event_type, count(*) as events from job_change_events group by event_type) as sent
left join (select event_type, count(*) as events from stint_events where not is_second group by event_type) as placed
    on placed.event_type = sent.event_type
where sent.events is distinct from placed.events
