-- The organisations that look for most people: how many they have, by their page and as they were seen, who left in a year.
with

year as (
    select
        organization_id,
        max_by(headcount_min, month_start_on) as seen_at_least,
        max_by(headcount_max, month_start_on) as seen_at_most,
        sum(leavers) / nullif(avg(mean_headcount_max), 0) as attrition_at_least,
        sum(leavers) / nullif(avg(mean_headcount_min), 0) as attrition_at_most
    from organization_headcount_monthly
    where month_start_on > (select max(month_start_on) from organization_headcount_monthly) - interval 12 month
    group by organization_id
)

select
    profile.company_name as organization,
    profile.employees as people,
    cast(year.seen_at_least as integer) as seen_at_least,
    cast(year.seen_at_most as integer) as seen_at_most,
    year.attrition_at_least,
    year.attrition_at_most,
    roles.open_postings as open_roles
from organization_open_roles as roles
inner join company_profiles as profile on profile.organization_id = roles.organization_id
inner join year on year.organization_id = roles.organization_id
order by roles.open_postings desc, roles.organization_id
limit $limit
