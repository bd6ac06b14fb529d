select
    coalesce(leavers.event_key, events.event_key) as event_key,
    case when leavers.event_key is null then 'missing in leavers' else 'no left event' end as problem
from leavers
full outer join (
    select event_key from job_change_events where event_type = 'left'
) as events on events.event_key = leavers.event_key
where leavers.event_key is null or events.event_key is null
