-- question: Which founders left, and what did they do next?
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    left_on,
    organization_name,
    person_full_name,
    title,
    tenure_months,
    went_to_title,
    went_to_organization_name as went_to,
    person_network_url
from leavers
where is_founder and not is_transfer and left_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by left_on desc, organization_name, person_full_name
