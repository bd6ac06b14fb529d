-- Weeks of the window in which far more people joined or left an organisation than in its other weeks: at least $least, and more
-- than 3 times the median of the 52 weeks before (weeks without any count as 0; at least 8 weeks since its first change).
-- Weeks are the times of seven days before the end of the window.
with counted as (
    select
        change,
        organization_id,
        cast(ceil((epoch($to_at::timestamptz) - epoch(known_at)) / 604800) - 1 as bigint) as week,
        min(organization_name) as organization_name,
        count(*) as people
    from known_changes
    where is_primary
        and change <> 'rose'
        and known_at < $to_at
        and (
            $organizations::varchar is null
            or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
    group by 1, 2, 3
),

begun as (
    select organization_id, max(week) as first_week
    from counted
    group by organization_id
),

candidates as (
    select counted.*, least(52, begun.first_week - counted.week) as weeks_before
    from counted
    join begun on begun.organization_id = counted.organization_id
    where counted.people >= $least
        and counted.week < ceil((epoch($to_at::timestamptz) - epoch($from_at::timestamptz)) / 604800)
),

compared as (
    select
        candidates.change,
        candidates.organization_id,
        candidates.organization_name,
        candidates.week,
        candidates.people,
        median(coalesce(earlier.people, 0)) as usual
    from candidates
    cross join range(1, 53) as before (weeks)
    left join counted as earlier
        on earlier.change = candidates.change
        and earlier.organization_id = candidates.organization_id
        and earlier.week = candidates.week + before.weeks
    where candidates.weeks_before >= 8
        and before.weeks <= candidates.weeks_before
    group by all
)

select
    compared.change,
    compared.organization_id,
    coalesce(named.name, compared.organization_name, compared.organization_id) as organization,
    strftime($to_at::timestamptz - to_days(cast(7 * (compared.week + 1) as integer)), '%Y-%m-%d') as week_from_on,
    cast(compared.people as integer) as people,
    compared.usual,
    cast(count(*) over () as integer) as bursts
from compared
left join organizations as named on named.organization_id = compared.organization_id
where compared.people > 3 * compared.usual
order by compared.people desc, compared.week, organization, compared.organization_id, compared.change
limit $rows
