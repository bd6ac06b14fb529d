-- incremental_by: organization_id, function, level
select
    leavers.organization_id,
    leavers.function,
    leavers.level,
    max(case when filled.left_event_key is not null then utc_date(leavers.left_at) end) as last_filled_vacant_since_on,
    min(case when filled.left_event_key is null then utc_date(leavers.left_at) end) as first_open_vacant_since_on
from leavers
left join filled_vacancies as filled on filled.left_event_key = leavers.event_key
where leavers.is_primary and leavers.level <> 'unknown' and leavers.function <> 'unknown'
group by leavers.organization_id, leavers.function, leavers.level
having
    max(case when filled.left_event_key is not null then utc_date(leavers.left_at) end)
    > min(case when filled.left_event_key is null then utc_date(leavers.left_at) end)
