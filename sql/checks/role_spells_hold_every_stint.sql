-- Each stint begins with its first role.
select stints.profile_id, stints.organization_id, stints.stint_number
from stints
left join role_spells
    on role_spells.profile_id = stints.profile_id
    and role_spells.organization_id = stints.organization_id
    and role_spells.stint_number = stints.stint_number
    and role_spells.role_number = 1
where role_spells.profile_id is null
