-- grain: One row per departure of an executive.
-- key: event_key
-- purpose: The number of executives of an organisation who departed within 90 days.
-- incremental_by: organization_id
-- note: This model is separate from executive_changes because it counts all seats of an organisation; the columns there concern
-- note: one seat. A person who left, came back and left again within the 90 days counts once.
-- columns:
--   event_key: event_key of the leaving; unique.
--   organization_id: The service's stable id of the organisation.
--   departures_in_90_days: The number of people who departed from any seat on its day or in the 90 days before, itself included.
with

departures as (
    select
        event_key,
        organization_id,
        day_number,
        lag(day_number) over (partition by organization_id, profile_id order by day_number, event_key) as day_before,
        count(*) over (
            partition by organization_id order by day_number range between 90 preceding and current row
        ) as departures
    from (
        select
            event_key,
            organization_id,
            profile_id,
            days_between_dates(date '1970-01-01', utc_date(changed_at)) as day_number
        from executive_events
        where change = 'departed'
    ) as dated
),

-- All departures but one of a person who departed several times within the 90 days.
repeats as (
    select departures.event_key, count(*) as departures
    from departures
    inner join departures as again
        on again.organization_id = departures.organization_id
        and again.day_number <= departures.day_number
        and again.day_before >= departures.day_number - 90
    group by departures.event_key
)

select
    departures.event_key,
    departures.organization_id,
    cast(departures.departures - coalesce(repeats.departures, 0) as integer) as departures_in_90_days
from departures
left join repeats on repeats.event_key = departures.event_key
