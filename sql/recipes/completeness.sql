-- question: How late do arrivals and departures become known?
select
    event_type,
    months_late,
    count(*) as events,
    round(sum(count(*)) over (partition by event_type order by months_late) / sum(count(*)) over (partition by event_type), 3)
        as share_known
from (
    select event_type, greatest(0, datediff('month', changed_at at time zone 'UTC', detected_at at time zone 'UTC')) as months_late
    from job_change_events
    where event_type in ('joined', 'left')
)
group by event_type, months_late
order by event_type, months_late
