-- grain: One row per organisation that is in an event or in coverage.
-- key: organization_id
-- purpose: Since when and until when each organisation was looked at, and up to when what is known of it is complete enough to be counted.
-- note: Who left last week is mostly not known to have left yet, and would count as somebody who stayed. So survival curves go by the
-- note: changes before cutoff_on only, and cut off (censor) there who was still there: by then 90 of 100 changes had been seen.
-- note: The last unbroken interval: what lies before a gap in coverage was looked at, too, but what happened in the gap was not.
-- note: Apart from organizations because it changes with the month and not with every night: what reads it need not be made
-- note: again each time an organisation was read once more.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug it was asked by until the id is known.
--   observed_from_on: First day, UTC, of the first whole month of which joinings and leavings were looked for without a gap until observed_until_on; null where they were looked for from the beginning; where not both were covered, the month after the first detection. Of what happened before it only remnants are known: what was detected late.
--   observed_until_on: First day, UTC, of the month up to which joinings and leavings were looked for: the month in which coverage of both ends; where not both were covered, the month of the last detection; null where nothing was detected either, and where it was asked for with filters: only what was read without them is observation.
--   lag_days_p90: 90 of 100 joinings and leavings of the organisation were detected within so many calendar days; a lag of more than a year counts as one; 0 where there are none.
--   cutoff_on: First day of a month, UTC: of the changes before it, 90 of 100 have been seen. The month in which the observed interval ends, less lag_days_p90; null where observed_until_on is.
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
