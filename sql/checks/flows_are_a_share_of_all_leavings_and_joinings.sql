-- talent_flows divides by all leavings and joinings: no organisation loses more people to others than left it, or gains more
-- than joined it.
with

moved as (
    select from_organization_id as organization_id, moves as went, 0 as came
    from organization_pairs
    union all
    select to_organization_id as organization_id, 0 as went, moves as came
    from organization_pairs
),

summed as (
    select organization_id, sum(went) as went, sum(came) as came
    from moved
    group by organization_id
)

select summed.organization_id, summed.went, organizations.leavers_ever, summed.came, organizations.joiners_ever
from summed
inner join organizations on organizations.organization_id = summed.organization_id
where summed.went > organizations.leavers_ever or summed.came > organizations.joiners_ever
