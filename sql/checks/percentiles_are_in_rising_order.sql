select organization_id, from_level as of_what, months_of_promoted_p25 as low, months_of_promoted_median as middle, months_of_promoted_p75 as high
from promotion_waits
where
    timed_promotions > promotions
    or (timed_promotions = 0) <> (months_of_promoted_median is null)
    or not months_of_promoted_p25 <= months_of_promoted_median
    or not months_of_promoted_median <= months_of_promoted_p75
    or not months_of_promoted_median between months_of_promoted_median_min and months_of_promoted_median_max
union all
select organization_id, event_type as of_what, lag_days_p50 as low, lag_days_p90 as middle, lag_days_p99 as high
from detection_lag
where
    not lag_days_p50 <= lag_days_p90
    or not lag_days_p90 <= lag_days_p99
    or not first_seen_lag_days_p50 <= first_seen_lag_days_p90
    or not first_seen_lag_days_p90 <= first_seen_lag_days_p99
    or announced_events > events
