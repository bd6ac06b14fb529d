-- question: Which people of one function and level did an organisation lose, and where to?
-- parameter: organization: its id or name
-- parameter: function = all: a field of work, such as engineering
-- parameter: level = all: a level, such as director
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    left_on,
    person_full_name,
    title,
    tenure_months,
    went_to_title,
    went_to_organization_name as went_to,
    person_network_url
from leavers
where
    organization_id = getvariable('organization')
    and is_primary
    and not is_transfer
    and getvariable('function') in ('all', function)
    and getvariable('level') in ('all', level)
    and left_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by left_at desc, person_full_name
