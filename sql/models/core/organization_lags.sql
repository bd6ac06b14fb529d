-- grain: One row per organisation with a joining or leaving.
-- key: organization_id
-- references: organization_id -> organizations.organization_id
-- purpose: How late the joinings and leavings of each organisation are detected: the basis of cutoff_on in organizations.
-- note: Each organisation has its own figure, even with few events: a shared figure would change for all of them every day.
-- note: With fewer than 10 events the 90th percentile is the longest lag.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   events: The number of the organisation's joinings and leavings.
--   lag_days_p90: 90 of 100 joinings and leavings were detected by the service within this many calendar days, 0 or more; the first detection of a corrected event counts.
with

corrected as (
    select
        event_key,
        min(first_detected_at) as first_detected_at
    from event_corrections
    group by event_key
),

lags as (
    select
        events.organization_id,
        greatest(0, days_between(
                career_date(events.changed_at, least(events.detected_at, events.first_seen_at)), coalesce(corrected.first_detected_at, events.detected_at)
            )) as lag_days,
        count(*) as events
    from job_change_events as events
    left join corrected on corrected.event_key = events.event_key
    where events.event_type in ('joined', 'left')
    group by
        events.organization_id,
        greatest(0, days_between(
                career_date(events.changed_at, least(events.detected_at, events.first_seen_at)), coalesce(corrected.first_detected_at, events.detected_at)
            ))
),

counted as (
    select
        organization_id,
        lag_days,
        sum(events) over (
            partition by organization_id order by lag_days rows between unbounded preceding and current row
        ) as events_within,
        sum(events) over (partition by organization_id) as events
    from lags
)

select
    organization_id,
    cast(max(events) as integer) as events,
    cast(min(case when events_within * 10 >= events * 9 then lag_days end) as integer) as lag_days_p90
from counted
group by organization_id
