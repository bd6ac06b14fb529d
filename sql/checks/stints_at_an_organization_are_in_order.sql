-- Within one track, no stint begins before the previous one ended, where both were seen, and only the last is open.
select
    later.profile_id,
    later.organization_id,
    later.stint_number,
    earlier.left_at as earlier_left_at,
    later.joined_at
from stints as later
left join stints as earlier
    on earlier.profile_id = later.profile_id
    and earlier.organization_id = later.organization_id
    and earlier.stint_number = later.previous_stint_number
where
    later.previous_stint_number is not null
    and (
        earlier.profile_id is null
        or earlier.is_open
        or earlier.left_at > later.joined_at
        or earlier.stint_number >= later.stint_number
    )
