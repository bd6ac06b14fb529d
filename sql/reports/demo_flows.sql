-- The most frequent moves.
select
    from_organization_name as from_organization,
    to_organization_name as to_organization,
    cast(people as integer) as people
from talent_flows
order by people desc, from_organization_id, to_organization_id
limit $limit
