-- grain: One row per departure of an executive.
-- key: event_key
-- incremental_by: organization_id
-- purpose: How many executives of an organisation departed within 90 days.
-- note: Apart from executive_changes because it counts all functions and levels of an organisation, the rest there only one.
-- columns:
--   event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   function: Field of work of the title that was left, as in executive_events.
--   level: director, vp or cxo.
--   departures_in_90_days: How many executives of any function departed on its day or in the 90 days before, itself included.
select
    event_key,
    organization_id,
    function,
    level,
    cast(
        count(*) over (
            partition by organization_id
            order by days_between_dates(date '1970-01-01', utc_date(changed_at))
            range between 90 preceding and current row
        ) as integer
    ) as departures_in_90_days
from executive_events
where change = 'departed'
