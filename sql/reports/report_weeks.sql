-- How many joined, left and were promoted in each of the $weeks periods of seven days before the end of the window.
with weeks as (
    select unnest(range($weeks::bigint)) as week
),

counted as (
    select
        -- The instant seven days before the end is in the last week; the end itself is in none.
        cast(ceil((epoch($to_at::timestamptz) - epoch(known_at)) / 604800) - 1 as bigint) as week,
        count(case when change = 'joined' then 1 end) as joined,
        count(case when change = 'left' then 1 end) as went,
        count(case when change = 'rose' then 1 end) as rose
    from known_changes
    where is_counted
        and known_at >= $to_at::timestamptz - to_days(cast(7 * $weeks as integer))
        and known_at < $to_at
        and (
            $organizations::varchar is null
            or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
    group by 1
)

select
    strftime($to_at::timestamptz - to_days(cast(7 * (weeks.week + 1) as integer)), '%Y-%m-%dT%H:%M:%SZ') as week_from_at,
    cast(coalesce(counted.joined, 0) as integer) as joined,
    cast(coalesce(counted.went, 0) as integer) as went,
    cast(coalesce(counted.rose, 0) as integer) as rose
from weeks
left join counted on counted.week = weeks.week
order by weeks.week desc
