-- grain: One row per organisation that is in an event or in coverage.
-- key: organization_id
-- tier: detail
-- purpose: Since when and until when each organisation was looked at. What is still open is cut off (censored) at the end.
-- note: The last unbroken interval: what lies before a gap in coverage was looked at, too, but what happened in the gap was not.
-- note: Apart from organizations because it changes with the month and not with every night: what reads it need not be made
-- note: again each time an organisation was read once more.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug it was asked by until the id is known.
--   observed_from_on: First day, UTC, of the first whole month of which joinings and leavings were looked for without a gap until observed_until_on; null where they were looked for from the beginning; where not both were covered, the month after the first detection. Of what happened before it only remnants are known: what was detected late.
--   observed_until_on: First day, UTC, of the month up to which joinings and leavings were looked for: the month in which coverage of both ends; where not both were covered, the month of the last detection; null where nothing was detected either.
select
    organization_id,
    case
        when is_month_start(observed_from_at) then utc_date(observed_from_at)
        else days_later(last_day(utc_date(observed_from_at)), 1)
    end as observed_from_on,
    month_start(observed_until_at) as observed_until_on
from observed_intervals
