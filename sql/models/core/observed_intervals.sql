-- grain: One row per organisation that is in an event or in coverage.
-- key: organization_id
-- kind: view
-- purpose: The last unbroken interval for which both joinings and leavings of each organisation were requested.
-- note: Requests with filters are not observation. Both ends are null where all requests had filters, or where only joinings
-- note: or only leavings were also requested without filters.
-- note: This model is separate from organization_observation, which keeps months only, because its end moves with every run.
-- columns:
--   organization_id: The service's stable id of the organisation, or the URL or slug of the request until the id is known.
--   observed_from_at: Start of the interval, UTC, in time of detection; null where everything was requested. Where not both were covered, the first detection; null where there were also requests with filters.
--   observed_until_at: End of the interval, UTC; where not both were covered, the last detection; null where nothing was detected either, and where there were also requests with filters.
with

covered as (
    select organization_id, 'joined' as event_type, covered_from_at, covered_to_at
    from organization_coverage
    where event_types like '%joined%'
    union all
    select organization_id, 'left' as event_type, covered_from_at, covered_to_at
    from organization_coverage
    where event_types like '%left%'
),

steps as (
    select
        organization_id,
        event_type,
        covered_from_at,
        covered_to_at,
        case
            when covered_from_at is null
                or covered_from_at <= max(covered_to_at) over (
                    partition by organization_id, event_type
                    order by covered_from_at nulls first, covered_to_at
                    rows between unbounded preceding and 1 preceding
                )
                then 0
            else 1
        end as is_after_gap
    from covered
),

numbered as (
    select
        organization_id,
        event_type,
        covered_from_at,
        covered_to_at,
        sum(is_after_gap) over (
            partition by organization_id, event_type
            order by covered_from_at nulls first, covered_to_at
            rows between unbounded preceding and current row
        ) as interval_number
    from steps
),

unbroken as (
    select
        organization_id,
        event_type,
        interval_number,
        case when count(covered_from_at) = count(*) then min(covered_from_at) end as from_at,
        max(covered_to_at) as until_at
    from numbered
    group by organization_id, event_type, interval_number
),

of_both as (
    select
        joined.organization_id,
        greatest(joined.from_at, gone.from_at) as from_at,
        least(joined.until_at, gone.until_at) as until_at,
        row_number() over (
            partition by joined.organization_id order by least(joined.until_at, gone.until_at) desc
        ) as recency
    from unbroken as joined
    inner join unbroken as gone on gone.organization_id = joined.organization_id
    where
        joined.event_type = 'joined'
        and gone.event_type = 'left'
        and (joined.from_at is null or joined.from_at <= gone.until_at)
        and (gone.from_at is null or gone.from_at <= joined.until_at)
),

watched as (
    select
        asked.organization_id,
        of_both.organization_id is not null as is_covered,
        of_both.from_at,
        of_both.until_at
    from (select distinct organization_id from organization_coverage) as asked
    left join of_both on of_both.organization_id = asked.organization_id and of_both.recency = 1
),

detected as (
    select
        organization_id,
        min(least(detected_at, first_seen_at)) as first_detected_at,
        -- As in as_of: a record with a time ahead of our clock does not show how long the organisation was observed.
        max(least(detected_at, first_seen_at)) as last_detected_at
    from job_change_events
    group by organization_id
)

select
    coalesce(watched.organization_id, detected.organization_id) as organization_id,
    case
        when coalesce(watched.is_covered, false) then watched.from_at
        when narrowed.organization_id is null then detected.first_detected_at
    end as observed_from_at,
    case
        when coalesce(watched.is_covered, false) then watched.until_at
        when narrowed.organization_id is null then detected.last_detected_at
    end as observed_until_at
from watched
full outer join detected on detected.organization_id = watched.organization_id
left join (select distinct organization_id from organization_filters) as narrowed
    on narrowed.organization_id = coalesce(watched.organization_id, detected.organization_id)
