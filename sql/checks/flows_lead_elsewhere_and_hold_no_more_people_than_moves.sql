select from_organization_id, to_organization_id, people, moves, direct_moves, up_moves, down_moves
from organization_pairs
where
    from_organization_id = to_organization_id
    or people > moves
    or people < 1
    or direct_moves > moves
    or up_moves + down_moves > moves
