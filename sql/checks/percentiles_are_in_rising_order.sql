select organization_id, from_level as of_what, months_p25 as low, months_median as middle, months_p75 as high
from promotion_velocity
where
    timed_promotions > promotions
    or (timed_promotions = 0) <> (months_median is null)
    or not months_p25 <= months_median
    or not months_median <= months_p75
    or not months_median between months_median_min and months_median_max
union all
select organization_id, event_type as of_what, lag_days_p50 as low, lag_days_p90 as middle, lag_days_p99 as high
from detection_lag
where
    not lag_days_p50 <= lag_days_p90
    or not lag_days_p90 <= lag_days_p99
    or not first_seen_lag_days_p50 <= first_seen_lag_days_p90
    or not first_seen_lag_days_p90 <= first_seen_lag_days_p99
    or announced_events > events
