-- question: Who rose into management at an organisation, and after how many months in the prior title?
-- parameter: organization: its id or name
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    promoted_on,
    person_full_name,
    previous_title,
    title,
    months_in_previous_title,
    person_network_url
from promotions
where
    organization_id = getvariable('organization')
    and is_primary
    and is_management
    and not was_management
    and promoted_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by promoted_at desc, person_full_name
