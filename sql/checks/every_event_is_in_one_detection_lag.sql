-- The check counts by month and type only: counting by organisation as well would group all events by their names.
with

counted as (
    select month_start_on, event_type, sum(events) as events
    from detection_lag
    group by month_start_on, event_type
),

happened as (
    select month_start(career_date(changed_at, least(detected_at, first_seen_at))) as month_start_on, event_type, count(*) as events
    from job_change_events
    group by month_start(career_date(changed_at, least(detected_at, first_seen_at))), event_type
)

select
    coalesce(happened.month_start_on, counted.month_start_on) as month_start_on,
    coalesce(happened.event_type, counted.event_type) as event_type,
    happened.events,
    counted.events as events_in_detection_lag
from happened
full outer join counted
    on counted.month_start_on = happened.month_start_on
    and counted.event_type = happened.event_type
where happened.events is distinct from counted.events
