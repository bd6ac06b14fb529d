select flows.from_organization_id, flows.to_organization_id
from talent_flows as flows
left join (select distinct organization_id from leavers) as sources
    on sources.organization_id = flows.from_organization_id
left join (select distinct organization_id from joiners) as targets
    on targets.organization_id = flows.to_organization_id
where
    sources.organization_id is null
    or targets.organization_id is null
    or flows.from_organization_id = flows.to_organization_id
