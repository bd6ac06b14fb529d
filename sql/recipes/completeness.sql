-- question: How late do joinings and leavings become known: what share is there after so many months?
select
    event_type,
    months_late,
    count(*) as events,
    round(sum(count(*)) over (partition by event_type order by months_late) / sum(count(*)) over (partition by event_type), 3)
        as share_known
from (
    select event_type, greatest(0, datediff('month', utc_date(changed_at), utc_date(detected_at))) as months_late
    from job_change_events
    where event_type in ('joined', 'left')
)
group by event_type, months_late
order by event_type, months_late
limit 48
