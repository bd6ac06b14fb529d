with

open_stints as (
    select
        stints.profile_id,
        stints.organization_id,
        min(stints.joined_at) as first_joined_at,
        max(stints.joined_at) as last_joined_at
    from stints
    cross join as_of
    left join uncertain_stints as uncertain
        on uncertain.profile_id = stints.profile_id
        and uncertain.organization_id = stints.organization_id
        and uncertain.stint_number = stints.stint_number
    where
        (stints.is_open or utc_date(stints.left_at) > as_of_on)
        and coalesce(utc_date(stints.joined_at) <= as_of_on, true)
        and coalesce(utc_date(uncertain.uncertain_from_at) > as_of_on, true)
    group by stints.profile_id, stints.organization_id
)

select
    coalesce(pairs.profile_id, open_stints.profile_id) as profile_id,
    coalesce(pairs.organization_id, open_stints.organization_id) as organization_id,
    pairs.current_since_at,
    open_stints.first_joined_at
from (
    select profile_id, organization_id, current_since_at
    from person_organizations
    where is_current
) as pairs
full outer join open_stints
    on open_stints.profile_id = pairs.profile_id
    and open_stints.organization_id = pairs.organization_id
where
    pairs.profile_id is null
    or open_stints.profile_id is null
    or pairs.current_since_at < open_stints.first_joined_at
    or pairs.current_since_at > open_stints.last_joined_at
