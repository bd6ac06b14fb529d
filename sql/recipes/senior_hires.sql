-- question: Who joined any organisation at the top (vice presidents and above), and from where?
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    joined_on,
    organization_name,
    person_full_name,
    title,
    came_from_title,
    came_from_organization_name as came_from,
    person_network_url
from joiners
where
    is_primary
    and not is_transfer
    and level in ('vp', 'cxo')
    and joined_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by joined_on desc, organization_name, person_full_name
