-- grain: One row per organisation, month of the change and type of event.
-- key: organization_id, month_start_on, event_type
-- tier: detail
-- references: organization_id -> organizations.organization_id
-- values: event_type: joined | left | title_change
-- purpose: How long after a change the service saw it: how far to trust the newest months, and when an old month is complete.
-- note: Every event counts, including those that stints fold into one. The first detection of a corrected event counts. A
-- note: percentile is the fewest days within which that many of 100 events were seen: always a lag that occurred. For changes
-- note: dated by their month alone the lag is up to a month too long.
-- partition: year of month_start_on
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: First day of the month in which the change took effect, UTC.
--   event_type: joined, left or title_change.
--   events: Events of the type in the month.
--   announced_events: Events that were dated after their detection: announced before they took effect.
--   lag_days_p50: Half of the events were detected by the service within this many calendar days of the change; negative when announced before.
--   lag_days_p90: 90 of 100 events were detected within this many days.
--   lag_days_p99: 99 of 100 events were detected within this many days.
--   first_seen_lag_days_p50: Half of the events were first received by this warehouse within this many calendar days of the change; this can be years where old changes were bought later.
--   first_seen_lag_days_p90: 90 of 100 events were received within this many days.
--   first_seen_lag_days_p99: 99 of 100 events were received within this many days.
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
        events.month_start_on,
        events.event_type,
        events.was_announced,
        days_between(events.changed_at, coalesce(corrected.first_detected_at, events.detected_at)) as lag_days,
        days_between(events.changed_at, events.first_seen_at) as first_seen_lag_days
    from dated_events as events
    left join corrected on corrected.event_key = events.event_key
),

-- Counts instead of percentile_cont: six percentiles of millions of small groups are faster from two sorted runs, in memory
-- that does not grow. The order of events with equal lag changes no percentile.
ranked as (
    select
        organization_id,
        month_start_on,
        event_type,
        was_announced,
        lag_days,
        first_seen_lag_days,
        row_number() over (partition by organization_id, month_start_on, event_type order by lag_days) as lag_place,
        row_number() over (
            partition by organization_id, month_start_on, event_type order by first_seen_lag_days
        ) as first_seen_lag_place,
        count(*) over (partition by organization_id, month_start_on, event_type) as events
    from lags
)

select
    organization_id,
    month_start_on,
    event_type,
    cast(count(*) as integer) as events,
    cast(count(case when was_announced then 1 end) as integer) as announced_events,
    max(case when lag_place = ceil(events * 50 / 100) then lag_days end) as lag_days_p50,
    max(case when lag_place = ceil(events * 90 / 100) then lag_days end) as lag_days_p90,
    max(case when lag_place = ceil(events * 99 / 100) then lag_days end) as lag_days_p99,
    max(case when first_seen_lag_place = ceil(events * 50 / 100) then first_seen_lag_days end) as first_seen_lag_days_p50,
    max(case when first_seen_lag_place = ceil(events * 90 / 100) then first_seen_lag_days end) as first_seen_lag_days_p90,
    max(case when first_seen_lag_place = ceil(events * 99 / 100) then first_seen_lag_days end) as first_seen_lag_days_p99
from ranked
group by organization_id, month_start_on, event_type
