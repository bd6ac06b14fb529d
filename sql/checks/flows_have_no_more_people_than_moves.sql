select from_organization_id, to_organization_id, people, moves
from talent_flows
where people > moves or people < 1
