-- question: How many people moved from one organisation to another and back, year by year?
-- parameter: organization: its id or name
-- parameter: other: the other organisation's id or name
select
    year(month_start_on) as year,
    count(*) filter (where from_organization_id = getvariable('organization')) as went_there,
    count(*) filter (where to_organization_id = getvariable('organization')) as came_from_there
from moves
where
    is_flow
    and (
        (from_organization_id = getvariable('organization') and to_organization_id = getvariable('other'))
        or (from_organization_id = getvariable('other') and to_organization_id = getvariable('organization'))
    )
group by year
order by year
