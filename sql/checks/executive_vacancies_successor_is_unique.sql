-- incremental_by: organization_id, function, level
select organization_id, successor_event_key as filled_by, count(*) as places
from executive_vacancies
where successor_event_key is not null
group by organization_id, successor_event_key
having count(*) > 1
