-- question: Who was at an organisation on a day, and as what, side roles included?
-- parameter: organization: its id or name
-- parameter: day: a day, such as 2026-09-30
select
    person_full_name,
    title,
    level,
    function,
    is_primary,
    started_on as since,
    ended_on as until,
    person_network_url
from role_spells
where
    organization_id = getvariable('organization')
    and started_on <= cast(getvariable('day') as date)
    and (ended_on > cast(getvariable('day') as date) or is_open)
order by level, person_full_name
