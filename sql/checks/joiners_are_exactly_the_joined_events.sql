select
    coalesce(joiners.event_key, events.event_key) as event_key,
    case when joiners.event_key is null then 'missing in joiners' else 'no joined event' end as problem
from joiners
full outer join (
    select event_key from job_change_events where event_type = 'joined'
) as events on events.event_key = joiners.event_key
where joiners.event_key is null or events.event_key is null
