-- How far each organisation was read: the organisations that were not read for the whole window (up to the newest reading)
-- first. `whole_before` counts those that were read for all of the time of equal length before it, `seen_before` those of them that
-- were requested from a day on, or that the service had seen by then. One row per organisation, at most $rows, with the totals of
-- all; without any organisation, one row without a name.
with kinds as (
    select unnest(['joined', 'left', 'title_change']) as event_type
),

intervals as (
    select organization_id, unnest(string_split(event_types, ',')) as event_type, covered_from_at, covered_to_at
    from organization_coverage
),

asked as (
    select distinct organization_id
    from organization_coverage
    where $organizations::varchar is null
    union
    select unnest(from_json($organizations, '["varchar"]'))
),

newest as (
    select max(covered_to_at) as read_until_at, least(max(covered_to_at), $to_at::timestamptz) as needed_until_at
    from organization_coverage
    where organization_id in (select organization_id from asked)
),

covered as (
    select
        asked.organization_id,
        kinds.event_type,
        max(intervals.covered_to_at) as covered_to_at,
        coalesce(
            bool_or(
                (intervals.covered_from_at is null or intervals.covered_from_at <= $from_at)
                and intervals.covered_to_at >= newest.needed_until_at
            ),
            false
        ) as is_whole,
        coalesce(
            bool_or(
                (intervals.covered_from_at is null or intervals.covered_from_at <= $before_at)
                and intervals.covered_to_at >= $from_at
            ),
            false
        ) as is_whole_before,
        coalesce(
            bool_or(intervals.covered_from_at <= $before_at and intervals.covered_to_at >= $from_at)
            or any_value(seen.first_detected_at) <= $before_at,
            false
        ) as is_seen_before
    from asked
    cross join kinds
    cross join newest
    left join intervals
        on intervals.organization_id = asked.organization_id
        and intervals.event_type = kinds.event_type
    left join (
        select organization_id, min(detected_at) as first_detected_at
        from job_change_events
        group by organization_id
    ) as seen on seen.organization_id = asked.organization_id
    group by asked.organization_id, kinds.event_type
),

judged as (
    select
        organization_id,
        bool_and(is_whole) as is_whole,
        bool_and(is_whole_before) as is_whole_before,
        bool_and(is_whole_before and is_seen_before) as is_seen_before,
        case when count(covered_to_at) = 3 then min(covered_to_at) end as covered_to_at
    from covered
    group by organization_id
),

figures as (
    select
        cast(count(*) as integer) as organizations,
        cast(count(case when is_whole then 1 end) as integer) as whole,
        cast(count(case when is_whole_before then 1 end) as integer) as whole_before,
        cast(count(case when is_seen_before then 1 end) as integer) as seen_before,
        strftime(min(covered_to_at), '%Y-%m-%dT%H:%M:%SZ') as oldest_watermark_at,
        strftime(any_value(newest.read_until_at), '%Y-%m-%dT%H:%M:%SZ') as newest_watermark_at
    from judged
    cross join newest
)

select
    figures.*,
    missing.organization_id,
    coalesce(named.name, missing.organization_id) as organization,
    strftime(missing.covered_to_at, '%Y-%m-%dT%H:%M:%SZ') as covered_to_at
from figures
left join judged as missing on not missing.is_whole
left join organizations as named on named.organization_id = missing.organization_id
order by missing.covered_to_at nulls first, organization, missing.organization_id
limit $rows
