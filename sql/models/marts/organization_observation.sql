-- grain: One row per organisation that is in an event or in coverage.
-- key: organization_id
-- incremental_by: organization_id
-- purpose: Until when each organisation was looked at. What is still open is cut off (censored) there.
-- note: Apart from organizations because it changes with the month and not with every night: what reads it need not be made
-- note: again each time an organisation was read once more.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug it was asked by until the id is known.
--   observed_until_on: First day, UTC, of the month up to which joinings and leavings were looked for: the month in which coverage of both ends; where not both were covered, the month of the last detection; null where nothing was detected either.
with

watched as (
    select
        organization_id,
        max(case when event_types like '%joined%' then covered_to_at end) as joined_until_at,
        max(case when event_types like '%left%' then covered_to_at end) as left_until_at
    from organization_coverage
    group by organization_id
),

detected as (
    select
        organization_id,
        max(detected_at) as last_detected_at
    from job_change_events
    group by organization_id
)

select
    coalesce(watched.organization_id, detected.organization_id) as organization_id,
    month_start(
        case
            when watched.joined_until_at is null or watched.left_until_at is null then detected.last_detected_at
            when watched.joined_until_at < watched.left_until_at then watched.joined_until_at
            else watched.left_until_at
        end
    ) as observed_until_on
from watched
full outer join detected on detected.organization_id = watched.organization_id
