-- question: Who moved from one organisation to another, when, and to which title?
-- parameter: organization: its id or name
-- parameter: other: the other organisation's id or name
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    left_on,
    person_full_name,
    title,
    went_to_title,
    direction,
    gap_days,
    person_network_url
from leavers
where
    organization_id = getvariable('organization')
    and went_to_organization_id = getvariable('other')
    and is_primary
    and not is_transfer
    and left_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by left_on desc, person_full_name
