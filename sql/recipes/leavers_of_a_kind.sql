-- question: Whom of one function and level did an organisation lose, and where to?
-- parameter: organization: its organization_id, or its name
-- parameter: function = engineering: a field of work
-- parameter: level = senior: a level
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    utc_date(left_at) as left_on,
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
    and function = getvariable('function')
    and level = getvariable('level')
    and utc_date(left_at) between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by left_at desc, person_full_name
limit 200
