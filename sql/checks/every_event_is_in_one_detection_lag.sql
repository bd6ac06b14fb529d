-- scope: organization_id, month_start_on, event_type
with

counted as (
    select organization_id, month_start_on, event_type, events as in_lags, 0 as happened
    from detection_lag
    union all
    select organization_id, month_start_on, event_type, 0 as in_lags, 1 as happened
    from stint_events
)

select organization_id, month_start_on, event_type, sum(in_lags) as in_lags, sum(happened) as happened
from counted
group by organization_id, month_start_on, event_type
having sum(in_lags) <> sum(happened)
