-- grain: One row per organisation that is in an event or in coverage.
-- key: organization_id
-- purpose: The period for which each organisation was observed, and the day up to which its data is complete enough to count.
-- note: Most people who left last week are not yet known to have left, and would count as having stayed. So survival curves use
-- note: only the changes before cutoff_on and censor there the people still present: by then 90 of 100 changes had been seen.
-- note: The period is the last unbroken interval: earlier intervals were also read, but the gap after them was not.
-- note: This model is separate from organizations because it changes monthly instead of daily: its dependents need no refresh
-- note: each time an organisation is read again.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug of the request until the id is known.
--   observed_from_on: First day, UTC, of the first whole month for which joinings and leavings were requested without a gap until observed_until_on; null where they were requested from the beginning; where one or both were not covered, the month after the first detection. Of the changes before it, only those detected late are known.
--   observed_until_on: First day, UTC, of the month up to which joinings and leavings were requested: the month in which their common coverage ends; where one or both were not covered, the month of the last detection; null where nothing was detected either, and where requests had filters: only reading without them is observation.
--   lag_days_p90: 90 of 100 joinings and leavings of the organisation were detected within this many calendar days; a lag of more than a year counts as a year; 0 where there are none.
--   cutoff_on: First day of a month, UTC: 90 of 100 of the changes before it have been seen. The month in which the observed interval ends, less lag_days_p90; null where observed_until_on is null.
with

intervals as (
    select
        observed.organization_id,
        observed.observed_from_at,
        observed.observed_until_at,
        least(coalesce(lags.lag_days_p90, 0), 365) as lag_days_p90,
        days_later(utc_date(observed.observed_until_at), -least(coalesce(lags.lag_days_p90, 0), 365)) as complete_until_on
    from observed_intervals as observed
    left join organization_lags as lags on lags.organization_id = observed.organization_id
)

select
    organization_id,
    case
        when is_month_start(observed_from_at) then utc_date(observed_from_at)
        else days_later(last_day(utc_date(observed_from_at)), 1)
    end as observed_from_on,
    month_start(observed_until_at) as observed_until_on,
    cast(lag_days_p90 as integer) as lag_days_p90,
    days_later(complete_until_on, cast(1 - extract(day from complete_until_on) as integer)) as cutoff_on
from intervals
