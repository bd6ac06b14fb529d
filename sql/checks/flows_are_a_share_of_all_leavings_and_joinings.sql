select from_organization_id, to_organization_id, moves, share_of_leavers, share_of_joiners
from talent_flows
where
    share_of_leavers is null
    or share_of_joiners is null
    or share_of_leavers not between 0 and 1
    or share_of_joiners not between 0 and 1
