-- question: How many people moved from an organisation to another and back, year by year?
-- parameter: organization: its organization_id, or its name
-- parameter: other: the organization_id of the other one
select
    year(month_start_on) as year,
    count(*) filter (where from_organization_id = getvariable('organization')) as went_there,
    count(*) filter (where to_organization_id = getvariable('organization')) as came_from_there
from moves
where
    (from_organization_id = getvariable('organization') and to_organization_id = getvariable('other'))
    or (from_organization_id = getvariable('other') and to_organization_id = getvariable('organization'))
group by year
order by year
