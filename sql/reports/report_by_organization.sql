-- Each organisation with a change that became known in the window: the one with most changes first, at most $rows of them.
with counted as (
    select
        organization_id,
        min(organization_name) as organization_name,
        count(case when change = 'joined' then 1 end) as joined,
        count(case when change = 'left' then 1 end) as went,
        count(case when change = 'rose' then 1 end) as rose,
        count(case when change = 'joined' and is_executive then 1 end) as executives_joined,
        count(case when change = 'left' and is_executive then 1 end) as executives_left,
        count(*) as changes
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
    counted.organization_id,
    coalesce(named.name, counted.organization_name, counted.organization_id) as organization,
    cast(counted.joined as integer) as joined,
    cast(counted.went as integer) as went,
    cast(counted.joined - counted.went as integer) as net,
    cast(counted.rose as integer) as rose,
    cast(counted.executives_joined as integer) as executives_joined,
    cast(counted.executives_left as integer) as executives_left,
    cast(count(*) over () as integer) as organizations
from counted
left join organizations as named on named.organization_id = counted.organization_id
order by counted.changes desc, named.people_now desc nulls last, organization, counted.organization_id
limit $rows
