-- reconciles: moves by from_organization_id
select from_organization_id, moves
from organization_pairs
union all
select from_organization_id, -1 as moves
from moves
