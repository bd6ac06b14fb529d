with

entries as (
    select from_organization_id, moves
    from organization_pairs
    union all
    select from_organization_id, -1 as moves
    from moves
    where is_flow
)

select from_organization_id, sum(moves) as moves
from entries
group by from_organization_id
having sum(moves) <> 0
