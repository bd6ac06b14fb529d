-- grain: One row per organisation that was looked at, or in an event.
-- key: organization_id
-- tier: detail
-- purpose: Up to when what is known of each organisation is complete enough to be counted: the data cutoff of survival curves.
-- note: Who left last week is mostly not known to have left yet, and would count as somebody who stayed. So survival curves go by
-- note: the changes before cutoff_on only, and cut off (censor) there who was still there: by then 90 of 100 changes had been seen.
-- note: A lag of more than a year counts as one.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug it was asked by until the id is known.
--   lag_days_p90: 90 of 100 joinings and leavings of the organisation were detected within so many calendar days, 365 at most; 0 where there are none.
--   cutoff_on: First day of a month, UTC: of the changes before it, 90 of 100 have been seen. The month in which the interval of organization_observation ends, less lag_days_p90.
with

ends as (
    select
        observed.organization_id,
        least(coalesce(lags.lag_days_p90, 0), 365) as lag_days_p90,
        days_later(utc_date(observed.observed_until_at), -least(coalesce(lags.lag_days_p90, 0), 365)) as complete_until_on
    from observed_intervals as observed
    left join organization_lags as lags on lags.organization_id = observed.organization_id
    where observed.observed_until_at is not null
)

select
    organization_id,
    cast(lag_days_p90 as integer) as lag_days_p90,
    days_later(complete_until_on, cast(1 - extract(day from complete_until_on) as integer)) as cutoff_on
from ends
