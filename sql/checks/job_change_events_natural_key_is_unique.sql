select
    profile_id,
    organization_id,
    event_type,
    changed_at,
    case when event_type = 'title_change' then title_current end as title_current,
    count(*) as copies
from job_change_events
group by
    profile_id,
    organization_id,
    event_type,
    changed_at,
    case when event_type = 'title_change' then title_current end
having count(*) > 1
