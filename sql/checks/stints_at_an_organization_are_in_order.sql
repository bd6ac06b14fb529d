-- Only a first stint can lack its joining, only a last one its leaving, and none begins before the one before it ended.
-- incremental_by: profile_id
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
    and earlier.stint_number = later.stint_number - 1
where
    later.stint_number > 1
    and (
        earlier.left_at is null
        or later.joined_at is null
        or earlier.left_at > later.joined_at
    )
