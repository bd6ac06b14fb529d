with

shown as (
    select 'joiners' as in_table, event_key, joined_at as at, precision
    from joiners
    union all
    select 'leavers' as in_table, event_key, left_at as at, precision
    from leavers
    union all
    select 'title_changes' as in_table, event_key, changed_at as at, precision
    from title_changes
)

select shown.in_table, shown.event_key, events.changed_at as sent, shown.at, shown.precision
from shown
inner join job_change_events as events on events.event_key = shown.event_key
where
    (shown.precision = 'unknown')
    is distinct from (not is_career_date(events.changed_at, least(events.detected_at, events.first_seen_at)))
