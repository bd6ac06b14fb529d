-- Each organisation with a change that became known in the window, transfers included, and with $with_others every other observed
-- one: those with most changes first, at most $rows.
with counted as (
    select
        organization_id,
        min(organization_name) as organization_name,
        count(case when is_counted and change = 'joined' then 1 end) as joined,
        count(case when is_counted and change = 'left' then 1 end) as went,
        count(case when change = 'rose' then 1 end) as rose,
        count(case when is_counted and change = 'joined' and is_executive then 1 end) as executives_joined,
        count(case when is_counted and change = 'left' and is_executive then 1 end) as executives_left,
        sum(case when is_counted then 0 when change = 'joined' then 1 else -1 end) as transfers,
        count(case when is_counted then 1 end) as changes
    from known_changes
    where is_primary
        and known_at >= $from_at
        and known_at < $to_at
        and (
            $organizations::varchar is null
            or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
    group by organization_id
)

select
    coalesce(counted.organization_id, named.organization_id) as organization_id,
    coalesce(named.name, counted.organization_name, counted.organization_id, named.organization_id) as organization,
    cast(coalesce(counted.joined, 0) as integer) as joined,
    cast(coalesce(counted.went, 0) as integer) as went,
    cast(coalesce(counted.joined - counted.went, 0) as integer) as net,
    cast(coalesce(counted.rose, 0) as integer) as rose,
    cast(coalesce(counted.transfers, 0) as integer) as transfers,
    cast(coalesce(counted.executives_joined, 0) as integer) as executives_joined,
    cast(coalesce(counted.executives_left, 0) as integer) as executives_left,
    cast(count(*) over () as integer) as organizations
from counted
full join organizations as named on named.organization_id = counted.organization_id
where counted.organization_id is not null
    or (
        $with_others::boolean
        and named.observed_until_on is not null
        and (
            $organizations::varchar is null
            or named.organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
    )
order by coalesce(counted.changes, 0) desc, named.people_now desc nulls last, organization, 1
limit $rows
