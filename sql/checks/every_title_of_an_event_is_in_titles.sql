-- Otherwise stg_job_change_events would show a title that was never read as unknown.
select events.event_key, events.ladder, events.title
from stint_events as events
left join titles on titles.ladder = events.ladder and titles.title = events.title
where events.title is not null and titles.title is null
union all
select events.event_key, events.ladder, events.previous_title as title
from stint_events as events
left join titles on titles.ladder = events.ladder and titles.title = events.previous_title
where events.previous_title is not null and titles.title is null
