select moves.left_event_key, moves.joined_event_key, moves.profile_id
from moves
left join leavers on leavers.event_key = moves.left_event_key and leavers.profile_id = moves.profile_id
left join joiners on joiners.event_key = moves.joined_event_key and joiners.profile_id = moves.profile_id
where
    leavers.event_key is null
    or joiners.event_key is null
    or not leavers.is_primary
    or not joiners.is_primary
    or leavers.organization_id = joiners.organization_id
    or leavers.organization_id <> moves.from_organization_id
    or joiners.organization_id <> moves.to_organization_id
