select promotions.event_key, promotions.previous_title, promotions.title, promotions.previous_rank, promotions.rank
from promotions
left join job_change_events as events
    on events.event_key = promotions.event_key and events.event_type = 'title_change'
where events.event_key is null or promotions.rank is null or promotions.previous_rank is null or promotions.rank <= promotions.previous_rank
