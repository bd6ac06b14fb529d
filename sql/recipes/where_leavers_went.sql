-- question: Where do the leavers of an organisation go, and what share of those with a known next job goes there?
-- parameter: organization: its id or name
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    coalesce(went_to_organization_name, '(not known)') as went_to,
    count(*) as people,
    case
        when went_to_organization_id is not null
            then round(count(*) / sum(case when went_to_organization_id is not null then count(*) end) over (), 3)
    end as share_of_known
from leavers
where
    organization_id = getvariable('organization')
    and is_primary
    and not is_transfer
    and left_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
group by went_to_organization_id, went_to_organization_name
order by people desc, went_to
