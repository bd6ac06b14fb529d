select from_organization_id, to_organization_id, count(*) as copies
from talent_flows
group by from_organization_id, to_organization_id
having count(*) > 1 or from_organization_id is null or to_organization_id is null
