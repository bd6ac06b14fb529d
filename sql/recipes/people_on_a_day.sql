-- question: Who was at an organisation on a day, and as what, side roles included?
-- parameter: organization: its organization_id, or its name
-- parameter: day: the day
select
    person_full_name,
    title,
    level,
    function,
    is_primary,
    utc_date(started_at) as since,
    utc_date(ended_at) as until,
    person_network_url
from role_spells
where
    organization_id = getvariable('organization')
    and utc_date(started_at) <= cast(getvariable('day') as date)
    and (utc_date(ended_at) > cast(getvariable('day') as date) or is_open)
order by level, person_full_name
limit 200
