select flows.from_organization_id, flows.to_organization_id, flows.moves, flows.reverse_moves, flows.net_moves
from talent_flows as flows
left join talent_flows as back
    on back.from_organization_id = flows.to_organization_id
    and back.to_organization_id = flows.from_organization_id
where
    flows.reverse_moves <> coalesce(back.moves, 0)
    or flows.net_moves <> flows.moves - flows.reverse_moves
