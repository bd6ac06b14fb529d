-- The organisations with most open roles: their headcount, and how many of their people were seen to change something.
with

newest as (
    select
        organization_id,
        max_by(headcount, month_start_on) as headcount,
        max_by(headcount_max, month_start_on) as seen
    from organization_headcount_monthly
    group by organization_id
)

select
    profile.company_name as organization,
    cast(newest.headcount as integer) as headcount,
    cast(newest.seen as integer) as seen,
    roles.open_postings as open_roles
from organization_open_roles as roles
inner join company_profiles as profile on profile.organization_id = roles.organization_id
inner join newest on newest.organization_id = roles.organization_id
order by roles.open_postings desc, roles.organization_id
limit $limit
