-- The organisations with most open roles: how many people they have, by their page and as they were seen.
-- No rates: the demo looks back one year, and the first observed year has none.
with

seen as (
    select
        organization_id,
        max_by(headcount_min, month_start_on) as seen_at_least,
        max_by(headcount_max, month_start_on) as seen_at_most
    from organization_headcount_monthly
    group by organization_id
)

select
    profile.company_name as organization,
    profile.employees as people,
    cast(seen.seen_at_least as integer) as seen_at_least,
    cast(seen.seen_at_most as integer) as seen_at_most,
    roles.open_postings as open_roles
from organization_open_roles as roles
inner join company_profiles as profile on profile.organization_id = roles.organization_id
inner join seen on seen.organization_id = roles.organization_id
order by roles.open_postings desc, roles.organization_id
limit $limit
