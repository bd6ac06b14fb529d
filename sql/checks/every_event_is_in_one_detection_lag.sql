-- scope: organization_id
with

counted as (
    select organization_id, events as in_lags, 0 as happened
    from detection_lag
    union all
    select organization_id, 0 as in_lags, 1 as happened
    from job_change_events
)

select organization_id, sum(in_lags) as in_lags, sum(happened) as happened
from counted
group by organization_id
having sum(in_lags) <> sum(happened)
