select from_organization_id, to_organization_id, confidence, people, same_day_people, histories, joinings_seen, moves
from transfer_candidates
where
    confidence not between 0 and 1
    or (confidence < 0.25 and evidence is null and decision is null)
    or share_of_leavers not between 0 and 1
    or share_of_all_leavers not between 0 and 1
    or share_of_joiners not between 0 and 1
    or name_likeness not between 0 and 1
    or people < 3
    or same_day_people not between 1 and people
    or histories < 1
    or joinings_seen > moves
    or moves < people
