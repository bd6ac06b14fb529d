-- question: Which sources does an organisation hire from more than others do?
-- parameter: organization: its id or name
-- parameter: least = 5: the fewest people from a source
with

sources as (
    select came_from_organization_id as source_id, came_from_organization_name as source, organization_id
    from joiners
    where
        is_primary
        and not is_transfer
        and came_from_organization_id is not null
        and organization_id in (select organization_id from organizations where observed_until_on is not null)
),

counted as (
    select
        source_id,
        max(source) as source,
        count(*) filter (where organization_id = getvariable('organization')) as hired,
        count(*) as hired_by_all
    from sources
    group by source_id
)

select
    source,
    hired,
    round(hired / sum(hired) over (), 3) as share,
    round((hired / sum(hired) over ()) / (hired_by_all / sum(hired_by_all) over ()), 1) as lift
from counted
qualify hired >= cast(getvariable('least') as int)
order by lift desc, source
